//! The quick way through events that look alike, against the full one: keeping the text switches
//! the quick way off, and nothing else may change by that.

use crate::{pieces, try_cases};
use ifm_core::spec::Api;
use ifm_wire::{Answer, EndCause, ExchangeDecoder, Expect};
use proptest::prelude::*;
use proptest::sample::Index;

/// Represents a byte that is not UTF-8, since the trees below are text.
const NO_UTF8: char = '\u{e000}';

/// JSON as written: keys and leaves hold the very characters between the structure.
#[derive(Debug, Clone)]
enum Node {
    Leaf(String),
    Object(Vec<(String, Node)>),
    Array(Vec<Node>),
}

impl Node {
    /// The tree of a text that is known to be right.
    fn parse(text: &str) -> Node {
        let value: serde_json::Value = serde_json::from_str(text).expect("right JSON");
        Node::of(&value)
    }

    fn of(value: &serde_json::Value) -> Node {
        match value {
            serde_json::Value::Object(entries) => Node::Object(
                entries.iter().map(|(key, value)| (key.clone(), Node::of(value))).collect(),
            ),
            serde_json::Value::Array(items) => Node::Array(items.iter().map(Node::of).collect()),
            leaf => Node::Leaf(leaf.to_string()),
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Node::Leaf(text) => out.push_str(text),
            Node::Object(entries) => {
                out.push('{');
                for (position, (key, value)) in entries.iter().enumerate() {
                    out.push_str(if position > 0 { ",\"" } else { "\"" });
                    out.push_str(key);
                    out.push_str("\":");
                    value.write(out);
                }
                out.push('}');
            }
            Node::Array(items) => {
                out.push('[');
                for (position, item) in items.iter().enumerate() {
                    out.push_str(if position > 0 { "," } else { "" });
                    item.write(out);
                }
                out.push(']');
            }
        }
    }

    /// Calls `visit` for this node and all below.
    fn each(&mut self, visit: &mut impl FnMut(&mut Node)) {
        visit(self);
        match self {
            Node::Leaf(_) => {}
            Node::Object(entries) => entries.iter_mut().for_each(|(_, value)| value.each(visit)),
            Node::Array(items) => items.iter_mut().for_each(|item| item.each(visit)),
        }
    }

    /// Changes one of the nodes that the filter lets through.
    fn change_one(
        &mut self,
        place: &Index,
        filter: impl Fn(&Node) -> bool,
        change: impl FnOnce(&mut Node),
    ) {
        let mut count = 0;
        self.each(&mut |node| count += usize::from(filter(node)));
        if count == 0 {
            return;
        }
        let mut left = place.index(count);
        let mut change = Some(change);
        self.each(&mut |node| {
            if filter(node) {
                if left == 0
                    && let Some(change) = change.take()
                {
                    change(node);
                }
                left = left.wrapping_sub(1);
            }
        });
    }

    fn change_entries(&mut self, place: &Index, change: impl FnOnce(&mut Vec<(String, Node)>)) {
        let filter = |node: &Node| matches!(node, Node::Object(entries) if !entries.is_empty());
        self.change_one(place, filter, |node| {
            if let Node::Object(entries) = node {
                change(entries);
            }
        });
    }
}

/// Events to begin with: a line each of `tests/events.txt`, the API and what it sends.
fn beginnings() -> Vec<(Api, &'static str)> {
    let lines = include_str!("../events.txt").lines();
    let parts = lines.map(|line| line.split_once(' ').expect("an API and an event"));
    let api = |word: &str| {
        let known = Api::ALL.into_iter().find(|api| api.word() == word);
        known.or_else(|| word.strip_prefix("custom:").map(crate::custom::shipped))
    };
    parts.map(|(word, event)| (api(word).expect(word), event)).collect()
}

/// Names, a space between two of them.
const KEYS: &str = r#"content text reasoning reasoning_content role finish_reason usage error refusal index
    object choices delta message type thinking stop tokens_predicted num_output_tokens x cont\u0065nt
    \"content"#;
/// Leaves, including values of unexpected types; the empty text is a leaf, too.
const VALUES: &str = r#"null "" "a" "stop" "error" 0 1 70000 0.0 -1 "3" true [] {} [{}]
    {"completion_tokens":3} {"content":"b"} [{"delta":{"content":"b"}}]"#;

