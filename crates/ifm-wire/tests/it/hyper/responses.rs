//! Responses as bytes: well formed ones of every shape, and damaged ones.

use proptest::prelude::*;
use proptest::sample::Index;

type Bytes = Vec<u8>;

fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(texts).prop_map(str::to_owned)
}

/// The text with some letters turned to upper case.
fn any_case(text: String) -> impl Strategy<Value = String> {
    any::<u64>().prop_map(move |bits| {
        let upper = |position: usize| bits >> (position % 64) & 1 == 1;
        let turn = |(position, letter): (usize, char)| match upper(position) {
            true => letter.to_ascii_uppercase(),
            false => letter,
        };
        text.chars().enumerate().map(turn).collect()
    })
}

/// One field as a line without its end.
fn field(
    name: impl Strategy<Value = String>,
    value: impl Strategy<Value = String>,
) -> impl Strategy<Value = String> {
    let colon = one_of(&[": ", ":", ":  ", ":\t", " : ", "\t:"]);
    let behind = one_of(&["", "", " ", "\t"]);
    (name.prop_flat_map(any_case), colon, value, behind)
        .prop_map(|(name, colon, value, behind)| format!("{name}{colon}{value}{behind}"))
}

/// A field that says nothing about framing.
fn other_field() -> impl Strategy<Value = String> {
    let name = one_of(&[
        "x-a",
        "server",
        "content-type",
        "date",
        "x_y",
        "retry-after",
        "te",
        "a!#$%&'*+-.^`|~9",
    ]);
    let value = prop_oneof![
        4 => "[ -~]{0,20}".prop_map(|text| text.trim().to_owned()),
        1 => "[a-zü]{1,9}\t[a-z]{0,9}",
        1 => "[a-z]{0,5}(\r\n[ \t]{1,3}[a-z]{0,5}){1,2}",
    ];
    field(name, value)
}

fn connection() -> impl Strategy<Value = String> {
    let words = one_of(&["close", "keep-alive", "upgrade", "closed", "x", ""]);
    let joint = one_of(&[",", ", ", " ,", ",\t", ",\r\n "]);
    let value = (prop::collection::vec(words.prop_flat_map(any_case), 1..4), joint)
        .prop_map(|(words, joint)| words.join(&joint));
    field(Just("connection".to_owned()), value)
}

/// A body in its framing: the fields that announce it and its bytes on the wire.
#[derive(Debug, Clone)]
struct Body {
    fields: Vec<String>,
    wire: Bytes,
}

fn content() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        2 => prop::collection::vec(any::<u8>(), 0..60),
        1 => "(data: [a-z]{1,20}\n\n){0,4}".prop_map(String::into_bytes),
        1 => "(HTTP/1.1 200 OK\r\n|\r\n|0\r\n){0,4}".prop_map(String::into_bytes),
    ]
}

/// With a length: right, or too small, or too large; told once, twice, as a list, or wrong.
fn with_length() -> impl Strategy<Value = Body> {
    let shape = one_of(&[
        "N",
        "N",
        "N",
        "0N",
        "N, N",
        "N,N",
        "N\r\n ,N",
        "N|N",
        "+N",
        "N,",
        "",
        "N, 1",
        "N|7",
        "-1",
        "1e1",
        "99999999999999999999",
        "N N",
        "ü",
    ]);
    let name = any_case("content-length".to_owned());
    (content(), shape, prop_oneof![6 => Just(0i64), 1 => -3i64..4], name).prop_map(
        |(wire, shape, off, name)| {
            let length = (wire.len() as i64 + off).max(0).to_string();
            let values = shape.replace('N', &length);
            let fields = values.split('|').map(|value| format!("{name}: {value}")).collect();
            Body { fields, wire }
        },
    )
}

/// A size line without its end.
fn size_line(size: usize) -> impl Strategy<Value = String> {
    let extension = prop_oneof![
        6 => Just(String::new()),
        1 => one_of(&[" ", "\t ", ";", ";a", "; a=b", " ;a=\"b;c\\\"\"", ";a=b;c=d", ";ü", " ; "]),
    ];
    (0usize..3, any::<bool>(), extension).prop_map(move |(zeros, upper, extension)| {
        let digits = if upper { format!("{size:X}") } else { format!("{size:x}") };
        format!("{}{digits}{extension}", "0".repeat(zeros))
    })
}

fn chunk() -> impl Strategy<Value = Bytes> {
    // The empty chunk is the last: no other may be empty.
    let data = (content(), any::<u8>()).prop_map(|(data, first)| [vec![first], data].concat());
    data.prop_flat_map(|data| {
        size_line(data.len())
            .prop_map(move |line| [line.as_bytes(), b"\r\n", data.as_slice(), b"\r\n"].concat())
    })
}

fn chunked() -> impl Strategy<Value = Body> {
    let value = prop_oneof![
        6 => Just("chunked".to_owned()),
        1 => one_of(&["gzip, chunked", "gzip,chunked", "chunked, gzip", "gzip", "chunked;a", "", "\r\n chunked"]),
    ];
    let trailers = prop_oneof![
        4 => Just(String::new()),
        1 => "(x-[a-z]{1,4}: ?[a-z]{0,5}\r\n){1,3}",
    ];
    let coding = field(Just("transfer-encoding".to_owned()), value.prop_flat_map(any_case));
    let former = prop::option::weighted(0.1, Just("Transfer-Encoding: gzip".to_owned()));
    let length = prop::option::weighted(0.1, one_of(&["Content-Length: 3", "content-length: x"]));
    (prop::collection::vec(chunk(), 0..4), size_line(0), trailers, coding, former, length).prop_map(
        |(chunks, last, trailers, coding, former, length)| {
            let end = format!("{last}\r\n{trailers}\r\n").into_bytes();
            let fields = former.into_iter().chain([coding]).chain(length).collect();
            Body { fields, wire: [chunks.concat(), end].concat() }
        },
    )
}

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        3 => with_length(),
        4 => chunked(),
        2 => content().prop_map(|wire| Body { fields: vec![], wire }),
    ]
}

