//! What is asked of a server that is to be started.

use super::kind::Kind;
use ifm_bench::process_tree::GRACE;
use ifm_probe::key::authorization;
use ifm_terminal::exit::Failure;
use ifm_terminal::secrets::Secrets;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Default time limit for a server to start: large models take minutes to load.
const READY_WITHIN: Duration = Duration::from_secs(30 * 60);

/// A server to be started.
#[derive(Debug, Clone)]
pub struct Ask {
    /// What it is.
    pub kind: &'static Kind,
    /// The model that it serves: a path, a name, or a size of our own engine.
    pub model: Option<String>,
    /// Program and first arguments instead of the kind's own; for the kind `command`, all of it.
    pub command: Vec<String>,
    /// More words. Here, in `command` and in `env`, `{port}`, `{model}` and names of parameters in
    /// braces are filled.
    pub args: Vec<String>,
    /// Variables in addition to this process's own.
    pub env: Vec<(String, String)>,
    /// Settings by name, in order: flags, or variables where the kind has no flags.
    pub parameters: Vec<(String, Value)>,
    /// The container that it runs in.
    pub container: Option<Container>,
    /// The folder that it runs in, if not our own.
    pub folder: Option<PathBuf>,
    /// The port; absent for a free one.
    pub port: Option<u16>,
    /// How long it may take until its first token.
    pub ready_within: Duration,
    /// How long it may take to end when it is asked to, before it is killed.
    pub grace: Duration,
    /// Where its output is kept.
    pub log: PathBuf,
    /// The variable that holds the key for its requests.
    pub api_key_env: Option<String>,
    /// Set by the owner to stop the server.
    pub stop: Arc<AtomicBool>,
}

/// A container to be started.
#[derive(Debug, Clone)]
pub struct Container {
    /// The image.
    pub image: String,
    /// The program that runs it; absent for docker or podman, whichever is there.
    pub program: Option<String>,
    /// Words for that program, such as `--gpus all`.
    pub args: Vec<String>,
    /// Where the server listens inside, if not at 8000.
    pub port: Option<u16>,
}

impl Container {
    /// Whether it listens on the host itself.
    pub fn shares_network(&self) -> bool {
        let mut words = self.args.iter().map(String::as_str);
        let mut former = "";
        words.any(|word| {
            let is_host = matches!(word, "--network=host" | "--net=host")
                || (word == "host" && matches!(former, "--network" | "--net"));
            former = word;
            is_host
        })
    }
}

impl Ask {
    /// A server of this kind with all else as usual, its output in this file.
    pub fn new(kind: &'static Kind, log: PathBuf) -> Ask {
        Ask {
            kind,
            model: None,
            command: Vec::new(),
            args: Vec::new(),
            env: Vec::new(),
            parameters: Vec::new(),
            container: None,
            folder: None,
            port: None,
            ready_within: READY_WITHIN,
            grace: GRACE,
            log,
            api_key_env: None,
            stop: Arc::default(),
        }
    }

    /// A path as the server sees it.
    pub fn path_of(&self, path: &str) -> PathBuf {
        self.folder.as_deref().unwrap_or(Path::new("")).join(path)
    }

    /// The key for its requests.
    ///
    /// # Errors
    /// The variable that was named holds none.
    pub fn key(&self) -> Result<Option<String>, Failure> {
        let value = authorization(self.api_key_env.as_deref())?;
        Ok(value.map(|value| value.trim_start_matches("Bearer ").to_owned()))
    }

    /// What must not get into anything that is written: the key, values of variables and words whose
    /// names speak of a secret.
    ///
    /// # Errors
    /// As [`Ask::key`].
    pub fn secrets(&self) -> Result<Secrets, Failure> {
        let usual = ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"];
        let usual =
            usual.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
        let words = [&self.command[..], &self.args[..]].concat();
        let key = authorization(self.api_key_env.as_deref())?;
        let secrets = Secrets::of_command(&words, self.env.iter().cloned().chain(usual));
        Ok(secrets.with_authorization(key.as_deref()))
    }
}
