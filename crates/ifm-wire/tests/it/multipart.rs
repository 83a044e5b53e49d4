//! Requests that are forms: their parts, the bytes of their files, and what is refused.

use ifm_core::media::Placed;
use ifm_core::spec::Api;
use ifm_core::{Carried, Medium, MediumKind, Message, Prompt, Role};
use ifm_wire::request::{Ask, RequestError, TemplateSpec};
use ifm_wire::{RequestBytes, RequestTemplate};
use serde_json::{Map, Value, json};
use std::sync::Arc;

fn medium(file: &[u8]) -> Medium {
    Medium {
        kind: MediumKind::Audio,
        mime: "audio/flac".to_owned(),
        sha256: [0xab; 32],
        size: None,
        frames: None,
        duration_ns: Some(1),
        file_bytes: Some(file.len() as u64),
        uuid: None,
        detail: None,
        carried: Carried::File(Arc::from(file)),
    }
}

fn message(content: &str, media: &[Medium]) -> Message {
    let placed = |medium: &Medium| Placed { at: 0, medium: Arc::new(medium.clone()) };
    Message { media: media.iter().map(placed).collect(), ..Message::text(Role::User, content) }
}

/// A prompt that is one recording.
pub fn recording(file: &[u8]) -> Prompt {
    Prompt::Messages(vec![message("", &[medium(file)])])
}

fn write(prompt: &Prompt, extra: &Value) -> Result<Vec<u8>, RequestError> {
    let none = Map::new();
    let template = RequestTemplate::new(&TemplateSpec {
        api: Api::Transcriptions,
        host: "h",
        path: "/v1/audio/transcriptions",
        model: "m",
        authorization: None,
        headers: &[],
        stream: false,
        ignore_eos: false,
        temperature: None,
        extra_body: extra.as_object().unwrap_or(&none),
    })?;
    let ask = Ask {
        prompt,
        said: &[],
        said_media: &[],
        output_tokens: None,
        fields: None,
        number: None,
        session: None,
    };
    let mut out = RequestBytes::default();
    template.write(&ask, &mut out)?;
    Ok(out.to_vec())
}

/// The parts of a form, as an object: a text by its name, a file as its name, type and bytes. For a
/// repeated name, all values joined with a plus.
pub fn as_object(head: &str, body: &[u8]) -> Value {
    let mut object = Map::new();
    for (name, value) in parts(head, body) {
        let value = String::from_utf8_lossy(&value).into_owned();
        let all = match object.get(&name) {
            Some(before) => format!("{}+{value}", before.as_str().expect("a text")),
            None => value,
        };
        object.insert(name, all.into());
    }
    object.into()
}

/// The parts by RFC 2046: name and bytes. The bytes of a file follow its name and type.
fn parts(head: &str, body: &[u8]) -> Vec<(String, Vec<u8>)> {
    let line = head.lines().find(|line| line.starts_with("Content-Type: multipart/form-data"));
    let boundary = line.and_then(|line| line.split_once("boundary=")).expect("a boundary").1;
    assert!(boundary.len() <= 70, "{boundary}");
    let divider = format!("--{boundary}").into_bytes();
    let starts: Vec<usize> =
        (0..body.len()).filter(|at| body[*at..].starts_with(&divider)).collect();
    assert_eq!(starts.first(), Some(&0));
    assert!(body.ends_with(format!("\r\n--{boundary}--\r\n").as_bytes()));
    let of_pair = |pair: &[usize]| {
        let part = &body[pair[0] + divider.len() + 2..pair[1] - 2];
        let end = part.windows(4).position(|it| it == b"\r\n\r\n").expect("a head");
        let head = std::str::from_utf8(&part[..end]).expect("a text");
        let of = |key: &str| {
            let rest = head.split_once(&format!("{key}=\""))?.1;
            rest.split_once('"').map(|(value, _)| value.to_owned())
        };
        let mut value = Vec::new();
        if let Some(file) = of("filename") {
            let kind = head.split_once("Content-Type: ").expect("a type").1;
            value.extend(format!("{file} {kind} ").into_bytes());
        }
        value.extend(&part[end + 4..]);
        (of("; name").expect("a name"), value)
    };
    starts.windows(2).map(of_pair).collect()
}

#[test]
fn a_file_goes_as_it_is_whatever_bytes_it_holds() {
    let mut file: Vec<u8> = (0..=255).cycle().take(5000).collect();
    file.extend(b"\r\n--ifm-\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nx\r\n");
    let request = write(&recording(&file), &json!({"prompt": "é \"x\""})).expect("a request");
    let end = request.windows(4).position(|it| it == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8(request[..end].to_vec()).expect("a text");
    let body = &request[end + 4..];
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length:"));
    assert_eq!(length.map(|length| length.trim().parse()), Some(Ok(body.len())));
    assert_eq!(head.matches("Content-Type").count(), 1, "{head}");
    let mut parts = parts(&head, body);
    let sent = parts.pop().expect("a file");
    assert_eq!(
        sent,
        ("file".to_owned(), [b"recording.flac audio/flac ", file.as_slice()].concat())
    );
    let texts = [("model", "m"), ("prompt", "é \"x\"")];
    assert_eq!(parts, texts.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())));
}

#[test]
fn prompts_that_are_not_one_recording_are_refused_in_words() {
    let audio = medium(b"a");
    let image = Medium { kind: MediumKind::Image, ..audio.clone() };
    let base64 =
        Medium { carried: Carried::Base64(Arc::from(b"YQ==".as_slice())), ..audio.clone() };
    let one = |content: &str, media: &[Medium]| Prompt::Messages(vec![message(content, media)]);
    for (prompt, kind) in [
        (Prompt::Text("a".to_owned()), "a text"),
        (Prompt::Tokens(vec![1]), "token ids"),
        (one("a", &[]), "a text"),
        (one("a", std::slice::from_ref(&audio)), "a text with media"),
        (one("", &[audio.clone(), audio.clone()]), "several media"),
        (one("", &[image]), "no recording"),
        (one("", &[base64]), "a recording that is not sent as a file"),
        (Prompt::Messages(vec![message("", &[]), message("", &[audio])]), "a conversation"),
    ] {
        let error = write(&prompt, &json!({})).expect_err(kind);
        assert_eq!(error, RequestError::NoRecording { api: "transcriptions", kind });
        assert!(error.to_string().contains("takes one recording"), "{error}");
    }
    for format in ["text", "srt", "vtt"] {
        let error = write(&recording(b"a"), &json!({"response_format": format})).expect_err(format);
        assert!(error.to_string().contains(format), "{error}");
    }
    let error = write(&recording(b"a"), &json!({"file": "x"})).expect_err("the file is ours");
    assert_eq!(error, RequestError::PromptField("file"));
}
