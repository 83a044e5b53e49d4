//! From what a person writes to a tokenizer: names, files of several formats, folders.
//!
//! A file is recognised by its content, because names lie: Llama 3's `tokenizer.model`
//! is a rank file of tiktoken, Llama 2's is SentencePiece's. A name that is known comes
//! before a file of that name, so that it means the same wherever it is written; a file
//! can always be written with a `./` before it.
//!
//! Not here: the formats themselves.

use std::{
    io::{BufRead as _, BufReader, Read},
    path::{Path, PathBuf},
};

use ifm_core::{contained::contained, regular::open_regular};

use crate::{
    Tokenizer,
    config::Config,
    embedded,
    error::{Problem, TokenizerError},
    gguf, hugging_face,
    sentencepiece::{SentencePiece, model_file},
    sha256_hex, special,
    tiktoken::{self, ranks},
    tokenizer::{Inner, Shared},
};

/// The name of the vocabulary in the binary.
const EMBEDDED: &str = "embedded";
/// The largest file that is read whole, in bytes. The largest `tokenizer.json` in common
/// use, with 256 thousand tokens, are near 35 MB.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// The largest `tokenizer_config.json` that is read, in bytes.
const CONFIG_BYTES_MAX: u64 = 8 << 20;
/// The file with more information about a tokenizer, in the same folder.
const CONFIG_FILE: &str = "tokenizer_config.json";
/// Files that are the tokenizer of their folder, best first.
const FILES: [&str; 2] = ["tokenizer.json", "tokenizer.model"];
/// Endings of files that are, if there is only one of them.
const ENDINGS: [&str; 3] = ["tiktoken", "model", "gguf"];
/// Files of a folder that are looked at.
const FOLDER_FILES_MAX: usize = 10_000;

impl Tokenizer {
    /// Opens the tokenizer that a text refers to.
    ///
    /// - `embedded`: the vocabulary in the binary;
    /// - an encoding of OpenAI such as `o200k_base`, or one of its models such as
    ///   `gpt-4o` or `openai/gpt-oss-20b`: also from the binary;
    /// - the path of a file or folder, as for [`Tokenizer::from_file`];
    /// - `ENCODING=PATH`: a tiktoken rank file that is not one of the published ones, and
    ///   the encoding (or the GGUF name of a split, such as `qwen2`) that goes with it.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`] if it is none of these, and the errors of
    /// [`Tokenizer::from_file`].
    pub fn open(text: &str) -> Result<Self, TokenizerError> {
        if text == EMBEDDED || text == embedded::NAME {
            return Self::embedded();
        }
        if let Some(encoding) = tiktoken::find(text) {
            let loaded = encoding.load().map_err(|problem| problem.of(encoding.name))?;
            return Ok(Self::of_encoding(loaded, encoding.name, &Config::default()));
        }
        let path = Path::new(text);
        if path.exists() {
            return Self::from_file(path);
        }
        match text.split_once('=') {
            Some((encoding, path)) if Path::new(path).is_file() => {
                read_file(Path::new(path), Some(encoding))
            }
            _ => Err(TokenizerError::Unknown {
                text: text.to_owned(),
                names: Self::names().collect::<Vec<_>>().join(", "),
            }),
        }
    }

    /// The names that [`Tokenizer::open`] knows, except names of models.
    pub fn names() -> impl Iterator<Item = &'static str> {
        std::iter::once(EMBEDDED).chain(tiktoken::encoding_names())
    }

    /// Reads a tokenizer from a file, or from the one in a folder.
    ///
    /// Recognised by content: a Hugging Face `tokenizer.json`, a SentencePiece model, a
    /// published rank file of tiktoken, a GGUF file. In a folder the first of
    /// `tokenizer.json`, `tokenizer.model`, and the only file that ends in `.tiktoken`,
    /// `.model` or `.gguf`. A `tokenizer_config.json` next to the file gives the tokens
    /// around a text. The name is the folder's if the file is named `tokenizer`, else
    /// the file's.
    ///
    /// # Errors
    /// [`TokenizerError::Read`], [`TokenizerError::Folder`],
    /// [`TokenizerError::TooLarge`] above 256 MiB, [`TokenizerError::Parse`],
    /// [`TokenizerError::Unsupported`].
    pub fn from_file(path: &Path) -> Result<Self, TokenizerError> {
        if path.is_dir() { read_file(&find_in_folder(path)?, None) } else { read_file(path, None) }
    }

    /// Reads a tokenizer from the content of a file, recognised as by
    /// [`Tokenizer::from_file`].
    ///
    /// # Errors
    /// [`TokenizerError::Parse`], [`TokenizerError::Unsupported`].
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, TokenizerError> {
        read_content(name, bytes, None, &Config::default()).map_err(|problem| problem.of(name))
    }

    fn of_encoding(loaded: tiktoken::Loaded, name: &str, config: &Config) -> Self {
        let tiktoken::Loaded { inner, bytes, special_ids, sha256, tokens } = loaded;
        let bounds = special::find_bounds(config, |token| inner.token_to_id(token));
        Self::new(Shared {
            inner: Inner::Words(Box::new(inner)),
            name: name.to_owned(),
            sha256,
            vocab_size: tokens,
            bounds,
            special_ids,
            special_tokens_added: 0,
            bytes: Some(bytes),
            takes_off_space: false,
        })
    }
}