fn status_line() -> impl Strategy<Value = String> {
    let version = prop_oneof![5 => Just("HTTP/1.1"), 1 => Just("HTTP/1.0")];
    let status = prop_oneof![
        6 => Just("200".to_owned()),
        2 => one_of(&["204", "304", "404", "429", "500", "101", "201", "999", "150"]),
    ];
    let reason = one_of(&[" OK", " ", "", " Not \u{e4}", " a\tb"]);
    (version, status, reason)
        .prop_map(|(version, status, reason)| format!("{version} {status}{reason}"))
}

/// Interim heads, as before a 200 that takes long.
fn interim() -> impl Strategy<Value = Vec<Vec<String>>> {
    let status = one_of(&[
        "HTTP/1.1 100 Continue",
        "HTTP/1.1 103 Early Hints",
        "HTTP/1.1 199",
        "HTTP/1.0 102 ",
    ]);
    let fields = prop::collection::vec(
        prop_oneof![3 => other_field(), 1 => one_of(&["content-length: x", "transfer-encoding: chunked"])],
        0..3,
    );
    let head = (status, fields).prop_map(|(status, fields)| [vec![status], fields].concat());
    prop_oneof![4 => Just(vec![]), 1 => prop::collection::vec(head, 1..3)]
}

fn render(head: &[String], line_end: &str) -> Bytes {
    let mut text = head.join(line_end);
    text.push_str(line_end);
    text.push_str(line_end);
    text.into_bytes()
}

/// A response as a server could send it, and sometimes what a server must not send behind it.
pub fn response() -> impl Strategy<Value = Bytes> {
    let line_end = prop_oneof![6 => Just("\r\n"), 1 => Just("\n")];
    let fields = prop::collection::vec(prop_oneof![3 => other_field(), 1 => connection()], 0..5);
    let behind = prop_oneof![8 => Just(""), 1 => Just("x"), 1 => Just("\r\n"), 1 => Just("HTTP/1.1 200 OK\r\n\r\n")];
    let before = prop_oneof![8 => Just(""), 1 => Just("\r\n"), 1 => Just("\n\n")];
    (before, interim(), status_line(), fields, body(), any::<Index>(), line_end, behind).prop_map(
        |(before, interim, status, mut fields, body, place, line_end, behind)| {
            let place = place.index(fields.len() + 1);
            fields.splice(place..place, body.fields);
            let mut bytes = before.as_bytes().to_vec();
            for head in &interim {
                bytes.extend(render(head, line_end));
            }
            bytes.extend(render(&[vec![status], fields].concat(), line_end));
            bytes.extend(body.wire);
            bytes.extend_from_slice(behind.as_bytes());
            bytes
        },
    )
}

/// One way to damage bytes.
#[derive(Debug, Clone)]
enum Damage {
    Flip(Index, u8),
    Delete(Index),
    Insert(Index, u8),
    Overwrite(Index, u8),
    /// Says a stretch twice.
    Repeat(Index, usize),
    Cut(Index),
}

impl Damage {
    fn apply(&self, bytes: &mut Bytes) {
        let length = bytes.len();
        if length == 0 {
            return;
        }
        match self {
            Damage::Flip(place, bit) => bytes[place.index(length)] ^= 1 << bit,
            Damage::Delete(place) => drop(bytes.remove(place.index(length))),
            Damage::Insert(place, byte) => bytes.insert(place.index(length + 1), *byte),
            Damage::Overwrite(place, byte) => bytes[place.index(length)] = *byte,
            Damage::Repeat(place, count) => {
                let start = place.index(length);
                let end = (start + count).min(length);
                let stretch = bytes[start..end].to_vec();
                bytes.splice(start..start, stretch);
            }
            Damage::Cut(place) => bytes.truncate(place.index(length)),
        }
    }
}

fn damage() -> impl Strategy<Value = Damage> {
    // Bytes that mean something in some place of a response.
    let byte = prop_oneof![
        4 => prop::sample::select(b"\r\n\r\n:;, \t0123456789aAfFxX\"=+-\0\x7f\x80\xff".to_vec()),
        1 => any::<u8>(),
    ];
    prop_oneof![
        (any::<Index>(), 0u8..8).prop_map(|(place, bit)| Damage::Flip(place, bit)),
        any::<Index>().prop_map(Damage::Delete),
        (any::<Index>(), byte.clone()).prop_map(|(place, byte)| Damage::Insert(place, byte)),
        (any::<Index>(), byte).prop_map(|(place, byte)| Damage::Overwrite(place, byte)),
        (any::<Index>(), 1usize..30).prop_map(|(place, count)| Damage::Repeat(place, count)),
        any::<Index>().prop_map(Damage::Cut),
    ]
}

/// A response with a few bytes wrong.
pub fn damaged() -> impl Strategy<Value = Bytes> {
    (response(), prop::collection::vec(damage(), 0..4)).prop_map(|(mut bytes, damages)| {
        for damage in &damages {
            damage.apply(&mut bytes);
        }
        bytes
    })
}
