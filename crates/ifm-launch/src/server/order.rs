//! What is typed to start a server: its words and variables, from what was asked of its kind.
//!
//! Not here: the kinds (`kind`), and running it.

use super::ask::{Ask, Container};
use super::kind::{Key, Kind, Listen, ModelWord};
use ifm_bench::process_tree::TOKEN;
use ifm_terminal::exit::Failure;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Where servers listen: on loopback, so that only this host can send load.
const HOST: &str = "127.0.0.1";
/// Default listen address of the server in a container.
const CONTAINER_PORT: u16 = 8000;

/// What is started.
#[derive(Debug, PartialEq)]
pub struct Order {
    /// Program and arguments.
    pub words: Vec<String>,
    /// Variables in addition to the inherited ones.
    pub variables: Vec<(String, String)>,
    /// The container that comes of it: the program that runs it, and its name.
    pub container: Option<(String, String)>,
}

impl Order {
    /// What to type for a server at this port. `token` marks its processes.
    ///
    /// # Errors
    /// Something is missing in what was asked for.
    pub fn of(ask: &Ask, port: u16, token: &str) -> Result<Order, Failure> {
        let kind = ask.kind;
        let inside = match &ask.container {
            Some(container) if !container.shares_network() => {
                container.port.unwrap_or(CONTAINER_PORT)
            }
            _ => port,
        };
        let mut gaps = Gaps { port: inside, ask, used: BTreeSet::new() };
        let mut order = Order { words: Vec::new(), variables: Vec::new(), container: None };
        order.variables = kind.variables.iter().map(|(a, b)| pair(a, b)).collect();
        match &ask.command {
            words if !words.is_empty() => {
                order.words = words.iter().map(|word| gaps.fill(word)).collect();
            }
            _ => order.words = kind.program.iter().map(|word| (*word).to_owned()).collect(),
        }
        if order.words.first().is_some_and(|word| word == "{inferometer}") {
            let own = std::env::current_exe().map_err(|error| Failure::files(error.to_string()))?;
            order.words[0] = own.display().to_string();
            order.variables.push(pair(crate::own_program::PROJECT_VARIABLE, ""));
        }
        if order.words.is_empty() && kind.name == "command" {
            return Err(Failure::usage("a server of this kind needs a command"));
        }
        order.add_model(kind, ask)?;
        match kind.listen {
            Listen::Flags(host, flag) => {
                let port = port.to_string();
                order.words.extend([host, HOST, flag, port.as_str()].map(str::to_owned));
            }
            Listen::Variable(name) => order.variables.push(pair(name, &format!("{HOST}:{port}"))),
            Listen::Placeholder => {}
        }
        let args: Vec<String> = ask.args.iter().map(|word| gaps.fill(word)).collect();
        let given: Vec<_> =
            ask.env.iter().map(|(name, value)| pair(name, &gaps.fill(value))).collect();
        order.words.extend(args);
        order.add_key(kind, ask)?;
        for (name, value) in ask.parameters.iter().filter(|(name, _)| !gaps.used.contains(name)) {
            match kind.environment {
                Some(prefix) => order.variables.extend(variable(prefix, name, value)),
                None => order.words.extend(flag(name, value)),
            }
        }
        order.variables.extend(given);
        order.variables.push(pair(TOKEN, token));
        match (&ask.container, kind.name) {
            (Some(container), "container") => order.contain(container, port, inside, token)?,
            (None, "container") => {
                return Err(Failure::usage("a server in a container needs the name of an image"));
            }
            (Some(_), _) => {
                return Err(Failure::usage(format!("a server of kind {} has no image", kind.name))
                    .hint("its kind is \"container\""));
            }
            (None, _) => {}
        }
        if kind.name == "command" && !gaps.used.contains("port") {
            return Err(Failure::usage("the command of a server does not say its port").hint(
                "write {port} where the port belongs, in the command, its arguments or env",
            ));
        }
        Ok(order)
    }

    fn add_model(&mut self, kind: &Kind, ask: &Ask) -> Result<(), Failure> {
        let add = |words: &mut Vec<String>, flag: &str, model: &str| {
            words.extend([flag.to_owned(), model.to_owned()]);
        };
        match (&kind.model, &ask.model) {
            (ModelWord::None, _) | (ModelWord::PathOrPreset, None) => {}
            (_, None) => {
                return Err(Failure::usage(format!(
                    "a server of kind {} needs a model",
                    kind.name
                )));
            }
            (ModelWord::Positional, Some(model)) => self.words.push(model.clone()),
            (ModelWord::Flag(flag), Some(model)) => add(&mut self.words, flag, model),
            (ModelWord::FileOrRepository(file, repository), Some(model)) => {
                let is_file = model.ends_with(".gguf") || ask.path_of(model).exists();
                add(&mut self.words, if is_file { file } else { repository }, model);
            }
            (ModelWord::PathOrPreset, Some(model)) => {
                let is_preset = model.parse::<ifm_engine::Preset>().is_ok();
                add(&mut self.words, if is_preset { "--preset" } else { "--model" }, model);
            }
        }
        Ok(())
    }