/// A way in which an event may differ from the one before.
#[derive(Debug, Clone)]
enum Change {
    /// Another text in one of its strings.
    Text(Index, String),
    Swap(Index, Index, Index),
    /// Says an entry twice.
    Repeat(Index, Index),
    Remove(Index, Index),
    Rename(Index, Index, &'static str),
    Value(Index, &'static str),
    Insert(Index, &'static str, &'static str),
}

impl Change {
    fn apply(&self, tree: &mut Node) {
        let is_leaf = |node: &Node| matches!(node, Node::Leaf(_));
        let is_text = |node: &Node| matches!(node, Node::Leaf(text) if text.starts_with('"'));
        match self {
            Change::Text(place, text) => {
                tree.change_one(place, is_text, |node| *node = Node::Leaf(format!("\"{text}\"")));
            }
            Change::Swap(place, one, other) => tree.change_entries(place, |entries| {
                let count = entries.len();
                entries.swap(one.index(count), other.index(count));
            }),
            Change::Repeat(place, which) => tree.change_entries(place, |entries| {
                entries.push(entries[which.index(entries.len())].clone());
            }),
            Change::Remove(place, which) => tree.change_entries(place, |entries| {
                entries.remove(which.index(entries.len()));
            }),
            Change::Rename(place, which, name) => tree.change_entries(place, |entries| {
                let which = which.index(entries.len());
                entries[which].0 = (*name).to_owned();
            }),
            Change::Value(place, value) => {
                tree.change_one(place, is_leaf, |node| *node = Node::Leaf((*value).to_owned()));
            }
            Change::Insert(place, name, value) => tree.change_entries(place, |entries| {
                entries.push(((*name).to_owned(), Node::Leaf((*value).to_owned())));
            }),
        }
    }
}

/// The inside of a JSON string, mostly a right one.
fn text() -> impl Strategy<Value = String> {
    const PARTS: [&str; 22] = [
        " tok",
        "a",
        " the",
        "é",
        "\u{1f980}",
        "\u{2028}",
        r"\n",
        r#"\""#,
        r"\\",
        r"\/",
        r"\u00e9",
        r"\u000a",
        r"\ud83d\ude00",
        r"\uD7FF",
        r#"\"content\":\"b"#,
        "data: x",
        "\u{7f}",
        r"\ud83d",
        r"\u12",
        r"\x",
        "\u{1}",
        "\"",
    ];
    let part = prop_oneof![
        12 => prop::sample::select(PARTS[..17].to_vec()).prop_map(str::to_owned),
        1 => prop::sample::select(PARTS[17..].to_vec()).prop_map(str::to_owned),
        1 => Just(NO_UTF8.to_string()),
    ];
    prop::collection::vec(part, 0..4).prop_map(|parts| parts.concat())
}

fn change() -> impl Strategy<Value = Change> {
    let key = || prop::sample::select(KEYS.split_whitespace().collect::<Vec<_>>());
    let values = || VALUES.split_whitespace().chain([""]).collect::<Vec<_>>();
    let value = || prop::sample::select(values());
    let place = any::<Index>;
    prop_oneof![
        3 => (place(), text()).prop_map(|(place, text)| Change::Text(place, text)),
        1 => (place(), place(), place()).prop_map(|(place, a, b)| Change::Swap(place, a, b)),
        1 => (place(), place()).prop_map(|(place, which)| Change::Repeat(place, which)),
        1 => (place(), place()).prop_map(|(place, which)| Change::Remove(place, which)),
        1 => (place(), place(), key()).prop_map(|(place, which, key)| Change::Rename(place, which, key)),
        2 => (place(), value()).prop_map(|(place, value)| Change::Value(place, value)),
        2 => (place(), key(), value()).prop_map(|(place, key, value)| Change::Insert(place, key, value)),
    ]
}

/// What comes next in a stream.
#[derive(Debug, Clone)]
enum Step {
    /// The same event with another text, as usual.
    Text(Index, String),
    /// The event, and all that follow, change.
    Becomes(Change),
    /// This event alone differs.
    Once(Change),
    /// This event alone has a byte wrong.
    Damaged(Index, u8),
    /// Something between events.
    Raw(&'static str),
    /// Another kind of event from here on.
    Another(usize),
}

fn step() -> impl Strategy<Value = Step> {
    const RAW: [&str; 8] = [
        ": beat\n\n",
        "event: error\n",
        "data: [DONE]\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":9}}\n\n",
        "data:\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"\"},\"finish_reason\":\"stop\"}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7.0,\"completion_tokens\":9.0}}\n\n",
    ];
    prop_oneof![
        12 => (any::<Index>(), text()).prop_map(|(place, text)| Step::Text(place, text)),
        2 => change().prop_map(Step::Becomes),
        2 => change().prop_map(Step::Once),
        1 => (any::<Index>(), any::<u8>()).prop_map(|(place, byte)| Step::Damaged(place, byte)),
        1 => prop::sample::select(RAW.to_vec()).prop_map(Step::Raw),
        1 => (0..beginnings().len()).prop_map(Step::Another),
    ]
}

fn event(tree: &Node) -> Vec<u8> {
    let mut text = "data: ".to_owned();
    tree.write(&mut text);
    text.push_str("\n\n");
    let mut bytes = Vec::new();
    for character in text.chars() {
        match character {
            NO_UTF8 => bytes.push(0xff),
            other => bytes.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// The response that these steps make of the first event.
fn stream(first: usize, steps: &[Step]) -> Vec<u8> {
    let events = beginnings();
    let mut tree = Node::parse(events[first].1);
    let mut bytes = b"HTTP/1.1 200 OK\r\n\r\n: stream\n\n".to_vec();
    for step in steps {
        match step {
            Step::Text(place, text) => Change::Text(*place, text.clone()).apply(&mut tree),
            Step::Becomes(change) => change.apply(&mut tree),
            Step::Another(which) => tree = Node::parse(events[*which].1),
            Step::Once(_) | Step::Damaged(..) | Step::Raw(_) => {}
        }
        match step {
            Step::Raw(text) => bytes.extend_from_slice(text.as_bytes()),
            Step::Once(change) => {
                let mut other = tree.clone();
                change.apply(&mut other);
                bytes.extend(event(&other));
            }
            Step::Damaged(place, byte) => {
                let mut damaged = event(&tree);
                let place = place.index(damaged.len());
                damaged[place] = *byte;
                bytes.extend(damaged);
            }
            Step::Text(..) | Step::Becomes(_) | Step::Another(_) => bytes.extend(event(&tree)),
        }
    }
    bytes
}

fn decode(api: Api, parts: &[Vec<u8>], keep_text: bool) -> Answer {
    let expect = Expect { api, keep_text, stream: true };
    let mut decoder = ExchangeDecoder::new(expect);
    for (position, part) in parts.iter().enumerate() {
        decoder.feed(part, position as u64 * 1000);
    }
    decoder.finish(EndCause::Closed, expect)
}

#[test]
fn the_quick_way_finds_what_the_full_one_finds() {
    let steps = prop::collection::vec(step(), 1..30);
    let cuts = prop::collection::vec(any::<Index>(), 0..8);
    // Number of bytes missing at the end: a blank line, a line end, or part of the event itself.
    let missing = 0_usize..4;
    try_cases(
        2500,
        &(0..beginnings().len(), steps, cuts, missing),
        |(first, steps, cuts, missing)| {
            let mut bytes = stream(first, &steps);
            bytes.truncate(bytes.len() - missing);
            let parts = pieces(&bytes, &cuts);
            let api = beginnings()[first].0;
            let mut quick = decode(api, &parts, false);
            let mut full = decode(api, &parts, true);
            prop_assert!(full.text.take().is_some());
            if std::str::from_utf8(&bytes).is_err() {
                // The full way reads a byte that is not UTF-8 as a character of three.
                for answer in [&mut quick, &mut full] {
                    (answer.text_bytes, answer.first_text_bytes) = (None, None);
                }
            }
            prop_assert_eq!(quick, full, "{}", String::from_utf8_lossy(&bytes));
            Ok(())
        },
    );
}