fn read_file(path: &Path, said: Option<&str>) -> Result<Tokenizer, TokenizerError> {
    let read_error = |source| TokenizerError::Read { path: path.to_owned(), source };
    let told = path.display().to_string();
    let mut reader = BufReader::with_capacity(1 << 20, open_regular(path).map_err(read_error)?);
    let name = match said {
        Some(encoding) => format!("{encoding}={}", name_of(path)),
        None => name_of(path),
    };
    if reader.fill_buf().map_err(read_error)?.starts_with(&gguf::MAGIC) {
        // Not read whole: weights follow.
        return contained(|| read_gguf(&name, reader))
            .unwrap_or_else(|panicked| Err(Problem::damaged(panicked.to_string())))
            .map_err(|problem| problem.of(&told));
    }
    let bytes = read_bounded(path, reader, FILE_BYTES_MAX)?;
    // Only a help: a missing or unreadable one is as good as none.
    let config = path.with_file_name(CONFIG_FILE);
    let config = open_regular(&config).ok().and_then(|file| {
        let bytes = read_bounded(&config, file, CONFIG_BYTES_MAX).ok()?;
        Some(Config::read(&bytes))
    });
    let config = config.unwrap_or_default();
    read_content(&name, &bytes, said, &config).map_err(|problem| problem.of(&told))
}

fn read_bounded(
    path: &Path,
    source: impl Read,
    limit_bytes: u64,
) -> Result<Vec<u8>, TokenizerError> {
    let mut bytes = Vec::new();
    source
        .take(limit_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| TokenizerError::Read { path: path.to_owned(), source })?;
    if bytes.len() as u64 > limit_bytes {
        return Err(TokenizerError::TooLarge { path: path.to_owned(), limit_bytes });
    }
    Ok(bytes)
}

/// Reads content of any format; `said` is the encoding that goes with a rank file. A panic of a reader is
/// damage.
fn read_content(
    name: &str,
    bytes: &[u8],
    said: Option<&str>,
    config: &Config,
) -> Result<Tokenizer, Problem> {
    contained(|| read_format(name, bytes, said, config))
        .unwrap_or_else(|panicked| Err(Problem::damaged(panicked.to_string())))
}

fn read_format(
    name: &str,
    bytes: &[u8],
    said: Option<&str>,
    config: &Config,
) -> Result<Tokenizer, Problem> {
    let first = bytes.trim_ascii_start().first();
    let is_ranks = ranks::is_rank_file(bytes);
    if let (Some(encoding), false) = (said, is_ranks) {
        return Err(Problem::damaged(format!(
            "'{encoding}=' goes before tiktoken rank files only"
        )));
    }
    if bytes.starts_with(&gguf::MAGIC) {
        read_gguf(name, bytes)
    } else if first == Some(&b'{') {
        read_json(name, bytes, config)
    } else if is_ranks {
        Ok(Tokenizer::of_encoding(tiktoken::from_file(bytes, said, config)?, name, config))
    } else if let Some(problem) = mistaken(bytes) {
        Err(problem)
    } else if bytes.first() == Some(&model_file::FIRST_BYTE) {
        read_sentencepiece(name, bytes, config)
    } else {
        let start = bytes.iter().take(12).copied().collect::<Vec<_>>();
        Err(Problem::damaged(format!(
            "it is of no known format (it begins with \"{}\")",
            start.escape_ascii()
        )))
    }
}

