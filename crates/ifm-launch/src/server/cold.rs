//! Making a start cold: the files of the model are taken out of the kernel's cache of files. The server's
//! own program stays in it.

use super::ask::Ask;
use std::path::{Path, PathBuf};

/// Most files of a model.
const FILES_MAX: usize = 10_000;

/// Takes the files of the model out of the cache.
///
/// # Errors
/// Why some are still there, in one sentence.
pub fn cool(ask: &Ask) -> Result<(), String> {
    let model = ask.model.as_deref().ok_or("the start is not cold: no model is named")?;
    let place = place_of(ask, model)
        .ok_or_else(|| format!("the start is not cold: no files of {model} are found here"))?;
    let mut files = Vec::new();
    list(&place.canonicalize().unwrap_or(place), &mut files);
    let mut left = 0;
    for file in &files {
        match ifm_sys::page_cache::drop_file(file) {
            Ok(true) => {}
            Ok(false) => left += 1,
            Err(error) => {
                return Err(format!("the start is not cold: {}: {error}", file.display()));
            }
        }
    }
    match left {
        0 => Ok(()),
        left => Err(format!(
            "the start is not cold: {left} of {} files of {model} stay in the kernel's cache",
            files.len()
        )),
    }
}

/// Where a model is: at its path, or in the cache of Hugging Face's hub.
fn place_of(ask: &Ask, model: &str) -> Option<PathBuf> {
    let path = ask.path_of(model);
    if path.exists() {
        return Some(path);
    }
    let set = |name: &str| {
        let own = ask.env.iter().find(|(variable, _)| variable == name);
        own.map(|(_, value)| PathBuf::from(value)).or(std::env::var_os(name).map(PathBuf::from))
    };
    let hub = set("HF_HUB_CACHE").or_else(|| Some(set("HF_HOME")?.join("hub")));
    let hub = hub.or_else(|| Some(set("HOME")?.join(".cache/huggingface/hub")))?;
    let path = hub.join(format!("models--{}", model.replace('/', "--")));
    path.exists().then_some(path)
}

fn list(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_file() && files.len() < FILES_MAX {
        files.push(path.to_owned());
    }
    let is_link = path.is_symlink();
    let entries = (!is_link).then(|| std::fs::read_dir(path).ok()).flatten();
    for entry in entries.into_iter().flatten().flatten() {
        list(&entry.path(), files);
    }
}
