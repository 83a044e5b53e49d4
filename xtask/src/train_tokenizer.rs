//! Trains the vocabulary that `ifm-tokenizer` embeds.
//!
//! Byte-level BPE over the documentation and a little of the code of the crates
//! named in `crates/ifm-tokenizer/vocabulary/corpus.txt`, all under MIT or
//! Apache-2.0. The list names exact versions and the SHA-256 of the text that
//! they make, so the same vocabulary can be rebuilt anywhere: the trainer
//! counts, and breaks ties by token id.
//!
//! Not here: reading the vocabulary (`ifm-tokenizer`), and fetching the crates
//! (`cargo fetch` or a registry's download page).

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail, ensure};
use sha2::{Digest as _, Sha256};
use tokenizers::{
    AddedToken, TokenizerBuilder,
    decoders::byte_level::ByteLevel,
    models::bpe::{BPE, BpeTrainerBuilder},
    normalizers::NormalizerWrapper,
    processors::PostProcessorWrapper,
};

/// Where the vocabulary lives, relative to the workspace root.
const VOCABULARY_DIR: &str = "crates/ifm-tokenizer/vocabulary";
/// Tokens of the vocabulary, special tokens and the 256 bytes included.
const VOCABULARY_SIZE: usize = 8192;
/// The special tokens; they take the ids from 0 on. `ifm-tokenizer` has the same list.
const SPECIAL_TOKENS: [&str; 6] =
    ["<|bos|>", "<|eos|>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>"];
/// The longest token in bytes: keeps rulers of dashes out of the vocabulary.
const TOKEN_BYTES_MAX: usize = 16;
/// Documentation taken from one crate at most, in bytes, so that none dominates.
const PROSE_BYTES_MAX: usize = 160 << 10;
/// Code taken from one crate at most, in bytes.
const CODE_BYTES_MAX: usize = 12 << 10;
/// The line of `corpus.txt` that pins the text.
const DIGEST_KEY: &str = "sha256 ";

/// Trains the vocabulary from the crate sources under a directory.
///
/// `arguments`: the directory that holds one folder per crate, such as
/// `~/.cargo/registry/src/INDEX`, and `--accept` to pin a corpus that differs
/// from the recorded one. Run it from the workspace root.
///
/// # Errors
/// When a listed crate is missing or not under MIT or Apache-2.0, when the text
/// is not the recorded one, or when a file cannot be read or written.
pub fn run(arguments: impl IntoIterator<Item = String>) -> Result<()> {
    let (mut sources, mut accept) = (None, false);
    for argument in arguments {
        match argument.as_str() {
            "--accept" => accept = true,
            _ if sources.is_none() => sources = Some(PathBuf::from(argument)),
            other => bail!("unexpected argument '{other}'; usage: train-tokenizer DIR [--accept]"),
        }
    }
    let sources = sources.context("usage: train-tokenizer DIR [--accept]")?;

    let list_path = Path::new(VOCABULARY_DIR).join("corpus.txt");
    let list = fs::read_to_string(&list_path)
        .with_context(|| format!("cannot read {}", list_path.display()))?;
    let corpus = read_corpus(&sources, &list)?;
    let digest = hex(&Sha256::digest(corpus.join("\n").as_bytes()));
    pin(&list_path, &list, &digest, accept)?;

    let merges = train(&corpus)?;
    let merges_path = Path::new(VOCABULARY_DIR).join("merges.txt");
    fs::write(&merges_path, merges)
        .with_context(|| format!("cannot write {}", merges_path.display()))
}

/// Compares the text's digest with the recorded one, or records it.
fn pin(list_path: &Path, list: &str, digest: &str, accept: bool) -> Result<()> {
    let recorded = list.lines().find_map(|line| line.strip_prefix(DIGEST_KEY));
    if recorded == Some(digest) {
        return Ok(());
    }
    ensure!(
        accept,
        "the text has sha256 {digest}, the list records {}; check the crates' versions, or pass --accept",
        recorded.unwrap_or("none")
    );
    let mut pinned = String::new();
    for line in list.lines().filter(|line| !line.starts_with(DIGEST_KEY)) {
        writeln!(pinned, "{line}")?;
    }
    writeln!(pinned, "{DIGEST_KEY}{digest}")?;
    fs::write(list_path, pinned).with_context(|| format!("cannot write {}", list_path.display()))
}

