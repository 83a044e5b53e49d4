//! The process of a server from the kernel: which process listens on a port, and its command line.

use ifm_core::facts::ServerProcess;
use ifm_terminal::exit::Failure;
use ifm_terminal::secrets::mask_flags;
use std::fs;
use std::path::Path;

/// Maximum number of words of a command line, and of characters per word.
const WORDS_MAX: usize = 512;
const CHARS_MAX: usize = 4096;
/// The state of a listening socket in the kernel's table.
const LISTENING: &str = "0A";

/// The process with this id.
///
/// # Errors
/// There is no such process, or its command line cannot be read.
pub fn of_process(pid: u32) -> Result<ServerProcess, Failure> {
    let command = command(pid).ok_or_else(|| {
        Failure::usage(format!("there is no process {pid} whose command line can be read"))
            .hint("name the server's own process, as the same user or as root")
    })?;
    Ok(ServerProcess { pid: Some(pid), command, ..ServerProcess::default() })
}

/// The process that listens on a port of this host; absent if it belongs to another user or is in
/// another network.
pub fn listening_on(port: u16) -> Option<ServerProcess> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let texts = tables.iter().filter_map(|table| fs::read_to_string(table).ok());
    let sockets: Vec<String> = texts.flat_map(|text| sockets(&text, port)).collect();
    if sockets.is_empty() {
        return None;
    }
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let pid = ids.find(|pid| holds(Path::new("/proc"), *pid, &sockets))?;
    of_process(pid).ok()
}

/// Whether a process has one of these sockets open.
fn holds(root: &Path, pid: u32, sockets: &[String]) -> bool {
    let Ok(files) = fs::read_dir(root.join(pid.to_string()).join("fd")) else { return false };
    files.flatten().filter_map(|file| fs::read_link(file.path()).ok()).any(|target| {
        let target = target.to_string_lossy();
        let socket = target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
        socket.is_some_and(|socket| sockets.iter().any(|known| known == socket))
    })
}

/// Numbers of the sockets that listen on a port, from the kernel's table of connections.
fn sockets(table: &str, port: u16) -> Vec<String> {
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (_, local_port) = words.get(1)?.rsplit_once(':')?;
        let is_meant =
            u16::from_str_radix(local_port, 16) == Ok(port) && words.get(3) == Some(&LISTENING);
        is_meant.then(|| words.get(9).map(|socket| (*socket).to_owned()))?
    };
    table.lines().skip(1).filter_map(of_line).collect()
}

/// The words of a process, without secrets.
fn command(pid: u32) -> Option<Vec<String>> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let words = text.trim_end_matches('\0').split('\0').take(WORDS_MAX);
    let words: Vec<String> = words.map(|word| word.chars().take(CHARS_MAX).collect()).collect();
    let is_told = words.iter().any(|word| !word.is_empty());
    is_told.then(|| mask_flags(&words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening_sockets_are_read_from_the_table() {
        let table = "  sl  local_address rem_address st tx_queue tr tm retrnsmt uid timeout inode\n\
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1\n\
            1: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000 0 0 4712 1\n\
            2: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4713 1\n";
        assert_eq!(sockets(table, 8080), ["4711"]);
        assert!(sockets(table, 80).is_empty() && sockets("", 8080).is_empty());
    }

    #[test]
    fn the_listener_on_a_port_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let found = listening_on(port).expect("this process");
        assert_eq!(found.pid, Some(std::process::id()));
        assert!(!found.command.is_empty());
        assert!(of_process(u32::MAX).is_err());
    }
}
