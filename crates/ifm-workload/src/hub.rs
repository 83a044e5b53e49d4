//! Data sets of the Hugging Face hub: from its cache, or fetched into it.
//!
//! The cache has the layout of `huggingface_hub`, so what is there already is used, and
//! what is fetched is there for other tools. Where nothing may be fetched, the error
//! names the file and where to put it.
//!
//! Not here: the environment (the caller hands it in), reading files (`source`).

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;
use ureq::{
    Agent, RequestBuilder,
    http::{Response, header::HeaderMap},
    tls::{Certificate, RootCerts, TlsConfig},
    typestate::WithoutBody,
};

use crate::error::WorkloadError;

/// Where the hub is, if nothing else is said.
pub const ENDPOINT: &str = "https://huggingface.co";
/// The largest list of files that is read, in bytes.
const LIST_BYTES_MAX: u64 = 64 << 20;
/// The largest file that is fetched, in bytes.
const FILE_BYTES_MAX: u64 = 64 << 30;
/// How long to wait for a connection and for each answer to begin.
const WAIT: Duration = Duration::from_secs(30);
/// The branch that is fetched.
const BRANCH: &str = "main";

/// Whether and how files may be fetched from the hub.
#[derive(Debug, Clone)]
pub struct HubAccess {
    /// Whether files may be fetched at all; the cache is used in any case.
    pub fetch: bool,
    /// The hub's address, such as [`ENDPOINT`].
    pub endpoint: String,
    /// Folder of the cache, such as `~/.cache/huggingface/hub`.
    pub cache: Option<PathBuf>,
    /// Token that is sent with each request.
    pub token: Option<String>,
    /// Certificates to trust, DER. Empty: the ones that are built in.
    pub roots_der: Vec<Vec<u8>>,
}

impl Default for HubAccess {
    fn default() -> Self {
        Self {
            fetch: false,
            endpoint: ENDPOINT.to_owned(),
            cache: None,
            token: None,
            roots_der: Vec::new(),
        }
    }
}

impl HubAccess {
    /// As `huggingface_hub` reads the environment: `HF_ENDPOINT`, `HF_HUB_CACHE`,
    /// `HF_HOME`, `XDG_CACHE_HOME`, `HOME`, `HF_TOKEN` and `HF_HUB_OFFLINE`. Files may be
    /// fetched unless the last one says no.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let folder = |name: &str| variable(name).map(PathBuf::from);
        let offline = variable("HF_HUB_OFFLINE").unwrap_or_default().to_lowercase();
        let home = folder("HF_HOME").or_else(|| {
            let cache = folder("XDG_CACHE_HOME");
            Some(cache.or_else(|| Some(folder("HOME")?.join(".cache")))?.join("huggingface"))
        });
        let cache = folder("HF_HUB_CACHE").or_else(|| folder("HUGGINGFACE_HUB_CACHE"));
        Self {
            fetch: !["1", "on", "yes", "true"].contains(&offline.as_str()),
            endpoint: variable("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned()),
            cache: cache.or_else(|| home.map(|home| home.join("hub"))),
            token: variable("HF_TOKEN"),
            roots_der: Vec::new(),
        }
    }
}

/// A data set on the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HubSet {
    /// Owner and name.
    pub repository: &'static str,
    /// The file with the rows; absent: the files of its `train` split.
    pub file: Option<&'static str>,
}

/// The files of `OWNER/NAME`, or of it the one that stands behind another slash; without that the one
/// that the data set's own home names.
///
/// # Errors
/// As [`find`].
pub(crate) fn named(
    access: &HubAccess,
    kind: &str,
    name: &str,
    home: Option<&HubSet>,
) -> Result<Vec<PathBuf>, WorkloadError> {
    let slash = name.match_indices('/').nth(1).map(|(place, _)| place);
    let (repository, file) = match slash {
        Some(place) => (name.get(..place), name.get(place + 1..)),
        None => (Some(name), None),
    };
    let repository = repository.unwrap_or(name);
    let known = home.filter(|set| set.repository == repository);
    find(access, kind, repository, file.or(known.and_then(|set| set.file)))
}

