//! Kinds of servers that can be started: what is typed for each, and where it says that it is well. To
//! add one, a row of `KINDS`.
//!
//! The wording is each project's own documentation. The software and version of a server that
//! already runs are detected by asking it (`ifm_probe::server`).

use ifm_terminal::exit::Failure;

/// A kind of server.
#[derive(Debug)]
pub struct Kind {
    /// The word in a plan.
    pub name: &'static str,
    /// Program and first words, unless others are given.
    pub(super) program: &'static [&'static str],
    pub(super) model: ModelWord,
    pub(super) listen: Listen,
    /// What comes before the name of a parameter that is set in the environment; absent where
    /// parameters are flags.
    pub(super) environment: Option<&'static str>,
    pub(super) key: Key,
    /// Variables that it needs.
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// The path that answers with success once it is ready; without one, its list of models does.
    pub health: Option<&'static str>,
    /// The path to which a POST empties its caches.
    pub reset: Option<&'static str>,
    /// Whether it offers other models in addition to the requested one.
    pub has_many_models: bool,
    /// What to do where the program is missing.
    pub install: &'static str,
}

/// How the model is named.
#[derive(Debug)]
pub(super) enum ModelWord {
    /// Only in requests, or by words that were given.
    None,
    /// As a word of its own.
    Positional,
    Flag(&'static str),
    /// llama.cpp: a file, or a repository.
    FileOrRepository(&'static str, &'static str),
    /// Our own: a folder or file, or the name of a size.
    PathOrPreset,
}

/// How to pass the address to listen on.
#[derive(Debug)]
pub(super) enum Listen {
    /// By flags for host and port.
    Flags(&'static str, &'static str),
    /// By a variable that holds both.
    Variable(&'static str),
    /// By `{port}` in the words that were given.
    Placeholder,
}

/// How to pass the key that requests must contain.
#[derive(Debug)]
pub(super) enum Key {
    None,
    Variable(&'static str),
    /// As a word that everybody on the machine can see.
    Flag(&'static str),
    /// By the name of the variable that holds it.
    NameFlag(&'static str),
}

const HOST_AND_PORT: Listen = Listen::Flags("--host", "--port");

const PLAIN: Kind = Kind {
    name: "",
    program: &[],
    model: ModelWord::None,
    listen: HOST_AND_PORT,
    environment: None,
    key: Key::None,
    variables: &[],
    health: Some("/health"),
    reset: None,
    has_many_models: false,
    install: "check the first word of its command",
};

/// Every kind.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "vllm",
        program: &["vllm", "serve"],
        model: ModelWord::Positional,
        key: Key::Variable("VLLM_API_KEY"),
        reset: Some("/reset_prefix_cache"),
        // Without it there is no such path.
        variables: &[("VLLM_SERVER_DEV_MODE", "1")],
        install: "install it (pip install vllm), or give the path in `command`",
        ..PLAIN
    },
    Kind {
        name: "sglang",
        program: &["python3", "-m", "sglang.launch_server"],
        model: ModelWord::Flag("--model-path"),
        key: Key::Flag("--api-key"),
        reset: Some("/flush_cache"),
        install: "install it (pip install sglang), or give its Python in `command`",
        ..PLAIN
    },
    Kind {
        name: "tgi",
        program: &["text-generation-launcher"],
        model: ModelWord::Flag("--model-id"),
        listen: Listen::Flags("--hostname", "--port"),
        key: Key::Variable("API_KEY"),
        install: "take its image, ghcr.io/huggingface/text-generation-inference, as a container",
        ..PLAIN
    },
    Kind {
        name: "llama.cpp",
        program: &["llama-server"],
        model: ModelWord::FileOrRepository("--model", "--hf-repo"),
        key: Key::Variable("LLAMA_API_KEY"),
        install: "build llama.cpp or unpack one of its releases, or give the path in `command`",
        ..PLAIN
    },
    Kind {
        name: "tensorrt-llm",
        program: &["trtllm-serve"],
        model: ModelWord::Positional,
        install: "install it (pip install tensorrt_llm), or take its image as a container",
        ..PLAIN
    },
    Kind {
        name: "ollama",
        program: &["ollama", "serve"],
        listen: Listen::Variable("OLLAMA_HOST"),
        environment: Some("OLLAMA_"),
        health: Some("/api/version"),
        has_many_models: true,
        install: "install it from ollama.com, or give the path in `command`",
        ..PLAIN
    },
    Kind {
        name: "embedded",
        program: &["{inferometer}", "serve"],
        model: ModelWord::PathOrPreset,
        key: Key::NameFlag("--api-key-env"),
        ..PLAIN
    },
    Kind { name: "command", listen: Listen::Placeholder, health: None, ..PLAIN },
    Kind {
        name: "container",
        listen: Listen::Placeholder,
        health: None,
        install: "install docker or podman",
        ..PLAIN
    },
];

impl Kind {
    /// The kind of this name.
    ///
    /// # Errors
    /// There is no such kind.
    pub fn named(name: &str) -> Result<&'static Kind, Failure> {
        KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            Failure::usage(format!("unknown kind of server: \"{name}\""))
                .hint(format!("there are {}", names.join(", ")))
        })
    }
}
