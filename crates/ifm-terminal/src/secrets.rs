//! Redaction of secrets before storing and showing: in headers, body fields and command lines, and
//! in a server's messages that repeat them.
//!
//! Not here: which names are secret (`ifm-wire`).

use ifm_core::RequestRecord;
use ifm_core::facts::ServerProcess;
use ifm_core::manifest::ServerInfo;
use ifm_core::order::Order as _;
use ifm_wire::Answer;
use ifm_wire::request::{MASK, SECRET_CHARS_MIN, is_secret_field, is_secret_header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// Words before the key in the value of a header.
const SCHEMES: [&str; 2] = ["Bearer", "Basic"];
/// Quotes around a word of a command for a shell.
const QUOTES: [char; 2] = ['"', '\''];
/// Beginnings of keys of well-known services, which no other word of some length has.
const KEY_STARTS: [&str; 15] = [
    "hf_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "nvapi-",
    "gsk_",
    "xai-",
    "xoxb-",
    "xoxp-",
    "AIza",
    "AKIA",
    "eyJ",
];
/// What separates a key from the rest of a word, such as of a path or a tag.
const SEPARATORS: [char; 14] =
    ['=', ':', '/', ',', ';', '?', '&', '#', '"', '\'', '{', '}', '[', ']'];
/// Characters after such a beginning.
const KEY_CHARS_MIN: usize = 16;

/// Shortest word of a value of several words that is blotted out by itself, and shortest beginning
/// of a secret, where the rest of it was cut off.
const PART_MIN: usize = 8;

/// The secrets of a run: the API key, values of headers, and texts of body fields.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// Longest first, so that a whole value is redacted before a part of it.
    known: Vec<Vec<char>>,
}

impl Secrets {
    /// The secrets in what is sent with each request. `authorization` is the value of that header.
    pub fn new(
        authorization: Option<&str>,
        headers: &[(String, String)],
        body: &Map<String, Value>,
    ) -> Secrets {
        let mut secrets = Secrets::default();
        let secret = headers.iter().filter(|(name, _)| is_secret_header(name));
        secret.for_each(|(_, value)| secrets.add(value));
        authorization.into_iter().for_each(|value| secrets.add(value));
        secrets.add_fields(body);
        secrets.sorted()
    }

    /// The secrets of a command: values of its environment, and of flags among its words, with names
    /// that indicate a secret.
    pub fn of_command(
        words: &[String],
        environment: impl Iterator<Item = (String, String)>,
    ) -> Secrets {
        let mut secrets = Secrets::default();
        environment
            .filter(|(name, _)| is_secret_name(name))
            .for_each(|(_, value)| secrets.add(&value));
        secrets.with_words(words)
    }

    /// These, and the value of the `Authorization` header.
    pub fn with_authorization(mut self, value: Option<&str>) -> Secrets {
        value.into_iter().for_each(|value| self.add(value));
        self.sorted()
    }

    /// These, and those in the words of a command line: values of flags with names that indicate a
    /// secret, of headers, and in URLs passwords and query fields.
    pub fn with_words(mut self, words: &[String]) -> Secrets {
        // A command for a shell is one word, and quotes in it are no part of a value.
        let inner = words.iter().flat_map(|word| word.split_whitespace());
        let inner: Vec<&str> = inner.map(|word| word.trim_matches(QUOTES)).collect();
        let joined = inner.iter().filter_map(|word| word.split_once('='));
        let apart = inner.iter().copied().zip(inner.iter().copied().skip(1));
        let apart = apart.filter(|(flag, value)| {
            flag.starts_with("--") && !flag.contains('=') && !value.starts_with("--")
        });
        // `X-Api-Key: …` and `X-Api-Key:…`, of a command that sends requests itself.
        let fields = inner.iter().filter_map(|word| word.split_once(':'));
        let fields_apart = inner.iter().zip(inner.iter().skip(1));
        let fields_apart =
            fields_apart.filter_map(|(name, value)| Some((name.strip_suffix(':')?, *value)));
        let named = joined.chain(apart).chain(fields).chain(fields_apart);
        let named = named.filter(|(name, _)| is_secret_name(name.trim_start_matches(QUOTES)));
        let values = named.map(|(_, value)| value.trim_matches(QUOTES));
        values.filter(|value| !SCHEMES.contains(value)).for_each(|value| self.add(value));
        inner.iter().filter(|word| has_key_form(word)).for_each(|word| self.add(word));
        let pieces = inner.iter().flat_map(|word| word.split(SEPARATORS));
        pieces.filter(|piece| is_key(piece)).for_each(|piece| self.add(piece));
        for word in words {
            url_secrets(word).iter().for_each(|range| self.add(&word[range.clone()]));
            for scheme in SCHEMES {
                for key in word.split(&format!("{scheme} ")).skip(1) {
                    let key = key.split(QUOTES).next().unwrap_or(key);
                    self.add(key.split_whitespace().next().unwrap_or(key));
                }
            }
        }
        self.sorted()
    }

