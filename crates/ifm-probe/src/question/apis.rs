//! Which APIs the server supports.

use super::inquiry::Wish;
use super::recording::silence;
use super::stream::SHORT_ANSWER;
use super::{Finding, Grade, Inquiry, Section};
use ifm_core::Prompt;
use ifm_core::spec::Api;
use ifm_wire::dialect;
use serde_json::{Map, Value, json};

/// One request for one token to each API.
pub fn ask(inquiry: &mut Inquiry) -> Vec<Finding> {
    let (text, recording) = (Prompt::Text(SHORT_ANSWER.to_owned()), silence());
    let mut found = Map::new();
    let (mut answering, mut refusing, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for api in Api::ALL {
        let endpoint = dialect::of(api).endpoint;
        let stream = inquiry.only_streams && endpoint.stream.is_some();
        let wish = Wish {
            api,
            prompt: if api.takes_recordings() { &recording } else { &text },
            tokens: 1,
            stream,
            ignore_eos: false,
            fields: Value::Null,
        };
        let known = inquiry.api == Some(api);
        let heard = if known { Ok(()) } else { inquiry.ask(&wish).map(|_| ()) };
        let word = match heard {
            Ok(()) => {
                answering.push(api.word());
                "answers".to_owned()
            }
            Err(why) if is_absent(&why) => "absent".to_owned(),
            Err(why) if why.starts_with("not asked") => {
                unknown.push(api.word());
                why
            }
            Err(why) => {
                refusing.push(format!("{} ({why})", api.word()));
                why
            }
        };
        found.insert(api.word().to_owned(), word.into());
    }
    let text = if answering.is_empty() { "none".to_owned() } else { answering.join(", ") };
    let mut how = format!("one request to each of {}", Api::ALL.len() - unknown.len());
    if !refusing.is_empty() {
        how.push_str(&format!("; refused or failed: {}", refusing.join(", ")));
    }
    if !unknown.is_empty() {
        how.push_str(&format!("; not tried any more: {}", unknown.join(", ")));
    }
    let grade = if answering.is_empty() { Grade::Caution } else { Grade::Good };
    vec![
        Finding::known((Section::Server, "apis"), grade, json!(found), text)
            .how(how)
            .means("--api chooses"),
    ]
}

/// Whether an error says that there is no such endpoint.
fn is_absent(why: &str) -> bool {
    ["HTTP 404", "HTTP 405", "HTTP 501"].iter().any(|start| why.starts_with(start))
}