/// The files of a data set: from the cache, or fetched.
///
/// # Errors
/// [`WorkloadError::Hub`].
pub(crate) fn find(
    access: &HubAccess,
    kind: &str,
    repository: &str,
    file: Option<&str>,
) -> Result<Vec<PathBuf>, WorkloadError> {
    let hub = Hub { access, kind, repository };
    let well_formed = repository.split('/').count() == 2
        && repository.split('/').all(|part| !part.is_empty() && !part.starts_with('.'))
        && file.is_none_or(is_inside);
    if !well_formed {
        return Err(hub.error(file, "this is not a name of a data set", "write hub:OWNER/NAME"));
    }
    let cached = hub.cached(file);
    if !cached.is_empty() {
        return Ok(cached);
    }
    if !access.fetch {
        return Err(hub.offline(file, "fetching is switched off"));
    }
    let Some(folder) = hub.folder() else {
        return Err(hub.offline(file, "no folder is known for the cache"));
    };
    let files = match file {
        Some(file) => vec![file.to_owned()],
        None => hub.list()?,
    };
    files.iter().map(|file| hub.fetch(&folder, file)).collect()
}

struct Hub<'request> {
    access: &'request HubAccess,
    /// The kind of data set, for messages.
    kind: &'request str,
    repository: &'request str,
}

#[derive(Deserialize)]
struct Repository {
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
}

impl Hub<'_> {
    fn error(&self, file: Option<&str>, reason: &str, instead: &str) -> WorkloadError {
        let slash = file.map(|file| format!("/{file}")).unwrap_or_default();
        WorkloadError::Hub {
            repository: format!("{}{slash}", self.repository),
            reason: reason.to_owned(),
            instead: instead.to_owned(),
        }
    }

    /// What to do where nothing can be fetched.
    fn offline(&self, file: Option<&str>, reason: &str) -> WorkloadError {
        let Self { access: HubAccess { endpoint, .. }, kind, repository } = self;
        let instead = match file {
            Some(file) => format!(
                "Fetch {endpoint}/datasets/{repository}/resolve/{BRANCH}/{file} elsewhere, and \
                 name it: {kind}:PATH/{file}"
            ),
            None => format!(
                "Fetch the data files of {endpoint}/datasets/{repository}/tree/{BRANCH} \
                 elsewhere, and name their folder: {kind}:PATH"
            ),
        };
        self.error(file, reason, &instead)
    }

    /// The data set's folder in the cache.
    fn folder(&self) -> Option<PathBuf> {
        let name = format!("datasets--{}", self.repository.replace('/', "--"));
        self.access.cache.as_ref().map(|cache| cache.join(name))
    }

    /// Files of the branch's current snapshot; none if one is missing.
    fn cached(&self, file: Option<&str>) -> Vec<PathBuf> {
        let snapshot = || {
            let folder = self.folder()?;
            let commit = fs::read_to_string(folder.join("refs").join(BRANCH)).ok()?;
            Some(folder.join("snapshots").join(commit.trim()))
        };
        let Some(snapshot) = snapshot() else {
            return Vec::new();
        };
        match file {
            Some(file) => {
                Some(snapshot.join(file)).filter(|path| path.is_file()).into_iter().collect()
            }
            None => {
                let mut files = Vec::new();
                list_folder(&snapshot, Path::new(""), &mut files);
                let files = choose(files).unwrap_or_default();
                let files = files.iter().map(|file| snapshot.join(file)).collect::<Vec<_>>();
                if shards_are_whole(&files) { files } else { Vec::new() }
            }
        }
    }

    fn agent(&self) -> Agent {
        let roots = match self.access.roots_der.is_empty() {
            true => RootCerts::WebPki,
            false => {
                let roots = self.access.roots_der.iter();
                let roots = roots.map(|der| Certificate::from_der(der).to_owned());
                RootCerts::from(roots.collect::<Vec<_>>())
            }
        };
        let config = Agent::config_builder()
            .timeout_connect(Some(WAIT))
            .timeout_recv_response(Some(WAIT))
            .http_status_as_error(false)
            .tls_config(TlsConfig::builder().root_certs(roots).build());
        config.build().into()
    }

    fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.access.endpoint.trim_end_matches('/'))
    }

    /// The heads of a file's own answer, before it sends one elsewhere for the content:
    /// only they name the commit.
    fn heads(&self, path: &str) -> Option<HeaderMap> {
        let request = self.signed(self.agent().head(self.url(path)));
        let answer = request.config().max_redirects(0).build().call().ok()?;
        Some(answer.headers().clone())
    }

    fn signed(&self, request: RequestBuilder<WithoutBody>) -> RequestBuilder<WithoutBody> {
        match &self.access.token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    fn get(&self, file: Option<&str>, path: &str) -> Result<Response<ureq::Body>, WorkloadError> {
        let url = self.url(path);
        let answer = self.signed(self.agent().get(&url)).call();
        let answer = answer.map_err(|error| self.offline(file, &format!("{url}: {error}")))?;
        let reason = match answer.status().as_u16() {
            200 => return Ok(answer),
            401 | 403 => "it may not be read; set HF_TOKEN, or ask its owner for access".to_owned(),
            404 => "the hub does not have it".to_owned(),
            status => format!("the hub answered {status}"),
        };
        Err(self.offline(file, &format!("{url}: {reason}")))
    }

    /// The files with the rows, by their names.
    fn list(&self) -> Result<Vec<String>, WorkloadError> {
        let mut answer = self.get(None, &format!("api/datasets/{}", self.repository))?;
        let body = answer.body_mut().with_config().limit(LIST_BYTES_MAX).read_to_vec();
        let wrong = |reason: String| self.offline(None, &format!("its list of files: {reason}"));
        let body = body.map_err(|error| wrong(error.to_string()))?;
        let list = serde_json::from_slice::<Repository>(&body);
        let list = list.map_err(|error| wrong(error.to_string()))?;
        let files = list.siblings.into_iter().map(|sibling| sibling.rfilename);
        choose(files.filter(|file| is_inside(file)).collect()).map_err(|files| {
            let some = files.iter().take(20).map(String::as_str).collect::<Vec<_>>().join(", ");
            let reason = format!("its files leave a choice ({some})");
            self.error(None, &reason, &format!("Name one: hub:{}/FILE", self.repository))
        })
    }

    /// Fetches a file into the cache: content under its mark, a link under its name.
    fn fetch(&self, folder: &Path, file: &str) -> Result<PathBuf, WorkloadError> {
        let repository = self.repository;
        let path = format!("datasets/{repository}/resolve/{BRANCH}/{}", escape(file));
        let mut answer = self.get(Some(file), &path)?;
        let wrong = |reason: String| self.offline(Some(file), &reason);
        let headers = self.heads(&path).unwrap_or_else(|| answer.headers().clone());
        let commit = mark(&headers, &["x-repo-commit"]).unwrap_or_else(|| BRANCH.to_owned());
        let etag = mark(&headers, &["x-linked-etag", "etag"]);
        let etag = etag.unwrap_or_else(|| file.replace('/', "--"));
        let blobs = folder.join("blobs");
        let blob = blobs.join(&etag);
        let target = folder.join("snapshots").join(&commit).join(file);
        let parts = [&blobs, &folder.join("refs"), target.parent().unwrap_or(folder)];
        for part in parts {
            fs::create_dir_all(part)
                .map_err(|error| wrong(format!("{}: {error}", part.display())))?;
        }
        let unfinished = blobs.join(format!("{etag}.{}.incomplete", std::process::id()));
        let write = || -> std::io::Result<()> {
            let mut out = fs::File::create(&unfinished)?;
            let mut body = answer.body_mut().as_reader().take(FILE_BYTES_MAX);
            std::io::copy(&mut body, &mut out)?;
            out.sync_all()?;
            fs::rename(&unfinished, &blob)?;
            if fs::symlink_metadata(&target).is_ok() {
                fs::remove_file(&target)?;
            }
            link(&blob, &target, file)?;
            fs::write(folder.join("refs").join(BRANCH), &commit)
        };
        let mut write = write;
        if let Err(error) = write() {
            // Best effort: what is half written is of no use to anybody.
            let _ = fs::remove_file(&unfinished);
            return Err(wrong(format!("fetching it failed: {error}")));
        }
        Ok(target)
    }
}