    fn sorted(mut self) -> Secrets {
        self.known.order_by_key(|secret| std::cmp::Reverse(secret.len()));
        self.known.dedup();
        self
    }

    /// A value, and its parts that a server may repeat alone: the key after `Bearer`, the value of
    /// a cookie.
    fn add(&mut self, value: &str) {
        let words: Vec<&str> =
            value.split([' ', '\t', ';', ',', '=', ':']).filter(|word| !word.is_empty()).collect();
        let key = value.split_once(' ').map_or(value, |(_scheme, key)| key.trim());
        let whole = [value.trim(), key].into_iter().map(|text| (text, SECRET_CHARS_MIN));
        for (text, least) in whole.chain(words.into_iter().map(|word| (word, PART_MIN))) {
            let text: Vec<char> = text.chars().collect();
            if text.len() >= least {
                self.known.push(text);
            }
        }
    }

    fn add_fields(&mut self, fields: &Map<String, Value>) {
        for (name, value) in fields {
            self.add_value(name, value);
        }
    }

    fn add_value(&mut self, name: &str, value: &Value) {
        match value {
            Value::String(text) if is_secret_field(name) || has_key_form(text) => self.add(text),
            Value::Object(fields) => self.add_fields(fields),
            Value::Array(items) => items.iter().for_each(|item| self.add_value(name, item)),
            _ => {}
        }
    }

