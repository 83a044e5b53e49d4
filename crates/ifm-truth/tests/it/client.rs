//! The plainest of clients: blocking sockets of the standard library.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// What came back.
pub struct Reply {
    /// Every byte, head included.
    pub bytes: Vec<u8>,
    /// How reading ended; `Ok` also when the wanted bytes were there.
    pub end: Result<(), ErrorKind>,
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    // Only so that a broken server fails the test instead of hanging it.
    stream.set_read_timeout(Some(Duration::from_secs(600))).unwrap();
    stream
}

/// Reads up to `wanted` bytes, or to the end.
pub fn read(stream: &mut TcpStream, wanted: usize) -> (Vec<u8>, Result<(), ErrorKind>) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 65536];
    while bytes.len() < wanted {
        match stream.read(&mut buffer) {
            Ok(0) => return (bytes, Ok(())),
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) => return (bytes, Err(error.kind())),
        }
    }
    (bytes, Ok(()))
}

/// Posts a body and reads up to `wanted` bytes of the answer.
pub fn ask_on(stream: &mut TcpStream, path: &str, body: &str, wanted: usize) -> Reply {
    let length = body.len();
    let request =
        format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).unwrap();
    let (bytes, end) = read(stream, wanted);
    Reply { bytes, end }
}

/// The same on a connection of its own.
pub fn ask(address: SocketAddr, path: &str, body: &str, wanted: usize) -> Reply {
    ask_on(&mut connect(address), path, body, wanted)
}
