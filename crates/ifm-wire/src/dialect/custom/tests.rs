//! What a file can get wrong, and that every key of it is explained.

use super::form::Reads;
use super::place::Place;
use super::read;

const FILE: &str = r#"
about = "tried"

[request]
path = "/talk"
body = '{"list": "{messages}", "most": {"tokens": "{output_tokens}"}}'

[message]
form = '{"who": "{role}", "say": "{parts}"}'
joined = true

[message.part]
text = '{"t": "{text}"}'

[answer]
events = "sse"

[read]
text = "/say"
"#;

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_line() {
    assert!(read("tried", FILE).is_ok());
    for (from, to, expect) in [
        ("path =", "paht =", "line 5: unknown field `paht`"),
        ("path =", "paht =", "did you mean `path`?"),
        ("text = \"/say\"", "txt = \"/say\"", "line 19: unknown field `txt`"),
        ("[read]", "[reed]", "did you mean `read`?"),
        ("path = \"/talk\"", "path = \"talk\"", "line 5: [request] path: \"talk\" is no path"),
        ("{messages}", "{mesages}", "line 6: [request] body: \"{mesages}\" is no place"),
        ("{messages}", "{mesages}", "did you mean \"{messages}\"?"),
        ("\"{messages}\"", "1", "it has neither \"{messages}\" nor \"{prompt}\""),
        ("\"{messages}\",", "\"{messages}\", \"p\": \"{prompt}\",", "it has both"),
        (
            "\"{messages}\",",
            "{\"a\": \"{messages}\", \"b\": {\"c\": \"{output_tokens}\"}},",
            "stands once",
        ),
        ("{\"list\"", "[\"list\"", "line 6: [request] body: it is not JSON"),
        ("{parts}", "{role}", "line 9: [message] form: it has no place for what is said"),
        ("{parts}", "{text}", "joined messages need \"{parts}\""),
        ("text = '{\"t\": \"{text}\"}'", "", "\"{parts}\" needs a form of [message.part] text"),
        ("joined = true", "roles = { asistant = \"model\" }", "did you mean \"assistant\"?"),
        ("joined = true", "call = '{\"n\": \"{call_nam}\"}'", "did you mean \"{call_name}\"?"),
        ("events = \"sse\"", "events = \"see\"", "line 16: unknown variant `see`"),
        ("\"/say\"", "\"say\"", "line 19: [read] text: \"say\" is no place"),
        ("\"/say\"", "{ at = \"/say\", wen = \"x\" }", "line 19"),
        ("text = \"/say\"", "", "\"text\" is missing"),
        (
            "text = \"/say\"",
            "text = \"/say\"\nend = \"done\"",
            "line 20: [read] end: it is a place from the top",
        ),
        (
            "text = \"/say\"",
            "text = \"/say\"\nchoices = [\"/a\", \"/b\"]",
            "[read] choices: it is one place",
        ),
        ("path =", "headers = { Host = \"h\" }\npath =", "written by the program alone"),
        (
            "path =",
            "headers = { X-Api-Key = \"sk-1\" }\npath =",
            "a key does not belong into the file",
        ),
        ("path =", "headers = { X-Api-Key = \"{key}\", X-Version = \"3\" }\npath =", ""),
        ("\"/talk\"", "\"/talk?key=sk-1\"", "a key does not belong into the file"),
        ("events = \"sse\"", "events = \"whole\"", ""),
    ] {
        let text = FILE.replace(from, to);
        assert_ne!(text, FILE, "{from}");
        match read("tried", &text) {
            Ok(_) => assert_eq!(expect, "", "{to}"),
            Err(error) => {
                let error = error.to_string();
                assert!(!expect.is_empty() && error.contains(expect), "{to}: {error}");
            }
        }
    }
    let text = FILE.replace("events = \"sse\"", "events = \"whole\"");
    let text = text.replace("path =", "streamed_path = \"/s\"\npath =");
    assert!(read("tried", &text).unwrap_err().to_string().contains("there are no streams"));
}

#[test]
fn every_key_and_place_is_explained() {
    const KEYS: &str = "about key_env path streamed_path headers body when_streamed when_whole \
        output_tokens_default form roles joined call part events end_mark complete_with finish_words \
        empty_text_may_be_token when_tools tool list name prefix context_tokens";
    let page = include_str!("../../../../../docs/reference/custom-apis.md");
    for key in KEYS.split_whitespace().chain(Reads::KEYS.iter().copied()) {
        assert!(page.contains(&format!("| `{key}` |")), "{key}");
    }
    for place in Place::ALL {
        assert!(page.contains(&format!("`{{{}}}`", place.word())), "{place:?}");
    }
}