    /// The text with its secrets redacted, however they are escaped, including the beginnings of
    /// secrets that were cut off.
    pub fn blot<'text>(&self, text: &'text str) -> Cow<'text, str> {
        if self.known.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut clean = String::new();
        let (mut kept, mut at) = (0, 0);
        while at < text.len() {
            let rest = &text[at..];
            match self.known.iter().filter_map(|secret| found(rest, secret)).max() {
                Some(used) => {
                    clean.push_str(&text[kept..at]);
                    clean.push_str(MASK);
                    at += used;
                    kept = at;
                }
                None => at += rest.chars().next().map_or(1, char::len_utf8),
            }
        }
        if kept == 0 {
            return Cow::Borrowed(text);
        }
        clean.push_str(&text[kept..]);
        Cow::Owned(clean)
    }

    /// A document with the secrets in its texts redacted. Secrets shorter than eight characters stay, since
    /// they may be words. If the result is not valid JSON, the original is returned: the store does not
    /// keep it.
    pub fn blot_document<T: Serialize + DeserializeOwned>(&self, document: T) -> T {
        let long = self.without_words();
        if long.known.is_empty() {
            return document;
        }
        let Ok(mut value) = serde_json::to_value(&document) else { return document };
        long.blot_value(&mut value);
        serde_json::from_value(value).unwrap_or(document)
    }

    /// Those that are long enough to be no words of a sentence.
    pub fn without_words(&self) -> Secrets {
        let long = self.known.iter().filter(|secret| secret.len() >= PART_MIN);
        Secrets { known: long.cloned().collect() }
    }

    /// These and others.
    pub fn and(mut self, others: &Secrets) -> Secrets {
        self.known.extend(others.known.iter().cloned());
        self.sorted()
    }

    fn blot_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.blot_in(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.blot_value(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.blot_value(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Words with the secrets in them redacted.
    pub fn blot_words(&self, words: &[String]) -> Vec<String> {
        words.iter().map(|word| self.blot(word).into_owned()).collect()
    }

    fn blot_in(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.blot(text) {
            *text = clean;
        }
    }

    /// Redacts secrets that a record repeats from the server's messages.
    pub fn blot_record(&self, record: &mut RequestRecord) {
        let texts = [&mut record.error, &mut record.finish_reason, &mut record.text];
        texts.into_iter().flatten().for_each(|text| self.blot_in(text));
    }

    /// Redacts secrets that an answer repeats from the server's messages, without its text.
    pub fn blot_answer(&self, answer: &mut Answer) {
        let texts = [&mut answer.error, &mut answer.finish_reason];
        texts.into_iter().flatten().for_each(|text| self.blot_in(text));
    }

    /// Redacts secrets in a server process's output.
    pub fn blot_process(&self, server: &mut ServerProcess) {
        let texts = server.command.iter_mut().chain(server.notes.values_mut());
        texts.for_each(|text| self.blot_in(text));
    }

    /// Redacts secrets in what a server reports about itself.
    pub fn blot_server(&self, server: &mut ServerInfo) {
        let ServerInfo { kind: _, version, server_header, models, context_tokens: _, notes } =
            server;
        let texts = [version, server_header].into_iter().flatten();
        texts.chain(models).chain(notes.values_mut()).for_each(|text| self.blot_in(text));
    }
}

/// Whether a flag, variable or query field with this name is secret.
fn is_secret_name(name: &str) -> bool {
    let name = name.trim_start_matches('-').replace('-', "_").to_ascii_lowercase();
    // `--api-key-env` names a variable, `--ssl-keyfile` a file.
    if ["env", "file"].iter().any(|end| name.ends_with(end)) {
        return false;
    }
    is_secret_field(&name) || is_secret_field(&name.replace('_', "")) || name.ends_with("token")
}

/// Where the URLs in a word hold secrets: user names and passwords, and values of secret fields of
/// their queries.
fn url_secrets(word: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (scheme, mark) in word.match_indices("://") {
        let start = scheme + mark.len();
        let ends = word[start..].find([' ', '"', '\'', '\t', '\n']);
        let end = ends.map_or(word.len(), |at| start + at);
        found.extend(secrets_of_url(&word[start..end]).map(|it| it.start + start..it.end + start));
    }
    found
}

/// The same of one URL without its scheme.
fn secrets_of_url(url: &str) -> impl Iterator<Item = Range<usize>> {
    let mut found = Vec::new();
    let end = url.find(['/', '?', '#']).unwrap_or(url.len());
    if let Some(at) = url[..end].rfind('@') {
        found.push(0..at);
    }
    let query = url.find('?').map_or(url.len(), |at| at + 1);
    let mut at = end;
    for part in url[end..query].split(['/', '?']) {
        if is_key(part) {
            found.push(at..at + part.len());
        }
        at += part.len() + 1;
    }
    let mut at = query;
    for field in url[query..].split(['&', '#']) {
        if let Some((name, value)) = field.split_once('=')
            && (is_secret_name(name) || is_key(value))
        {
            found.push(at + name.len() + 1..at + name.len() + 1 + value.len());
        }
        at += field.len() + 1;
    }
    found.into_iter()
}

/// A word without the secrets of the URLs in it.
pub fn mask_url(word: &str) -> String {
    let mut masked = word.to_owned();
    for range in url_secrets(word).into_iter().rev() {
        masked.replace_range(range, MASK);
    }
    masked
}

/// The words of a server's command line as stored: values of flags with names that indicate a
/// secret are masked, and so is what follows them.
pub fn mask_flags(words: &[String]) -> Vec<String> {
    let is_secret = |flag: &str| flag.starts_with('-') && is_secret_name(flag);
    let mut was_flag = false;
    let masked = words.iter().map(|word| {
        let is_value = std::mem::take(&mut was_flag) && !word.starts_with("--");
        match word.split_once('=') {
            _ if is_value => MASK.to_owned(),
            Some((flag, _)) if is_secret(flag) => format!("{flag}={MASK}"),
            None if is_secret(word) => {
                was_flag = true;
                word.clone()
            }
            _ if has_key_form(word) => MASK.to_owned(),
            // A command for a shell is one word.
            _ if word.contains(' ') => {
                let inner: Vec<String> = word.split(' ').map(str::to_owned).collect();
                mask_flags(&inner).join(" ")
            }
            _ => mask_url(word),
        }
    });
    masked.collect()
}

/// The words of any command as they are shown: of a command of this program, of a server, or of a
/// shell.
pub fn mask_words(words: &[String]) -> Vec<String> {
    Secrets::default().with_words(words).blot_words(&mask_flags(&mask_command(words)))
}

/// How many bytes at the beginning of the text are the secret, or a beginning of it that is long
/// enough to be no chance.
fn found(text: &str, secret: &[char]) -> Option<usize> {
    let (mut used, mut matched) = (0, 0);
    while matched < secret.len() {
        let Some(length) = written(&text[used..], secret[matched]) else { break };
        used += length;
        matched += 1;
    }
    (matched == secret.len() || matched >= PART_MIN).then_some(used)
}

/// How many bytes at the start of the text are this character: escaped as in JSON, a URL or HTML, or
/// unescaped.
fn written(text: &str, wanted: char) -> Option<usize> {
    let plain = text.trim_start_matches('\\');
    let slashes = text.len() - plain.len();
    if wanted == '\\' && slashes > 0 {
        return Some(if slashes > 1 { 2 } else { 1 });
    }
    let is_escaped = slashes > 0 && plain.starts_with('u');
    let (meant, length) = match plain.chars().next()? {
        'u' if is_escaped => (numbered(plain.get(1..5), 16), 5),
        '%' => (numbered(plain.get(1..3), 16), 3),
        '&' => entity(plain),
        _ => (None, 0),
    };
    if meant == Some(wanted) {
        return Some(slashes + length);
    }
    plain.starts_with(wanted).then_some(slashes + wanted.len_utf8())
}

fn numbered(digits: Option<&str>, radix: u32) -> Option<char> {
    char::from_u32(u32::from_str_radix(digits?, radix).ok()?)
}

/// The character of an HTML entity, and its number of bytes.
fn entity(text: &str) -> (Option<char>, usize) {
    let Some((name, _)) = text.strip_prefix('&').and_then(|rest| rest.split_once(';')) else {
        return (None, 0);
    };
    let meant = match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => match name.strip_prefix("#x").or(name.strip_prefix("#X")) {
            Some(digits) => numbered(Some(digits), 16),
            None => numbered(name.strip_prefix('#'), 10),
        },
    };
    (meant, name.len() + 2)
}

/// Headers as stored.
pub fn masked(headers: &[(String, String)]) -> BTreeMap<String, String> {
    headers
        .iter()
        .map(|(name, value)| {
            let shown = if is_secret_header(name) { MASK } else { value.as_str() };
            (name.clone(), shown.to_owned())
        })
        .collect()
}

/// Fields of the body as stored: texts under names that indicate a secret are masked, at any depth.
pub fn masked_fields(fields: &Map<String, Value>) -> Map<String, Value> {
    let shown = |name: &String| if is_key(name) { MASK.to_owned() } else { name.clone() };
    fields.iter().map(|(name, value)| (shown(name), masked_value(name, value))).collect()
}

fn masked_value(name: &str, value: &Value) -> Value {
    match value {
        Value::String(text) if is_secret_field(name) || has_key_form(text) => Value::from(MASK),
        Value::Object(fields) => Value::Object(masked_fields(fields)),
        Value::Array(items) => items.iter().map(|item| masked_value(name, item)).collect(),
        other => other.clone(),
    }
}

/// Whether a text has the form of a key, whatever its name.
fn has_key_form(text: &str) -> bool {
    ["Bearer ", "Basic ", "sk-"].iter().any(|start| text.starts_with(start)) || is_key(text)
}

/// Whether a text is a key of a well-known service from its first character to its last.
fn is_key(text: &str) -> bool {
    let is_key = |start: &&str| {
        text.strip_prefix(*start).is_some_and(|rest| {
            rest.len() >= KEY_CHARS_MIN
                && rest.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        })
    };
    ["sk-"].iter().chain(&KEY_STARTS).any(is_key)
}

/// What follows `-H` in a word of short flags, such as `-vHName: value`.
fn short_header(word: &str) -> Option<(&str, &str)> {
    let flags = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    let at = flags.find('H').filter(|at| flags[..*at].chars().all(|c| c.is_ascii_lowercase()))?;
    Some(word.split_at(at + 2))
}

/// The command line as stored: values of headers and body fields that look secret are masked.
pub fn mask_command(words: &[String]) -> Vec<String> {
    let header = |text: &str| match text.split_once(':') {
        Some((name, _)) if is_secret_header(name.trim()) => format!("{name}: {MASK}"),
        _ => text.to_owned(),
    };
    let of_session = |text: &str| match text.split_once('=') {
        Some((name, _)) if is_secret_header(name.trim()) => format!("{name}={MASK}"),
        _ => text.to_owned(),
    };
    let body = |text: &str| match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(fields) if masked_fields(&fields) != fields => {
            Value::Object(masked_fields(&fields)).to_string()
        }
        _ => text.to_owned(),
    };
    let mut masked = Vec::with_capacity(words.len());
    let mut flag = "";
    for word in words {
        let joined = word.split_once('=');
        let shown = match (flag, joined) {
            ("-H" | "--header", _) => header(word),
            ("--header-per-session", _) => of_session(word),
            ("--extra-body" | "--extra-request-body", _) => body(word),
            (_, Some((name @ "--header", value))) => format!("{name}={}", header(value)),
            (_, Some((name @ "--header-per-session", value))) => {
                format!("{name}={}", of_session(value))
            }
            (_, Some((name @ ("--extra-body" | "--extra-request-body"), value))) => {
                format!("{name}={}", body(value))
            }
            _ => match short_header(word) {
                Some((flags, value)) => format!("{flags}{}", header(value)),
                None => mask_url(word),
            },
        };
        let names = ["--header", "--header-per-session", "--extra-body", "--extra-request-body"];
        let is_header = short_header(word).is_some_and(|(_, value)| value.is_empty());
        flag = match flag.is_empty() {
            true if is_header => "-H",
            true if names.contains(&word.as_str()) => word,
            _ => "",
        };
        masked.push(shown);
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(authorization: &str, headers: &[(&str, &str)]) -> Secrets {
        let headers: Vec<(String, String)> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let body = serde_json::json!({"proxy": [{"api_key": "body-secret-5"}], "model": "m"});
        Secrets::new(Some(authorization), &headers, body.as_object().unwrap())
    }

    #[test]
    fn what_a_server_repeats_is_blotted_out_however_it_is_written() {
        let secrets = secrets(
            "Bearer sk-a/b+c\"d&e-0123456789",
            &[("X-Key", "abcd"), ("Cookie", "session=0a1b2c3d4e; x=1"), ("X-Request-Id", "my-id")],
        );
        let blotted = |text: &str| secrets.blot(text).into_owned();
        for written in [
            "sk-a/b+c\"d&e-0123456789",
            "Bearer sk-a/b+c\"d&e-0123456789",
            r#"sk-a/b+c\"d&e-0123456789"#,
            r#"sk-a\/b+c\\\"d&e-0123456789"#,
            r#"sk-a/b\u002Bc\u0022d\u0026e-0123456789"#,
            "sk-a%2Fb%2bc%22d%26e-0123456789",
            "sk-a/b+c&quot;d&amp;e-0123456789",
            "sk-a/b&#43;c&#34;d&#x26;e-0123456789",
            "abcd",
            "session=0a1b2c3d4e; x=1",
            "0a1b2c3d4e",
            "body-secret-5",
            // Cut off by a limit on the length of the sentence.
            "sk-a/b+c\"d&e-01",
            "sk-a/b+c",
        ] {
            assert_eq!(blotted(&format!("no: é{written}é")), "no: é***é", "{written}");
        }
        for innocent in ["", "no key", "Bearer token is missing", "x=1", "my-id", "sk-a/b is none"]
        {
            assert!(matches!(secrets.blot(innocent), Cow::Borrowed(_)), "{innocent}");
        }
        assert_eq!(blotted("abcd and abcdabcd"), "*** and ******");
        assert!(matches!(Secrets::default().blot("abcd"), Cow::Borrowed("abcd")));
    }

    #[test]
    fn a_command_keeps_no_secret_of_its_flags_or_environment() {
        let words =
            ["train", "--hf-token", "hf_0123456", "--api_key=sk-98765", "--max-tokens", "4096"];
        let environment = [("WANDB_API_KEY", "wandb-1234"), ("HOME", "/home/user")];
        let own = |text: &&str| (*text).to_owned();
        let secrets = Secrets::of_command(
            &words.iter().map(own).collect::<Vec<_>>(),
            environment.iter().map(|(name, value)| (own(name), own(value))),
        );
        let text = "hf_0123456 sk-98765 wandb-1234 4096 /home/user";
        assert_eq!(secrets.blot(text), "*** *** *** 4096 /home/user");
    }

    #[test]
    fn a_short_key_is_blotted_out_and_a_short_word_of_a_value_is_not() {
        let secrets = secrets("Bearer pass", &[("X-Mode", "a"), ("X-Note", "fast and good")]);
        assert_eq!(secrets.blot("a fast pass"), "a fast ***");
    }

    #[test]
    fn a_servers_command_is_kept_without_its_keys() {
        let line = "vllm serve m --api-key sk-1 --hf-token=sk-2 --hf-token sk-3 --api-key --port 80 \
                    --max-num-batched-tokens 2048 --tokenizer t --ssl-keyfile f";
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let text = mask_flags(&words).join(" ");
        assert!(!text.contains("sk-"), "{text}");
        assert!(text.contains("--api-key *** --hf-token=*** --hf-token *** --api-key --port 80"));
        assert!(text.ends_with("--max-num-batched-tokens 2048 --tokenizer t --ssl-keyfile f"));
        let shell = ["sh", "-c", "exec serve  --api-key sk-1234 --port 80"].map(str::to_owned);
        assert_eq!(mask_flags(&shell)[2], "exec serve  --api-key *** --port 80");
        let secrets = Secrets::default().with_words(&shell);
        assert_eq!(secrets.blot("a sk-1234 b"), "a *** b");
    }

    #[test]
    fn finds_secrets_of_a_shell_command_behind_quotes_headers_and_urls() {
        let shell = "API_KEY='one-secret' run --auth-token=\"two-secret\" -H 'X-Api-Key: \
                     three-secret' -H \"x-token:four-secret\" http://h:1/ \
                     'http://u:five-secret@h/?sig=six-secret' hf_0123456789abcdefghij";
        let secrets = Secrets::default().with_words(&["sh".into(), "-c".into(), shell.to_owned()]);
        for secret in ["one", "two", "three", "four", "six"] {
            assert_eq!(secrets.blot(&format!("a {secret}-secret b")), "a *** b");
        }
        assert_eq!(secrets.blot("five-secret hf_0123456789abcdefghij"), "*** ***");
        assert_eq!(secrets.blot("run http://h:1/ X-Api-Key"), "run http://h:1/ X-Api-Key");
        for word in ["Authorization: Bearer seven-secret", "Authorization=Basic seven-secret"] {
            let secrets = Secrets::default().with_words(&[word.to_owned()]);
            assert_eq!(secrets.blot("no Bearer of seven-secret"), "no Bearer of ***", "{word}");
        }
    }

    #[test]
    fn keys_of_services_are_found_within_words() {
        let key = "sk-proj-0123456789abcdefgh";
        for word in [
            format!("note={key}"),
            format!("http://h:1/{key}/v1"),
            format!("http://h/v1/{key}?a=b"),
            format!("http://h/?id={key}#x"),
            format!("{{\"{key}\":1}}"),
        ] {
            let secrets = Secrets::default().with_words(std::slice::from_ref(&word));
            assert_eq!(secrets.blot(key), "***", "{word}");
        }
        assert_eq!(mask_url(&format!("http://h/v1/{key}/x?y=1")), "http://h/v1/***/x?y=1");
        assert_eq!(mask_url("http://h/sk-learn/v1"), "http://h/sk-learn/v1");
        assert_eq!(
            mask_url("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0"),
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0"
        );
        let fields = serde_json::json!({key: 1, "top_k": 2});
        assert_eq!(
            Value::Object(masked_fields(fields.as_object().unwrap())),
            serde_json::json!({"***": 1, "top_k": 2})
        );
        assert!(has_key_form("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"));
    }

    #[test]
    fn secrets_do_not_get_into_the_stored_command() {
        let words: Vec<String> = [
            "inferometer",
            "run",
            "-H",
            "Authorization: Bearer sk-1",
            "-HX-Api-Key: sk-2",
            "--header=x-token:sk-3",
            "-H",
            "x-request-id: 7",
            "-H",
            "X-Custom-Auth: sk-4",
            "--extra-body",
            r#"{"top_k":1,"proxy":[{"api_key":"sk-5"}]}"#,
            r#"--extra-request-body={"client_secret":"sk-6"}"#,
            "--extra-body",
            r#"{"stop_token_ids": [7]}"#,
        ]
        .map(str::to_owned)
        .to_vec();
        let text = mask_command(&words).join(" ");
        assert!(!text.contains("sk-"), "{text}");
        assert!(text.contains("Authorization: ***") && text.contains("x-request-id: 7"), "{text}");
        assert!(text.contains(r#""top_k":1"#) && text.ends_with(r#"{"stop_token_ids": [7]}"#));
    }

    #[test]
    fn headers_behind_other_flags_and_urls_keep_no_secret() {
        let words: Vec<String> = [
            "run",
            "http://h:1",
            "-vH",
            "Authorization: Bearer sk-COMBINED",
            "-sHX-Api-Key: sk-JOINED",
            "--metrics-url",
            "http://h/metrics?token=sk-T1&from=now",
            "--power-url=http://user:sk-PASS@h/p?api_key=sk-T2#x",
            "--extra-body",
            r#"{"pwd":"sk-P","auth":"sk-A","note":"Bearer sk-N","top_p":0.5}"#,
        ]
        .map(str::to_owned)
        .to_vec();
        let text = mask_command(&words).join(" ");
        assert!(!text.contains("sk-"), "{text}");
        assert!(text.contains("from=now") && text.contains("http://***@h/p?api_key=***#x"));
        assert!(text.contains(r#""top_p":0.5"#), "{text}");
        let secrets = Secrets::default().with_words(&words);
        for secret in ["sk-COMBINED", "user:sk-PASS"] {
            assert_eq!(secrets.blot(&format!("a {secret} b")), "a *** b");
        }
    }

    #[test]
    fn a_document_repeats_no_secret() {
        let secrets = Secrets::new(Some("Bearer sk-0123456789"), &[], &Map::new());
        let notes = serde_json::json!({"a": ["x sk-0123456789 y", 5], "b": {"c": "short"}});
        let clean = secrets.blot_document(notes);
        assert_eq!(clean, serde_json::json!({"a": ["x *** y", 5], "b": {"c": "short"}}));
        let short = Secrets::new(Some("Bearer test"), &[], &Map::new());
        let model = serde_json::json!({"model": "test-model"});
        assert_eq!(short.blot_document(model.clone()), model, "a word is no secret");
    }
}
