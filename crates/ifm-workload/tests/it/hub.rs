//! Data sets of the hub: fetched from a small server on this machine, kept in the cache.
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{Arc, Mutex},
    thread,
};

use ifm_tokenizer::Tokenizer;
use ifm_workload::{HubAccess, OpenedWorkload, WorkloadError, WorkloadRequest, open};
use serde_json::json;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// What the server has: for each path a status, heads and a body.
type Pages = BTreeMap<&'static str, (u16, Vec<(&'static str, String)>, String)>;

/// A server of fixed pages, which remembers what it was asked.
struct Server {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(pages: Pages) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let address = format!("http://{}", listener.local_addr().expect("it has an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let remember = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(stream, &pages, &remember);
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panicked").clone()
    }
}

fn answer(mut stream: TcpStream, pages: &Pages, asked: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream.try_clone().expect("it can be shared")).lines();
    let Some(Ok(first)) = lines.next() else { return };
    let heads = lines.map_while(Result::ok).take_while(|line| !line.is_empty());
    let signed = heads.filter(|line| line.to_lowercase().starts_with("authorization")).count() > 0;
    let mut parts = first.split(' ');
    let (method, path) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let note = format!("{method} {path}{}", if signed { " signed" } else { "" });
    asked.lock().expect("nobody panicked").push(note);
    let none = (404, Vec::new(), String::new());
    let (status, heads, body) = pages.get(path).unwrap_or(&none);
    let mut text = format!("HTTP/1.1 {status} X\r\nConnection: close\r\n");
    if !heads.iter().any(|(name, _)| *name == "Content-Length") {
        text += &format!("Content-Length: {}\r\n", body.len());
    }
    for (name, value) in heads {
        text += &format!("{name}: {value}\r\n");
    }
    text += "\r\n";
    if method == "GET" {
        text += body;
    }
    // A client that has gone away is its own affair.
    let _ = stream.write_all(text.as_bytes());
}

