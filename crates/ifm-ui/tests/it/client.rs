//! A page over a store, and the smallest client that can ask it anything, also what no browser
//! would.

use crate::runs::Shelf;
use ifm_ui::{Shutdown, Ui, UiOptions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::thread::JoinHandle;

/// A page that is served until the test ends.
pub struct Page {
    pub shelf: Shelf,
    pub address: SocketAddr,
    pub url: String,
    stop: Shutdown,
    session: OnceLock<String>,
    thread: Option<JoinHandle<()>>,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    /// The value of a header line.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Page {
    pub fn over(shelf: Shelf) -> Page {
        let ui = Ui::bind(UiOptions::new(shelf.store.clone(), "0.0-test")).unwrap();
        let (address, url, stop) = (ui.address(), ui.url(), Shutdown::new());
        let thread = {
            let stop = stop.clone();
            std::thread::spawn(move || ui.serve(&stop).unwrap())
        };
        Page { shelf, address, url, stop, session: OnceLock::new(), thread: Some(thread) }
    }

    /// Sends bytes as they are and reads until the other side closes.
    pub fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        // The other side may answer and close before it has read all.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// A request with these header lines and nothing else.
    pub fn bare(&self, method: &str, target: &str, lines: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut request = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in lines {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        self.raw(&[request.as_bytes(), body].concat())
    }

    /// What the printed address gives: the cookie of the session.
    pub fn session(&self) -> String {
        self.session.get_or_init(|| self.begin_session()).clone()
    }

    fn begin_session(&self) -> String {
        let target = self.url.split_once(&self.address.to_string()).unwrap().1;
        let answer = self.bare("GET", target, &[("Host", &self.address.to_string())], b"");
        assert_eq!(answer.status, 303, "{answer:?}");
        assert_eq!(answer.header("location"), Some("/"));
        let cookie = answer.header("set-cookie").unwrap();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        cookie.split(';').next().unwrap().to_owned()
    }

    /// A page, as a browser with a session asks for it.
    pub fn get(&self, target: &str) -> Answer {
        let host = self.address.to_string();
        self.bare("GET", target, &[("Host", &host), ("Cookie", &self.session())], b"")
    }

    /// The secret that forms of the page hold.
    pub fn csrf(&self) -> String {
        let page = self.get("/").body;
        let (_, rest) = page.split_once("name=\"csrf\" content=\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    }

    /// A form, as a page of ours sends it.
    pub fn post(&self, target: &str, fields: &[(&str, &str)]) -> Answer {
        let csrf = self.csrf();
        let mut all = vec![("csrf", csrf.as_str())];
        all.extend(fields);
        self.form(target, &all, &format!("http://{}", self.address))
    }

    /// A form from an origin.
    pub fn form(&self, target: &str, fields: &[(&str, &str)], origin: &str) -> Answer {
        let escaped =
            |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
        let fields: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
        let lines = [
            ("Host", self.address.to_string()),
            ("Cookie", self.session()),
            ("Origin", origin.to_owned()),
            ("Content-Type", "application/x-www-form-urlencoded".to_owned()),
        ];
        let lines: Vec<(&str, &str)> =
            lines.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.bare("POST", target, &lines, fields.join("&").as_bytes())
    }

    /// Files, as the script of our pages sends them.
    pub fn send(&self, files: &[(&str, &[u8])]) -> Answer {
        let mut body = Vec::new();
        for (name, content) in files {
            let head = format!(
                "--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
            );
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(content);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"--edge--\r\n");
        let lines = [
            ("Host", self.address.to_string()),
            ("Cookie", self.session()),
            ("Origin", format!("http://{}", self.address)),
            ("X-Csrf-Token", self.csrf()),
            ("Hx-Request", "true".to_owned()),
            ("Content-Type", "multipart/form-data; boundary=edge".to_owned()),
        ];
        let lines: Vec<(&str, &str)> =
            lines.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.bare("POST", "/import", &lines, &body)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.stop.request();
        if let Some(thread) = self.thread.take() {
            // A panic in it has been printed.
            let _ = thread.join();
        }
    }
}