/// A relative link where the system has them, else a copy.
fn link(blob: &Path, target: &Path, file: &str) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        let up = "../".repeat(file.split('/').count() + 1);
        let name = blob.file_name().unwrap_or_default();
        std::os::unix::fs::symlink(Path::new(&up).join("blobs").join(name), target)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        fs::copy(blob, target).map(|_| ())
    }
}

/// The first of these heads, without quotes; nothing that could leave a folder.
fn mark(headers: &HeaderMap, names: &[&str]) -> Option<String> {
    let mut values = names.iter().filter_map(|name| headers.get(*name)?.to_str().ok());
    let value = values.next()?.trim_start_matches("W/").trim_matches('"');
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (!value.is_empty() && value.len() <= 128 && value.bytes().all(plain)).then(|| value.to_owned())
}

/// Whether a file's name stays inside its repository.
fn is_inside(file: &str) -> bool {
    let part = |part: &str| !part.is_empty() && part != ".." && part != ".";
    !file.contains('\\') && file.split('/').all(part)
}

/// A path for a URL.
fn escape(file: &str) -> String {
    use std::fmt::Write as _;
    file.bytes().fold(String::new(), |mut text, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                text.push(byte.into());
            }
            // Writing to a string cannot fail.
            _ => drop(write!(text, "%{byte:02X}")),
        }
        text
    })
}

