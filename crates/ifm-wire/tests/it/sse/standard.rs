//! A slow reader, written from the text of the standard line by line, and the verdict on ours.

use ifm_wire::sse::EventReader;

/// An event: payload, type, and the offset just behind the last byte of its last data line.
#[derive(Debug, Clone, PartialEq)]
pub struct Dispatched {
    pub data: String,
    pub event_type: String,
    pub end: usize,
}

/// Decodes as "UTF-8 decode" does: one byte-order mark at the start is dropped, what is not UTF-8
/// becomes U+FFFD. Each character comes with the offset just behind it.
fn decode(bytes: &[u8]) -> Vec<(char, usize)> {
    let mut end = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut characters = Vec::new();
    for chunk in bytes[end..].utf8_chunks() {
        for character in chunk.valid().chars() {
            end += character.len_utf8();
            characters.push((character, end));
        }
        if !chunk.invalid().is_empty() {
            end += chunk.invalid().len();
            characters.push(('\u{fffd}', end));
        }
    }
    characters
}

/// The lines that have an end, each with the offset behind its last character.
fn lines(bytes: &[u8]) -> Vec<(String, usize)> {
    let characters = decode(bytes);
    let mut lines = Vec::new();
    let (mut line, mut end) = (String::new(), 0);
    let mut position = 0;
    while let Some(&(character, behind)) = characters.get(position) {
        position += 1;
        if character == '\r' || character == '\n' {
            if character == '\r' && characters.get(position).is_some_and(|next| next.0 == '\n') {
                position += 1;
            }
            lines.push((std::mem::take(&mut line), end));
        } else {
            line.push(character);
            end = behind;
        }
    }
    lines
}

/// What a user agent dispatches.
pub fn interpret(bytes: &[u8]) -> Vec<Dispatched> {
    let mut dispatched = Vec::new();
    let (mut data, mut event_type, mut data_end) = (String::new(), String::new(), 0);
    for (line, end) in lines(bytes) {
        if line.is_empty() {
            if data.is_empty() {
                event_type.clear();
                continue;
            }
            if data.ends_with('\n') {
                data.pop();
            }
            dispatched.push(Dispatched {
                data: std::mem::take(&mut data),
                event_type: std::mem::take(&mut event_type),
                end: data_end,
            });
        } else if line.starts_with(':') {
            // A comment.
        } else {
            let (field, value) = match line.find(':') {
                Some(colon) => (&line[..colon], &line[colon + 1..]),
                None => (line.as_str(), ""),
            };
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => event_type = value.to_owned(),
                "data" => {
                    data.push_str(value);
                    data.push('\n');
                    data_end = end;
                }
                // `id` and `retry` change nothing in an event's payload; others are unknown.
                _ => {}
            }
        }
    }
    dispatched
}

/// The read that brought the byte before this offset.
fn read_of(parts: &[Vec<u8>], offset: usize) -> u64 {
    let mut end = 0;
    let within = |part: &Vec<u8>| {
        end += part.len();
        offset <= end
    };
    parts.iter().position(within).expect("an offset within the stream") as u64
}

/// What is wrong with our reading of these pieces of a stream, in words.
pub fn complaint(bytes: &[u8], parts: &[Vec<u8>]) -> Option<String> {
    let mut reader = EventReader::default();
    let mut seen = Vec::new();
    for (position, part) in parts.iter().enumerate() {
        let result = reader.feed(part, position as u64, &mut |event| {
            let data = String::from_utf8_lossy(event.data).into_owned();
            seen.push((data, event.is_error, event.at_ns));
        });
        if let Err(error) = result {
            return Some(error.to_string());
        }
    }
    let expect: Vec<(String, bool, u64)> = interpret(bytes)
        .into_iter()
        .filter(|event| !event.data.is_empty() || event.event_type == "error")
        .map(|event| {
            let at = read_of(parts, event.end);
            (event.data, event.event_type == "error", at)
        })
        .collect();
    let text = String::from_utf8_lossy(bytes);
    (seen != expect).then(|| format!("{text:?}\n  ours {seen:?}\n  standard {expect:?}"))
}