/// A page that sends on to the content elsewhere, as the hub does.
fn sends_on(to: &str) -> (u16, Vec<(&'static str, String)>, String) {
    let heads = vec![
        ("Location", to.to_owned()),
        ("x-repo-commit", COMMIT.to_owned()),
        ("x-linked-etag", "\"abc123\"".to_owned()),
    ];
    (302, heads, String::new())
}

fn page(body: impl Into<String>) -> (u16, Vec<(&'static str, String)>, String) {
    (200, Vec::new(), body.into())
}

fn list(files: &[&str]) -> (u16, Vec<(&'static str, String)>, String) {
    let files = files.iter().map(|file| json!({"rfilename": file})).collect::<Vec<_>>();
    page(json!({"siblings": files}).to_string())
}

fn opens(
    text: &str,
    server: Option<&Server>,
    cache: &Path,
) -> Result<OpenedWorkload, WorkloadError> {
    let mut request = WorkloadRequest::new(text, 1);
    request.hub = HubAccess { cache: Some(cache.to_owned()), ..HubAccess::default() };
    if let Some(server) = server {
        request.hub.fetch = true;
        request.hub.endpoint.clone_from(&server.address);
        request.hub.token = Some("secret".to_owned());
    }
    open(&request, &Tokenizer::embedded().expect("the embedded vocabulary loads"))
}

const ROWS: &str = "{\"prompt\":\"one\"}\n{\"prompt\":\"two\"}\n";

#[test]
fn what_is_fetched_is_kept_for_everybody() {
    let cache = tempfile::tempdir().unwrap();
    let resolve = "/datasets/me/mine/resolve/main/data/train%20set.jsonl";
    let server = Server::start(Pages::from([
        ("/api/datasets/me/mine", list(&["README.md", "data/train set.jsonl", "data/test.jsonl"])),
        (resolve, sends_on("/content/7")),
        ("/content/7", page(ROWS)),
    ]));
    let opened = opens("custom:hub:me/mine", Some(&server), cache.path()).unwrap();
    assert_eq!((opened.facts.items, opened.facts.files[0].bytes), (Some(2), ROWS.len() as u64));
    let asked = server.asked();
    let expected = [
        "GET /api/datasets/me/mine signed".to_owned(),
        format!("GET {resolve} signed"),
        "GET /content/7".to_owned(),
        format!("HEAD {resolve} signed"),
    ];
    assert_eq!(asked, expected, "the token stays with the hub");
    let folder = cache.path().join("datasets--me--mine");
    assert_eq!(fs::read_to_string(folder.join("refs/main")).unwrap(), COMMIT);
    assert_eq!(fs::read_to_string(folder.join("blobs/abc123")).unwrap(), ROWS);
    let file = folder.join("snapshots").join(COMMIT).join("data/train set.jsonl");
    assert_eq!(fs::read_to_string(&file).unwrap(), ROWS);
    assert!(fs::symlink_metadata(&file).unwrap().file_type().is_symlink());
    // From now on nobody is asked.
    let again = opens("hub:me/mine", None, cache.path()).unwrap();
    assert_eq!((again.facts.items, again.facts.kind.as_str()), (Some(2), "custom"));
    let named = opens("custom:hub:me/mine/data/train set.jsonl", None, cache.path()).unwrap();
    assert_eq!(named.facts.files, opened.facts.files);
    assert_eq!(server.asked().len(), asked.len());
}

#[test]
fn a_known_data_set_knows_its_file() {
    let cache = tempfile::tempdir().unwrap();
    let file = "ShareGPT_V3_unfiltered_cleaned_split.json";
    let words = "a few words of talk ".repeat(4);
    let rows = json!([{"conversations": [{"value": words}, {"value": words}]}]).to_string();
    let path = "/datasets/anon8231489123/ShareGPT_Vicuna_unfiltered/resolve/main/\
                ShareGPT_V3_unfiltered_cleaned_split.json";
    let server = Server::start(Pages::from([(path, page(rows))]));
    let error = opens("sharegpt", None, cache.path()).err().unwrap().to_string();
    for part in [
        "anon8231489123/ShareGPT_Vicuna_unfiltered",
        "fetching is switched off",
        "https://huggingface.co/datasets/anon8231489123/ShareGPT_Vicuna_unfiltered/resolve/main/",
        file,
        "name it: sharegpt:PATH/",
    ] {
        assert!(error.contains(part), "{error}");
    }
    for text in [
        "sharegpt",
        "hub:anon8231489123/ShareGPT_Vicuna_unfiltered",
        "hf:anon8231489123/ShareGPT_Vicuna_unfiltered",
    ] {
        let opened = opens(text, Some(&server), cache.path()).unwrap();
        assert_eq!(opened.facts.kind, "sharegpt");
        assert_eq!(opened.facts.files[0].name, file);
        assert_eq!(opened.facts.items, Some(1));
    }
    assert_eq!(server.asked().len(), 2, "one GET and one HEAD: then the cache has it");
}

#[test]
fn what_the_hub_refuses_is_told() {
    let cache = tempfile::tempdir().unwrap();
    let cut = vec![("Content-Length", "1000".to_owned())];
    let server = Server::start(Pages::from([
        ("/api/datasets/me/two", list(&["a.json", "b.csv"])),
        ("/api/datasets/me/none", list(&["README.md"])),
        ("/api/datasets/me/secret", (401, Vec::new(), String::new())),
        ("/api/datasets/me/odd", page("no JSON")),
        ("/api/datasets/me/cut", list(&["rows.jsonl"])),
        ("/datasets/me/cut/resolve/main/rows.jsonl", (200, cut, ROWS.to_owned())),
        ("/api/datasets/me/moved", list(&["../../rows.jsonl"])),
    ]));
    for (name, part) in [
        ("me/two", "its files leave a choice (a.json, b.csv). Name one: hub:me/two/FILE"),
        ("me/none", "its files leave a choice"),
        ("me/secret", "it may not be read; set HF_TOKEN"),
        ("me/odd", "its list of files: expected"),
        ("me/cut", "fetching it failed"),
        ("me/moved", "its files leave a choice ()"),
        ("me/gone", "the hub does not have it"),
        ("me/two/c.json", "the hub does not have it"),
        ("me", "not a name of a data set"),
        ("../x", "not a name of a data set"),
        ("me/two/../x", "not a name of a data set"),
    ] {
        let text = format!("custom:hub:{name}");
        let error = opens(&text, Some(&server), cache.path()).err().unwrap().to_string();
        assert!(error.contains(part), "{name}: {error}");
    }
    let left = fs::read_dir(cache.path().join("datasets--me--cut/blobs")).unwrap().count();
    assert_eq!(left, 0, "what is half fetched is taken away");
    // Nobody listens on the port of a server that is gone.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let gone = Server { address, asked: Arc::default() };
    let error = opens("sharegpt", Some(&gone), cache.path()).err().unwrap().to_string();
    assert!(error.contains("is not on this machine") && error.contains("resolve/main"), "{error}");
}

#[test]
fn shards_are_used_when_all_are_there() {
    let cache = tempfile::tempdir().unwrap();
    let snapshot = cache.path().join("datasets--me--big/snapshots/c0");
    fs::create_dir_all(snapshot.join("data")).unwrap();
    fs::create_dir_all(cache.path().join("datasets--me--big/refs")).unwrap();
    fs::write(cache.path().join("datasets--me--big/refs/main"), "c0\n").unwrap();
    let shard = |number: u32| snapshot.join(format!("data/train-0000{number}-of-00002.jsonl"));
    fs::write(shard(1), "{\"prompt\":\"two\"}\n").unwrap();
    assert!(opens("custom:hub:me/big", None, cache.path()).is_err(), "one is missing");
    fs::write(shard(0), "{\"prompt\":\"one\"}\n").unwrap();
    let opened = opens("custom:hub:me/big", None, cache.path()).unwrap();
    let first = opened.dataset.item(0).unwrap();
    assert_eq!(first.turns[0].prompt.as_text(), Some("one"));
    assert_eq!(opened.facts.files.len(), 2);
}
