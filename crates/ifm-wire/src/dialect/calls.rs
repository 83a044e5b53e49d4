//! Calls of tools as OpenAI's chat completions and Ollama write them: whole, or in fragments.
//!
//! Not here: the calls of APIs whose events say which call they go on with (`responses`, `messages`).

use super::generated::Generated;
use super::json::{self, Raw};
use super::list::List;
use super::template::bytes_under;
use super::text::{AnyText, Text};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Call<'input> {
    #[serde(default, deserialize_with = "json::count")]
    index: Option<u32>,
    id: Option<AnyText<'input>>,
    function: Option<Function<'input>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Function<'input> {
    name: Option<AnyText<'input>>,
    arguments: Option<Raw<'input>>,
}

/// Bytes of the names and arguments in fragments of calls, as text in UTF-8.
pub(super) fn fragment_bytes(list: Raw<'_>) -> u32 {
    bytes_under(list.0.as_bytes(), &[b"name", b"arguments"])
}

/// The same of whole calls, whose arguments may be an object.
pub(super) fn text_bytes(list: Raw<'_>) -> u32 {
    let entries: List<Raw<'_>> = serde_json::from_str(list.0).unwrap_or_default();
    let calls = entries.iter().filter_map(|entry| serde_json::from_str::<Call<'_>>(entry.0).ok());
    let functions = calls.filter_map(|call| call.function);
    let bytes = functions.map(|function| {
        let name = function.name.and_then(|name| name.0).map_or(0, Text::bytes);
        name.saturating_add(function.arguments.map_or(0, Raw::text_bytes))
    });
    bytes.fold(0, u32::saturating_add)
}

/// Keeps the calls of a list, complete or in fragments. A list of another shape counts as empty,
/// and an entry of another shape is ignored.
pub(super) fn keep(list: Raw<'_>, kept: &mut Generated) {
    let entries: List<Raw<'_>> = serde_json::from_str(list.0).unwrap_or_default();
    let calls = entries.iter().filter_map(|entry| serde_json::from_str::<Call<'_>>(entry.0).ok());
    for call in calls {
        let text = |text: Option<AnyText<'_>>| -> String {
            let mut out = String::new();
            text.and_then(|text| text.0).into_iter().for_each(|text| text.append_to(&mut out));
            out
        };
        let (name, arguments) = call.function.map_or((None, None), |it| (it.name, it.arguments));
        let (id, name) = (text(call.id), text(name));
        if call.index.is_none() && id.is_empty() && name.is_empty() && arguments.is_none() {
            continue;
        }
        // Without an index, an id or a name begins a call. A different id always begins one, since
        // some servers give every call the index 0.
        let begins = match (call.index, kept.last_call(call.index)) {
            (_, None) => true,
            (None, Some(_)) => !id.is_empty() || !name.is_empty(),
            (Some(_), Some(last)) => !id.is_empty() && !last.id.is_empty() && last.id != id,
        };
        let call = match begins {
            true => kept.begin_call(call.index),
            false => kept.last_call(call.index),
        };
        let Some(call) = call else { continue };
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        if let Some(arguments) = arguments {
            arguments.append_to(&mut call.arguments);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(lists: &[&str]) -> Vec<(String, String, String)> {
        let mut kept = Generated::default();
        for list in lists {
            keep(serde_json::from_str(list).unwrap(), &mut kept);
        }
        let calls = kept.tool_calls().iter();
        calls.map(|it| (it.id.clone(), it.name.clone(), it.arguments.clone())).collect()
    }

    #[test]
    fn fragments_become_calls_however_servers_count_them() {
        let call = |id: &str, name: &str, arguments: &str| {
            (id.to_owned(), name.to_owned(), arguments.to_owned())
        };
        let two = [call("a", "f", r#"{"x":1}"#), call("b", "g", "{}")];
        let by_index = [
            r#"[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]"#,
            r#"[{"index":1,"id":"b","function":{"name":"g"}}]"#,
            r#"[{"index":0,"function":{"arguments":"{\"x\""}}]"#,
            r#"[{"index":1,"function":{"arguments":"{}"}},{"index":0,"function":{"arguments":":1}"}}]"#,
        ];
        assert_eq!(calls(&by_index), two);
        let by_id = [
            r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]"#,
            r#"[{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]"#,
        ];
        assert_eq!(calls(&by_id), two);
        let repeated = [
            r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]"#,
            r#"[{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}]"#,
        ];
        assert_eq!(calls(&repeated), two[..1]);
        let without_index = [
            r#"[{"id":"a","function":{"name":"f","arguments":"{\"x\""}}]"#,
            r#"[{"function":{"arguments":":1}"}}]"#,
            r#"[{"id":"b","function":{"name":"g","arguments":{}}}]"#,
        ];
        assert_eq!(calls(&without_index), two);
        assert_eq!(calls(&["[]", "[1]", "{}", r#"[{"index":-1}]"#]), []);
    }

    #[test]
    fn an_odd_entry_takes_no_other_with_it() {
        let list = r#"[7,{"index":"0","id":"a","function":{"name":"f","arguments":"{}"}},
            {"index":-1,"id":"b","function":{"name":"g"}},{"function":[]},{"index":2,"id":"c"}]"#;
        let more = r#"[{"index":"0","function":{"arguments":"!"}}]"#;
        let calls = calls(&[list, more]);
        let read: Vec<_> = calls.iter().map(|it| (&*it.0, &*it.1, &*it.2)).collect();
        assert_eq!(read, [("a", "f", "{}!"), ("b", "g", ""), ("c", "", "")]);
    }
}