    fn add_key(&mut self, kind: &Kind, ask: &Ask) -> Result<(), Failure> {
        let (Some(name), Some(key)) = (&ask.api_key_env, ask.key()?) else { return Ok(()) };
        match kind.key {
            Key::None => {}
            Key::Variable(variable) => self.variables.push(pair(variable, &key)),
            Key::Flag(flag) => self.words.extend([flag.to_owned(), key]),
            Key::NameFlag(flag) => self.words.extend([flag.to_owned(), name.clone()]),
        }
        Ok(())
    }

    /// Moves the command into a container: the words so far become the arguments of its image.
    fn contain(
        &mut self,
        container: &Container,
        port: u16,
        inside: u16,
        token: &str,
    ) -> Result<(), Failure> {
        let program = match &container.program {
            Some(program) => program.clone(),
            None => ["docker", "podman"]
                .into_iter()
                .find(|name| is_on_path(name))
                .ok_or_else(|| {
                    Failure::server("neither docker nor podman is found").hint("install one")
                })?
                .to_owned(),
        };
        let name = format!("inferometer-{token}");
        let mut words = vec![program.clone(), "run".into(), "--rm".into()];
        words.extend(["--name".to_owned(), name.clone()]);
        if !container.shares_network() {
            words.extend(["--publish".to_owned(), format!("{HOST}:{port}:{inside}")]);
        }
        for (variable, _) in &self.variables {
            // Its value comes from our environment: no list of processes shows it.
            words.extend(["--env".to_owned(), variable.clone()]);
        }
        words.extend(container.args.iter().cloned());
        words.push(container.image.clone());
        words.append(&mut self.words);
        self.words = words;
        self.container = Some((program, name));
        Ok(())
    }
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| Path::new(&folder).join(program).is_file())
}

/// A value as one word; absent where the parameter is left as the server has it.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        // Numbers, and objects as vLLM takes them.
        other => Some(other.to_string()),
    }
}

/// A parameter as words: true is the flag alone, false and null are nothing.
fn flag(name: &str, value: &Value) -> Vec<String> {
    let flag = if name.starts_with('-') { name.to_owned() } else { format!("--{name}") };
    match value {
        Value::Bool(true) => vec![flag],
        Value::Bool(false) | Value::Null => Vec::new(),
        other => [flag].into_iter().chain(text(other)).collect(),
    }
}

/// A parameter as a variable.
fn variable(prefix: &str, name: &str, value: &Value) -> Option<(String, String)> {
    let name = name.to_ascii_uppercase().replace('-', "_");
    let name = if name.starts_with(prefix) { name } else { format!("{prefix}{name}") };
    Some((name, text(value)?))
}

/// `{port}`, `{model}` and `{NAME}` of a parameter, in the given arguments.
struct Gaps<'ask> {
    port: u16,
    ask: &'ask Ask,
    used: BTreeSet<String>,
}