/// What is often found where a tokenizer should be.
fn mistaken(bytes: &[u8]) -> Option<Problem> {
    let begins = |with: &str| {
        let start = bytes.trim_ascii_start().get(..with.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(with.as_bytes()))
    };
    Some(Problem::damaged(if bytes.is_empty() {
        "it is empty"
    } else if begins("version https://git-lfs") {
        "it is a pointer of Git LFS and not the file itself; fetch it with git lfs pull"
    } else if begins("<!doctype") || begins("<html") {
        "it is a web page; the download went wrong"
    } else {
        return None;
    }))
}

fn read_json(name: &str, bytes: &[u8], config: &Config) -> Result<Tokenizer, Problem> {
    let loaded = hugging_face::read(bytes)?;
    Ok(Tokenizer::new(Shared {
        bounds: special::find_bounds(config, |token| loaded.inner.token_to_id(token)),
        inner: Inner::Words(Box::new(loaded.inner)),
        name: name.to_owned(),
        sha256: sha256_hex(bytes),
        vocab_size: loaded.vocab_size,
        special_ids: loaded.special_ids,
        special_tokens_added: loaded.special_tokens_added,
        bytes: loaded.bytes,
        takes_off_space: false,
    }))
}

fn read_sentencepiece(name: &str, bytes: &[u8], config: &Config) -> Result<Tokenizer, Problem> {
    let (inner, tables) = SentencePiece::new(model_file::read(bytes)?, &config.added)?;
    Ok(Tokenizer::new(Shared {
        name: name.to_owned(),
        sha256: sha256_hex(bytes),
        vocab_size: inner.size(),
        bounds: special::find_bounds(config, |token| inner.id(token)),
        special_ids: tables.special_ids,
        special_tokens_added: config.special_tokens_added().unwrap_or(0),
        bytes: Some(tables.bytes),
        takes_off_space: inner.adds_prefix(),
        inner: Inner::Pieces(Box::new(inner)),
    }))
}

fn read_gguf(name: &str, source: impl Read) -> Result<Tokenizer, Problem> {
    let loaded = gguf::read(source)?;
    let (inner, takes_off_space) = match loaded.model {
        gguf::Model::ByteLevel(inner) => (Inner::Words(inner), false),
        gguf::Model::SentencePiece(inner) => {
            let takes_off_space = inner.adds_prefix();
            (Inner::Pieces(inner), takes_off_space)
        }
    };
    Ok(Tokenizer::new(Shared {
        inner,
        name: name.to_owned(),
        sha256: loaded.sha256,
        vocab_size: loaded.tokens,
        bounds: loaded.bounds,
        special_ids: loaded.special_ids,
        special_tokens_added: loaded.special_tokens_added,
        bytes: Some(loaded.bytes),
        takes_off_space,
    }))
}

/// The file of a folder that is its tokenizer.
fn find_in_folder(folder: &Path) -> Result<PathBuf, TokenizerError> {
    let problem = |reason: String| TokenizerError::Folder { path: folder.to_owned(), reason };
    if let Some(file) = FILES.iter().map(|name| folder.join(name)).find(|path| path.is_file()) {
        return Ok(file);
    }
    let files = std::fs::read_dir(folder)
        .map_err(|source| TokenizerError::Read { path: folder.to_owned(), source })?;
    let paths = files.take(FOLDER_FILES_MAX).filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths = paths.filter(|path| path.is_file()).collect::<Vec<_>>();
    paths.sort_unstable();
    for ending in ENDINGS {
        let mut fitting = paths.iter().filter(|path| path.extension().is_some_and(|e| e == ending));
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => return Ok(only.clone()),
            (Some(first), Some(second)) => {
                let name = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
                return Err(problem(format!(
                    "it holds several files that end in .{ending} ({}, {}); name one of them",
                    name(first),
                    name(second)
                )));
            }
            _ => {}
        }
    }
    Err(problem(
        "it holds no tokenizer.json, no tokenizer.model, and no file that ends in .tiktoken, \
         .model or .gguf; put the tokenizer.json of the model there"
            .to_owned(),
    ))
}

/// The folder's name for a file called `tokenizer`, else the file's without its ending.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    let folder = path.parent().and_then(Path::file_name);
    match folder {
        Some(folder) if stem == "tokenizer" => folder.to_string_lossy().into_owned(),
        _ => stem.to_string_lossy().into_owned(),
    }
}