/// The text of every listed crate, in the order of the list.
fn read_corpus(sources: &Path, list: &str) -> Result<Vec<String>> {
    list.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with(DIGEST_KEY))
        .map(|name| {
            let folder = sources.join(name);
            check_licence(&folder)?;
            read_crate(&folder)
        })
        .collect()
}

/// Refuses a crate that cannot be had under MIT or Apache-2.0 alone.
fn check_licence(folder: &Path) -> Result<()> {
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)
        .with_context(|| format!("cannot read {}", manifest.display()))?;
    let licence = text
        .lines()
        .find_map(|line| line.strip_prefix("license = \""))
        .and_then(|rest| rest.strip_suffix('"'))
        .with_context(|| format!("{} names no licence", manifest.display()))?;
    let free = !licence.contains(" AND ")
        && licence
            .replace('/', " OR ")
            .split(" OR ")
            .any(|choice| matches!(choice.trim(), "MIT" | "Apache-2.0"));
    ensure!(free, "{} is under '{licence}'", folder.display());
    Ok(())
}

/// Markdown first, then documentation comments, then some code of one crate.
fn read_crate(folder: &Path) -> Result<String> {
    let mut files = Vec::new();
    list_files(folder, &mut files)?;
    files.sort();
    let (mut prose, mut code) = (String::new(), String::new());
    for file in files.iter().filter(|file| has_extension(file, "md")) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_lowercase();
        if !["license", "copying", "copyright", "changelog", "third"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
        {
            prose.push_str(&read_lossy(file)?);
        }
    }
    for file in files.iter().filter(|file| has_extension(file, "rs")) {
        if prose.len() >= PROSE_BYTES_MAX && code.len() >= CODE_BYTES_MAX {
            break;
        }
        for line in read_lossy(file)?.lines() {
            let bare = line.trim_start();
            let comment = bare.strip_prefix("///").or(bare.strip_prefix("//!"));
            let (text, line) = comment.map_or((&mut code, line), |comment| {
                (&mut prose, comment.strip_prefix(' ').unwrap_or(comment))
            });
            text.push_str(line);
            text.push('\n');
        }
    }
    cut(&mut prose, PROSE_BYTES_MAX);
    cut(&mut code, CODE_BYTES_MAX);
    prose.push_str(&code);
    Ok(prose)
}

/// Appends every file under a folder, at any depth.
fn list_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            list_files(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn has_extension(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|found| found == extension)
}

fn read_lossy(file: &Path) -> Result<String> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Shortens a text to at most `bytes`, at a character boundary.
fn cut(text: &mut String, bytes: usize) {
    let end = (0..=bytes.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    text.truncate(end.unwrap_or(0));
}

/// Trains and returns the merges in the `merges.txt` format, one pair a line.
fn train(corpus: &[String]) -> Result<String> {
    let mut tokenizer = TokenizerBuilder::<
        BPE,
        NormalizerWrapper,
        ByteLevel,
        PostProcessorWrapper,
        ByteLevel,
    >::default()
    .with_model(BPE::default())
    .with_pre_tokenizer(Some(ByteLevel::default().add_prefix_space(false)))
    .build()
    .map_err(|error| anyhow::anyhow!("cannot set up the trainer: {error}"))?;
    let mut trainer = BpeTrainerBuilder::new()
        .vocab_size(VOCABULARY_SIZE)
        .show_progress(false)
        .special_tokens(SPECIAL_TOKENS.iter().map(|token| AddedToken::from(*token, true)).collect())
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .max_token_length(Some(TOKEN_BYTES_MAX))
        .build();
    tokenizer
        .train(&mut trainer, corpus.iter())
        .map_err(|error| anyhow::anyhow!("cannot train: {error}"))?;
    let size = tokenizer.get_vocab_size(true);
    ensure!(size == VOCABULARY_SIZE, "the text yields {size} tokens, {VOCABULARY_SIZE} are wanted");
    merges_text(tokenizer.get_model())
}

/// The merges of a model in order of rank, read from its own serialised form.
fn merges_text(model: &BPE) -> Result<String> {
    let folder = std::env::temp_dir().join(format!("train-tokenizer-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let saved = tokenizers::Model::save(model, &folder, None)
        .map_err(|error| anyhow::anyhow!("cannot save the model: {error}"));
    let text = saved.and_then(|_| Ok(fs::read_to_string(folder.join("merges.txt"))?));
    fs::remove_dir_all(&folder)?;
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