impl Gaps<'_> {
    fn fill(&mut self, word: &str) -> String {
        let parameters = self.ask.parameters.iter();
        let known = [
            ("port".to_owned(), Some(self.port.to_string())),
            ("host".to_owned(), Some(HOST.to_owned())),
            ("model".to_owned(), self.ask.model.clone()),
        ];
        let known =
            known.into_iter().chain(parameters.map(|(name, value)| (name.clone(), text(value))));
        let mut filled = word.to_owned();
        for (name, value) in known {
            let gap = format!("{{{name}}}");
            if let Some(value) = value.filter(|_| filled.contains(&gap)) {
                filled = filled.replace(&gap, &value);
                self.used.insert(name);
            }
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ask(kind: &str, change: impl FnOnce(&mut Ask)) -> Ask {
        let mut ask = Ask::new(Kind::named(kind).unwrap(), "log".into());
        ask.parameters =
            [("max-num-seqs", json!(64)), ("fast", json!(true)), ("slow", json!(false))]
                .map(|(name, value)| (name.to_owned(), value))
                .to_vec();
        change(&mut ask);
        ask
    }

    fn words(kind: &str, change: impl FnOnce(&mut Ask)) -> String {
        Order::of(&ask(kind, change), 4711, "t").unwrap().words.join(" ")
    }

    fn model(ask: &mut Ask) {
        ask.model = Some("org/name".to_owned());
    }

    #[test]
    fn every_kind_is_typed_as_its_documentation_says() {
        let at = "--host 127.0.0.1 --port 4711 --max-num-seqs 64 --fast";
        assert_eq!(words("vllm", model), format!("vllm serve org/name {at}"));
        assert_eq!(
            words("sglang", model),
            format!("python3 -m sglang.launch_server --model-path org/name {at}")
        );
        assert_eq!(
            words("tgi", model),
            "text-generation-launcher --model-id org/name --hostname 127.0.0.1 --port 4711 \
             --max-num-seqs 64 --fast"
        );
        assert_eq!(words("llama.cpp", model), format!("llama-server --hf-repo org/name {at}"));
        let file = |ask: &mut Ask| ask.model = Some("a.gguf".to_owned());
        assert_eq!(words("llama.cpp", file), format!("llama-server --model a.gguf {at}"));
        assert_eq!(words("tensorrt-llm", model), format!("trtllm-serve org/name {at}"));
        let nano = |ask: &mut Ask| ask.model = Some("nano".to_owned());
        assert!(words("embedded", nano).ends_with(&format!(" serve --preset nano {at}")));
        assert!(words("embedded", model).ends_with(&format!(" serve --model org/name {at}")));
        let ollama = Order::of(&ask("ollama", model), 4711, "t").unwrap();
        assert_eq!(ollama.words, ["ollama", "serve"]);
        for pair in [("OLLAMA_HOST", "127.0.0.1:4711"), ("OLLAMA_MAX_NUM_SEQS", "64"), (TOKEN, "t")]
        {
            assert!(ollama.variables.contains(&super::pair(pair.0, pair.1)), "{ollama:?}");
        }
        assert!(Kind::named("vLLM").unwrap_err().to_string().contains("vllm, sglang"));
    }

    #[test]
    fn given_words_are_filled_and_what_is_used_is_no_flag() {
        let shell = |ask: &mut Ask| {
            model(ask);
            ask.command = ["x", "{model}:{max-num-seqs}", "{other}"].map(str::to_owned).to_vec();
            ask.args = vec!["--at=127.0.0.1:{port}".to_owned()];
        };
        assert_eq!(words("command", shell), "x org/name:64 {other} --at=127.0.0.1:4711 --fast");
        let own = |ask: &mut Ask| {
            model(ask);
            ask.command = ["/v/bin/vllm", "serve"].map(str::to_owned).to_vec();
        };
        assert!(words("vllm", own).starts_with("/v/bin/vllm serve org/name --host"));
        let failure = |kind, change: fn(&mut Ask)| {
            Order::of(&ask(kind, change), 1, "t").unwrap_err().to_string()
        };
        assert!(failure("command", |ask| ask.command = vec!["x".to_owned()]).contains("{port}"));
        assert!(failure("command", |_| ()).contains("needs a command"));
        assert!(failure("vllm", |_| ()).contains("needs a model"));
        assert!(failure("container", |_| ()).contains("name of an image"));
    }

    #[test]
    fn a_container_has_a_name_a_port_and_its_variables() {
        let container = |args: &[&str]| {
            let args = args.iter().map(|word| (*word).to_owned()).collect();
            let program = Some("podman".to_owned());
            Some(Container { image: "vllm:1".to_owned(), program, args, port: None })
        };
        let order = |args: &[&str]| {
            let change = |ask: &mut Ask| {
                ask.container = container(args);
                ask.args = ["--port", "{port}"].map(str::to_owned).to_vec();
            };
            Order::of(&ask("container", change), 4711, "t").unwrap()
        };
        let own = order(&["--gpus", "all"]);
        assert_eq!(
            own.words.join(" "),
            "podman run --rm --name inferometer-t --publish 127.0.0.1:4711:8000 \
             --env INFEROMETER_TOKEN --gpus all vllm:1 --port 8000 --max-num-seqs 64 --fast"
        );
        assert_eq!(own.container, Some(("podman".to_owned(), "inferometer-t".to_owned())));
        let shared = order(&["--network", "host"]).words.join(" ");
        assert!(shared.contains("vllm:1 --port 4711") && !shared.contains("--publish"), "{shared}");
    }
}