/// Chooses the files with the rows: those of the `train` split, else the only kind there
/// is; all files when there is a choice.
fn choose(files: Vec<String>) -> Result<Vec<String>, Vec<String>> {
    const ENDINGS: [&str; 4] = [".parquet", ".jsonl", ".json", ".csv"];
    /// Descriptions next to the rows.
    const ABOUT: [&str; 4] =
        ["dataset_infos.json", "dataset_info.json", "config.json", "state.json"];
    let base = |file: &str| file.rsplit('/').next().unwrap_or(file).to_owned();
    let mut rows = files
        .into_iter()
        .filter(|file| ENDINGS.iter().any(|ending| file.ends_with(ending)))
        .filter(|file| !ABOUT.contains(&base(file).as_str()))
        .collect::<Vec<_>>();
    rows.sort();
    let train = rows.iter().filter(|file| base(file).starts_with("train")).cloned();
    let train = train.collect::<Vec<_>>();
    let chosen = if train.is_empty() { &rows } else { &train };
    let stem = |file: &String| file.split("-0").next().unwrap_or(file).to_owned();
    let same = chosen.windows(2).all(|two| two.first().map(stem) == two.get(1).map(stem));
    match chosen.len() {
        1 => Ok(chosen.clone()),
        0 => Err(rows),
        _ if same => Ok(chosen.clone()),
        _ => Err(rows),
    }
}

/// Whether all parts are there of files named `x-00000-of-00005.parquet`.
fn shards_are_whole(files: &[PathBuf]) -> bool {
    let of = |file: &Path| {
        let stem = file.file_stem()?.to_string_lossy().into_owned();
        stem.rsplit_once("-of-")?.1.parse::<usize>().ok()
    };
    match files.first().and_then(|file| of(file)) {
        Some(count) => files.len() == count,
        None => !files.is_empty(),
    }
}

/// Names of the files in a folder and in those inside it, two deep.
fn list_folder(root: &Path, inside: &Path, files: &mut Vec<String>) {
    const FILES_MAX: usize = 10_000;
    let entries = fs::read_dir(root.join(inside)).into_iter().flatten().flatten();
    for entry in entries {
        let name = inside.join(entry.file_name());
        let path = root.join(&name);
        if path.is_dir() && name.components().count() < 3 {
            list_folder(root, &name, files);
        } else if path.is_file() && files.len() < FILES_MAX {
            files.push(name.to_string_lossy().into_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_read_as_elsewhere() {
        let access = |pairs: &[(&str, &str)]| {
            HubAccess::from_variables(|name| {
                pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned())
            })
        };
        let cache =
            |pairs: &[(&str, &str)]| access(pairs).cache.map(|path| path.display().to_string());
        assert_eq!(cache(&[("HOME", "/h")]).unwrap(), "/h/.cache/huggingface/hub");
        assert_eq!(cache(&[("XDG_CACHE_HOME", "/x")]).unwrap(), "/x/huggingface/hub");
        assert_eq!(cache(&[("HF_HOME", "/f"), ("HOME", "/h")]).unwrap(), "/f/hub");
        assert_eq!(cache(&[("HF_HUB_CACHE", "/c"), ("HF_HOME", "/f")]).unwrap(), "/c");
        assert_eq!(cache(&[]), None);
        assert!(access(&[("HF_HUB_OFFLINE", "0")]).fetch);
        assert!(!access(&[("HF_HUB_OFFLINE", "ON")]).fetch);
        assert_eq!(access(&[("HF_ENDPOINT", "http://h")]).endpoint, "http://h");
        assert_eq!(access(&[]).endpoint, ENDPOINT);
    }

    #[test]
    fn files_with_rows_are_chosen() {
        let chosen = |files: &[&str]| choose(files.iter().map(|file| (*file).to_owned()).collect());
        assert_eq!(chosen(&["README.md", "x.json", "dataset_infos.json"]).unwrap(), ["x.json"]);
        assert_eq!(
            chosen(&[
                "data/train-00001-of-00002.parquet",
                "data/train-00000-of-00002.parquet",
                "data/test-00000-of-00001.parquet"
            ])
            .unwrap(),
            ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"]
        );
        assert_eq!(chosen(&["a.json", "b.json"]).unwrap_err(), ["a.json", "b.json"]);
        assert!(chosen(&["README.md"]).unwrap_err().is_empty());
    }

    #[test]
    fn names_stay_inside() {
        for file in ["../x", "a/../b", "/x", "a//b", "a\\b", ""] {
            assert!(!is_inside(file), "{file}");
        }
        assert!(is_inside("data/train-0.parquet"));
        assert_eq!(escape("a b/ä.json"), "a%20b/%C3%A4.json");
    }
}
