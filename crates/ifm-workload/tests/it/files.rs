//! Data sets from files: every format and kind, and what is wrong with a file.
use std::{fs, path::PathBuf, sync::Arc};

use crate::tokenizer;
use ifm_core::{Message, Prompt, Role};
use ifm_workload::{
    Answers, Lengths, OnBadRow, OpenedWorkload, Turn, WorkItem, WorkloadError, WorkloadRequest,
    facts::DropReason, open,
};
use parquet::{
    basic::Compression,
    data_type::{ByteArray, ByteArrayType},
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};
use proptest::prelude::*;
use serde_json::json;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder can be made"))
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).expect("it is written");
        path
    }

    /// Opens a file as a kind, with options.
    fn request(&self, kind: &str, name: &str, options: &str) -> WorkloadRequest {
        let path = self.0.path().join(name);
        WorkloadRequest::new(format!("{kind}:{}{options}", path.display()), 7)
    }

    fn open(&self, kind: &str, name: &str, options: &str) -> OpenedWorkload {
        let request = self.request(kind, name, options);
        open(&request, &tokenizer()).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn error(&self, kind: &str, name: &str, options: &str) -> String {
        match open(&self.request(kind, name, options), &tokenizer()) {
            Ok(_) => panic!("{name} opens"),
            Err(error) => error.to_string(),
        }
    }
}

fn items(opened: &OpenedWorkload) -> Vec<WorkItem> {
    let count = opened.dataset.items().expect("it ends");
    (0..count).map(|id| opened.dataset.item(id).expect("there is such an item")).collect()
}

fn texts(opened: &OpenedWorkload) -> Vec<String> {
    let items = items(opened).into_iter();
    items.map(|item| item.turns[0].prompt.as_text().expect("a text").to_owned()).collect()
}

#[test]
fn every_format_gives_the_same_rows() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"prompt\":\"one\",\"output_tokens\":5}\n\n{\"prompt\":\"two\"}\r\n");
    folder.write(
        "a.json",
        "[\n {\"prompt\": \"one\", \"output_tokens\": 5},\n {\"prompt\": \"two\"}]",
    );
    folder.write("b.json", "\u{feff}{\"about\": {\"x\": []},\n \"rows\": [{\"prompt\": \"one\", \"output_tokens\": 5},\n{\"prompt\": \"two\"}]}");
    folder.write("c.json", "{\"prompt\":\"one\",\"output_tokens\":5}\n{\"prompt\":\"two\"}\n");
    folder.write("a.csv", "\u{feff}prompt,output_tokens\none,5\n\"two\",256\n");
    folder.write("a.tsv", "prompt\toutput_tokens\none\t5\ntwo\t256\n");
    for name in ["a.jsonl", "a.json", "b.json", "c.json", "a.csv", "a.tsv"] {
        let opened = folder.open("custom", name, "");
        assert_eq!(texts(&opened), ["one", "two"], "{name}");
        let outputs = items(&opened).into_iter().map(|item| item.turns[0].output_tokens);
        assert_eq!(outputs.collect::<Vec<_>>(), [Some(5), Some(256)], "{name}");
        let facts = opened.facts;
        assert_eq!((facts.files[0].name.as_str(), facts.items), (name, Some(2)));
        assert!(!facts.ignore_eos && facts.rows.unwrap().whole);
    }
    let both = folder.0.path().join("shards");
    fs::create_dir(&both).unwrap();
    fs::write(both.join("2.jsonl"), "{\"prompt\":\"last\"}\n").unwrap();
    fs::write(both.join("1.csv"), "prompt\nfirst\n").unwrap();
    fs::write(both.join("README.md"), "no rows\n").unwrap();
    let opened = folder.open("custom", "shards", "");
    assert_eq!(texts(&opened), ["first", "last"]);
    assert_eq!(opened.facts.files.len(), 2);
}

fn parquet(folder: &Folder, name: &str, columns: &[(&str, &[&str])]) {
    let fields = columns.iter().map(|(name, _)| format!("required binary {name} (UTF8);"));
    let schema = format!("message rows {{ {} }}", fields.collect::<String>());
    let schema = Arc::new(parse_message_type(&schema).expect("it is a schema"));
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).expect("it begins");
    let mut group = writer.next_row_group().expect("a group begins");
    for (_, values) in columns {
        let mut column = group.next_column().expect("it goes").expect("there is a column");
        let values = values.iter().map(|value| ByteArray::from(*value)).collect::<Vec<_>>();
        column.typed::<ByteArrayType>().write_batch(&values, None, None).expect("it is written");
        column.close().expect("it ends");
    }
    group.close().expect("it ends");
    folder.write(name, writer.into_inner().expect("it ends"));
}

#[test]
fn parquet_is_read_by_columns() {
    let folder = Folder::new();
    let columns: [(&str, &[&str]); 3] = [
        ("problem", &["what is one and one, and why?", "name the four largest primes below ten"]),
        ("solution", &["two, because we said so", "seven, five, three and two"]),
        ("unused", &["x", "y"]),
    ];
    parquet(&folder, "train.parquet", &columns);
    let opened = folder.open("numina-math", "train.parquet", "");
    assert_eq!(texts(&opened), *columns[0].1);
    let item = &items(&opened)[0];
    let tokens = tokenizer().encode(columns[1].1[0]).unwrap().len() as u32;
    assert_eq!(item.turns[0].output_tokens, Some(tokens));
    let error = folder.error("edit-5k-chars", "train.parquet", "");
    assert!(
        error.contains(
            "train.parquet: no column for code (looked for code); there is problem, \
             solution, unused; map one, as in code:NAME"
        ),
        "{error}"
    );
    folder.write("no.parquet", "PAR1 is not enough");
    assert!(folder.error("custom", "no.parquet", "").contains("is not Parquet"), "what is wrong");
}

#[test]
fn questions_are_asked_by_category() {
    let folder = Folder::new();
    let question = |id: u32, category: &str| {
        format!(
            "{{\"question_id\":{id},\"category\":\"{category}\",\
             \"turns\":[\"first of {id}\",\"more\"]}}\n"
        )
    };
    let rows = [question(81, "writing"), question(82, "math"), question(83, "writing")].concat();
    folder.write("question.jsonl", &rows);
    let all = folder.open("spec-bench", "question.jsonl", "");
    assert_eq!(texts(&all), ["first of 81", "first of 82", "first of 83"]);
    assert_eq!(items(&all)[0].turns[0].output_tokens, Some(256));
    let some = folder.open("mt-bench", "question.jsonl", "?category=writing&output=64");
    assert_eq!(texts(&some), ["first of 81", "first of 83"]);
    assert_eq!(items(&some)[0].turns[0].output_tokens, Some(64));
    let whole = folder.open("spec-bench", "question.jsonl", "?turns=all&think=2s&output=64");
    assert!(whole.dataset.has_conversations());
    let talk = &items(&whole)[0];
    let said = |turn: &Turn| match &turn.prompt {
        Prompt::Messages(messages) => messages.iter().map(|it| it.content.clone()).collect(),
        other => panic!("{other:?}"),
    };
    let turns: Vec<Vec<String>> = talk.turns.iter().map(said).collect();
    assert_eq!(turns, [["first of 81"], ["more"]]);
    let asked: Vec<_> = talk.turns.iter().map(|it| (it.output_tokens, it.think_ns)).collect();
    assert_eq!(asked, [(Some(64), 0), (Some(64), 2_000_000_000)]);
    assert!(talk.turns.iter().all(|turn| turn.prompt_tokens > Some(0)));
    assert!(talk.turns.iter().all(|turn| turn.recorded_answer.is_none()));
    let error = folder.error("spec-bench", "question.jsonl", "?think=2s");
    assert!(error.contains("turns=all"), "{error}");
    folder.write("gap.jsonl", "{\"turns\":[\"a\",\"\"]}\n");
    let error = folder.error("spec-bench", "gap.jsonl", "?turns=all");
    assert!(error.contains("turn 2 of the question is no text, or empty"), "{error}");
    folder.write("empty.jsonl", "{\"turns\":[]}\n");
    assert!(folder.error("spec-bench", "empty.jsonl", "").contains("no first turn"));
}

#[test]
fn speed_bench_takes_questions_of_a_category_and_no_notes_in_place_of_text() {
    let folder = Folder::new();
    let question = |id: u32, category: &str, turns: &str| {
        format!(
            "{{\"question_id\":\"{id}\",\"category\":\"{category}\",\"sub_category\":null,\
             \"turns\":[{turns}],\"source\":\"made up\",\"src_id\":\"{id}\"}}\n"
        )
    };
    let rows = [
        question(1, "coding", "\"first of 1\",\"second of 1\""),
        question(2, "low_entropy", "\"first of 2\""),
    ]
    .concat();
    folder.write("qualitative.jsonl", &rows);
    let all = folder.open("speed-bench", "qualitative.jsonl", "");
    assert_eq!(texts(&all), ["first of 1", "first of 2"]);
    assert_eq!(items(&all)[0].turns[0].output_tokens, Some(4096));
    let some = folder.open("speed_bench", "qualitative.jsonl", "?category=low_entropy&output=64");
    assert_eq!(texts(&some), ["first of 2"]);
    let note = "\"FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH\"";
    let hub = [rows, question(3, "math", note)].concat();
    folder.write("hub.jsonl", &hub);
    let error = folder.error("speed-bench", "hub.jsonl", "");
    assert!(error.contains("prepare.py"), "{error}");
    let rest = folder.open("speed-bench", "hub.jsonl", "?bad_rows=skip");
    assert_eq!(texts(&rest).len(), 2);
}

#[test]
fn a_malformed_row_is_named_and_stops_or_is_left_out() {
    let folder = Folder::new();
    let good = "{\"prompt\":\"fine\"}\n";
    for (name, content, line, reason) in [
        ("cut.jsonl", format!("{good}{{\"prompt\":\n{good}").into_bytes(), 2, "not JSON"),
        (
            "column.jsonl",
            format!("{good}{good}{{\"text2\":\"x\"}}\n").into_bytes(),
            3,
            "no column for prompt or messages",
        ),
        ("kind.jsonl", format!("5\n{good}").into_bytes(), 1, "not an object but a number"),
        (
            "empty.jsonl",
            format!("{good}{{\"prompt\":\"\"}}\n").into_bytes(),
            2,
            "the prompt is empty",
        ),
        (
            "tokens.jsonl",
            format!("{good}{{\"prompt\":\"x\",\"max_tokens\":-3}}\n").into_bytes(),
            2,
            "not a number above 0",
        ),
        (
            "turns.jsonl",
            format!("{{\"messages\":[]}}\n{good}").into_bytes(),
            1,
            "the conversation has no turns",
        ),
        (
            "utf8.jsonl",
            [good.as_bytes(), b"{\"prompt\":\"\xff\"}\n"].concat(),
            2,
            "not UTF-8 at byte 11",
        ),
        (
            "list.json",
            b"[{\"prompt\":\"fine\"},\n{\"prompt\":},\n{\"prompt\":\"fine\"}]".to_vec(),
            2,
            "not JSON",
        ),
        ("fields.csv", b"prompt,x\nfine,1\nfine\n".to_vec(), 3, "1 fields where the header has 2"),
        ("utf8.csv", b"prompt,x\nfine,1\n\xff,2\n".to_vec(), 3, "not UTF-8 in the column prompt"),
    ] {
        folder.write(name, &content);
        let error = folder.error("custom", name, "");
        assert!(error.starts_with(&format!("{name}:{line}: ")), "{error}");
        assert!(error.contains(reason), "{error}");
        assert!(error.ends_with("fix the row, or skip such rows with bad_rows=skip"), "{error}");
        let opened = folder.open("custom", name, "?bad_rows=skip");
        assert!(texts(&opened).iter().all(|text| text == "fine"), "{name}");
        let rows = opened.facts.rows.unwrap();
        assert_eq!((rows.bad, rows.kept + 1), (1, rows.read), "{name}");
        assert!(rows.bad_rows[0].starts_with(&format!("{name}:{line}: ")), "{:?}", rows.bad_rows);
    }
}

#[test]
fn a_file_that_is_no_data_set_says_why() {
    let folder = Folder::new();
    let utf16 = "\u{feff}[]".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    folder.write("utf16.json", utf16);
    folder.write("open.json", "[{\"prompt\":\"x\"},\n");
    folder.write("half.json", "{\n\"rows\": [");
    folder.write("other.json", "{\n\"x\": 5}");
    folder.write("empty.jsonl", "");
    folder.write("header.csv", "a,b\n1,2\n");
    folder.write("packed.jsonl.gz", "x");
    folder.write("bad.jsonl", "{}\n[]\nx\n");
    // A quotation mark that nobody closes.
    folder.write("quote.csv", [b"prompt\n\"".as_slice(), &vec![b'x'; 65 << 20]].concat());
    fs::create_dir(folder.0.path().join("nothing")).unwrap();
    for (name, options, part) in [
        ("quote.csv", "", "a row is longer than 64 MiB; is a quotation mark open?"),
        ("utf16.json", "", "utf16.json: is written in UTF-16; save it as UTF-8"),
        ("open.json", "", "the list is not closed: the file ends in line 2"),
        ("half.json", "", "is not JSON"),
        ("other.json", "", "without a list of rows (looked for rows, data"),
        ("empty.jsonl", "", "none of 0 rows can be sent: there are none"),
        ("header.csv", "", "there is a, b; map one, as in prompt:NAME"),
        ("packed.jsonl.gz", "", "is compressed (gz); unpack it first"),
        ("bad.jsonl", "?bad_rows=skip", "none of 3 rows can be sent: 3 malformed (bad.jsonl:1: "),
        ("nothing", "", "is a folder without a file of rows"),
        ("missing.json", "", "cannot read"),
        ("bad.jsonl", "?columns=prompt", "columns=prompt:NAME"),
        ("bad.jsonl", "?columns=pormpt:x", "'pormpt' is none of them"),
        ("bad.jsonl", "?order=best", "file, shuffle, hf"),
    ] {
        let error = folder.error("custom", name, options);
        assert!(error.contains(part), "{name}{options}: {error}");
    }
    // Filters may leave nothing too.
    folder.write(
        "short.json",
        "[{\"conversations\":[{\"value\":\"a\"},{\"value\":\"b\"}]},{\"conversations\":[]}]",
    );
    let error = folder.error("sharegpt", "short.json", "");
    assert!(
        error.contains(
            "none of 2 rows can be sent: 1 with too few turns, 1 with a prompt that is too short"
        ),
        "{error}"
    );
    folder.write("turns.json", "[{\"conversations\":[{\"from\":\"human\"},{\"value\":\"b\"}]}]");
    let error = folder.error("sharegpt", "turns.json", "");
    assert!(error.contains("turns.json:1: the first turn has no text in 'value'"), "{error}");
}

#[test]
fn columns_can_be_mapped_and_rows_shuffled() {
    let folder = Folder::new();
    let rows = (0..50).map(|index| {
        format!(
            "{}\n",
            json!({"in": {"q": format!("question {index}")}, "gold": "a b c", "sys": "be short"})
        )
    });
    folder.write("q.jsonl", rows.collect::<String>());
    let columns = "?columns=prompt:in.q,answer:gold,system:sys";
    let mut request = folder.request("custom", "q.jsonl", columns);
    let opened = open(&request, &tokenizer()).unwrap();
    let first = &items(&opened)[0].turns[0];
    let expected =
        vec![Message::text(Role::System, "be short"), Message::text(Role::User, "question 0")];
    assert_eq!(first.prompt, Prompt::Messages(expected));
    assert_eq!(first.output_tokens, Some(tokenizer().encode("a b c").unwrap().len() as u32));
    request.output_tokens = Some("7-9".parse::<Lengths>().unwrap());
    let opened = open(&request, &tokenizer()).unwrap();
    let outputs = items(&opened).into_iter().map(|item| item.turns[0].output_tokens.unwrap());
    assert!(outputs.clone().all(|tokens| (7..=9).contains(&tokens)));
    assert!(outputs.clone().min() < outputs.max());
    // Python 3.11.7: `xs = list(range(50)); random.seed(3); random.shuffle(xs); xs[:4]`.
    let shuffled = folder.open("custom", "q.jsonl", "?columns=prompt:in.q&order=shuffle&seed=3");
    let expected = [25, 49, 11, 17].map(|index| format!("question {index}"));
    assert_eq!(texts(&shuffled)[..4], expected);
    // In the file's order no more is read than is needed.
    let ten = folder.open("custom", "q.jsonl", "?columns=prompt:in.q&items=10");
    let rows = ten.facts.rows.unwrap();
    assert_eq!((rows.kept, ten.facts.items), (10, Some(10)));
}

#[test]
fn no_more_is_taken_than_a_run_sends_unless_asked_for() {
    let folder = Folder::new();
    folder.write("many.jsonl", "{\"prompt\":\"a\"}\n".repeat(100_600));
    let opened = folder.open("custom", "many.jsonl", "");
    assert_eq!(opened.facts.items, Some(100_000));
    assert!(opened.facts.rules.iter().any(|rule| rule.contains("the first 100000 items")));
    assert!(!opened.facts.rows.unwrap().whole);
    let more = folder.open("custom", "many.jsonl", "?items=100500");
    assert_eq!(more.facts.items, Some(100_500));
}

#[test]
fn edits_have_vllms_wording() {
    let folder = Folder::new();
    let rows = json!([
        {"code": "x = 1", "change_request": "make it 2", "norm_distance": 0.5},
        {"code": "y", "change_request": "z", "norm_distance": 0.9}
    ]);
    folder.write("edit.json", rows.to_string());
    let opened = folder.open("edit-10k-chars", "edit.json", "?max_distance=0.8");
    assert_eq!(
        texts(&opened),
        ["Given a code file, please apply the change requests and generate the new file.\n\n\
          Original file:\n```python\nx = 1\n```\n\nChange request:\nmake it 2\n\n\
          Please generate the new code file in the \"New file\" section below."]
    );
    assert_eq!(items(&opened)[0].turns[0].output_tokens, Some(4000));
    let dropped = opened.facts.rows.unwrap().dropped;
    assert_eq!(dropped.get(&DropReason::DistanceOutside), Some(&1));
}

#[test]
fn batch_files_keep_their_fields() {
    let folder = Folder::new();
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    let lines = [
        json!({"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {
            "model": "m", "max_tokens": 9, "temperature": 0.5, "tools": tools, "stream": false,
            "messages": [{"role": "user", "content": "hello"}]}}),
        json!({"messages": [{"role": "user", "content": "plain"}]}),
        json!({"body": {"prompt": [1, 2, 3], "max_tokens": 4}}),
        json!({"body": {"input": "embed me"}}),
    ];
    folder.write("batch.jsonl", lines.map(|line| format!("{line}\n")).concat());
    let opened = folder.open("openai-batch", "batch.jsonl", "");
    let items = items(&opened);
    let first = &items[0].turns[0];
    assert_eq!(first.prompt, Prompt::Messages(vec![Message::text(Role::User, "hello")]));
    assert_eq!(first.output_tokens, Some(9));
    let fields = serde_json::to_value(first.fields.as_deref().unwrap()).unwrap();
    assert_eq!(fields, json!({"temperature": 0.5, "tools": tools}));
    assert_eq!((&items[1].turns[0].fields, items[1].turns[0].output_tokens), (&None, None));
    assert_eq!(items[2].turns[0].prompt, Prompt::Tokens(vec![1, 2, 3]));
    assert_eq!(opened.facts.rows.unwrap().dropped.get(&DropReason::NotText), Some(&1));
}

#[test]
fn conversations_become_turns() {
    let folder = Folder::new();
    let talk = json!([
        {"conversations": [
            {"from": "gpt", "value": "left over"},
            {"from": "human", "value": "one"}, {"from": "gpt", "value": "first answer"},
            {"from": "human", "value": "two"}, {"from": "gpt", "value": "second answer"},
            {"from": "human", "value": "unanswered"}]},
        {"conversations": [{"from": "human", "value": "alone"}]},
        {"messages": [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}]}
    ]);
    folder.write("talk.json", talk.to_string());
    let opened = folder.open("sharegpt-chat", "talk.json", "?think=2s");
    assert!(opened.dataset.has_conversations());
    assert_eq!(opened.facts.turns_max, 2);
    let list = items(&opened);
    assert_eq!(list.iter().map(|item| item.turns.len()).collect::<Vec<_>>(), [2, 1]);
    let user = |text: &str| Prompt::Messages(vec![Message::text(Role::User, text)]);
    let turns = &list[0].turns;
    assert_eq!((&turns[0].prompt, turns[0].think_ns), (&user("one"), 0));
    assert_eq!((&turns[1].prompt, turns[1].think_ns), (&user("two"), 2_000_000_000));
    assert!(turns.iter().all(|turn| turn.recorded_answer.is_none()), "the server answers");
    assert!(turns[0].output_tokens > Some(1));
    assert_eq!(opened.facts.rows.unwrap().dropped.get(&DropReason::TooFewTurns), Some(&1));
    let mut request = folder.request("sharegpt-chat", "talk.json", "?turns_min=2");
    request.answers = Some(Answers::Recorded);
    let recorded = open(&request, &tokenizer()).unwrap();
    let turns = items(&recorded).remove(0).turns;
    let answer = Message::text(Role::Assistant, "first answer");
    assert_eq!(turns[0].recorded_answer.as_ref(), Some(&answer));
    assert!(recorded.facts.rules.contains(&"later turns carry the recorded answers".to_owned()));
}

#[test]
fn agents_call_tools() {
    let folder = Folder::new();
    let trace = json!({"tools": [{"type": "function"}], "messages": [
        {"role": "user", "content": "what is in here?"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "c1", "function": {"name": "ls", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "three files"},
        {"role": "assistant", "content": "three files are here"}]});
    folder.write("agent.jsonl", format!("{trace}\n"));
    let opened = folder.open("agent-trace", "agent.jsonl", "?tool_time=1s");
    let turns = items(&opened).remove(0).turns;
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[0].recorded_answer.as_ref().unwrap().tool_calls[0].name, "ls");
    assert_eq!(turns[1].think_ns, 1_000_000_000);
    assert!(turns.iter().all(|turn| turn.fields.as_ref().unwrap().contains_key("tools")));
    // Where the server's answer is carried, the ids of the recorded calls are still known.
    let opened = folder.open("agent-trace", "agent.jsonl", "?answers=server");
    let turns = items(&opened).remove(0).turns;
    assert_eq!((turns.len(), &turns[0].recorded_answer), (2, &None));
    assert_eq!((turns[0].recorded_calls[0].id.as_str(), turns[1].recorded_calls.len()), ("c1", 0));
    // SGLang's form, a document of lists of turns.
    let sglang = json!({"metadata": {}, "conversations": [[
        {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}], "prompt_tokens": 5},
        {"messages": [{"role": "user", "content": "again"}]}]]});
    folder.write("steps.json", serde_json::to_string_pretty(&sglang).unwrap());
    let opened = folder.open("agentic_trace", "steps.json", "?answers=server");
    let turns = items(&opened).remove(0).turns;
    assert_eq!(turns.iter().map(|turn| turn.output_tokens).collect::<Vec<_>>(), [Some(220); 2]);
    let Prompt::Messages(first) = &turns[0].prompt else { panic!("these are messages") };
    assert_eq!(first.len(), 2);
}

#[test]
fn traces_share_blocks_and_keep_time() {
    let folder = Folder::new();
    let lines = [
        json!({"timestamp": 3000, "input_length": 1100, "output_length": 5, "hash_ids": [1, 2, 3]}),
        json!({"timestamp": 1000, "input_length": 1024, "output_length": 6, "hash_ids": [1, 2]}),
        json!({"timestamp": 1500, "input_length": 600, "output_length": 7, "hash_ids": [9, 4]}),
        json!({"timestamp": 1600, "input_length": 700, "output_length": 0, "hash_ids": []}),
        json!({"timestamp": 4000, "input_length": 700, "output_length": 8, "hash_ids": [1]}),
    ];
    folder.write("trace.jsonl", lines.map(|line| format!("{line}\n")).concat());
    let opened = folder.open("mooncake", "trace.jsonl", "?speed=2");
    assert!(opened.facts.timed && opened.facts.ignore_eos);
    assert_eq!(opened.facts.rows.as_ref().unwrap().dropped.get(&DropReason::Failed), Some(&1));
    let list = items(&opened);
    let times = list.iter().map(|item| item.at_ns.unwrap() / 1_000_000).collect::<Vec<_>>();
    assert_eq!(times, [0, 250, 1000, 1500]);
    let ids =
        texts(&opened).iter().map(|text| tokenizer().encode(text).unwrap()).collect::<Vec<_>>();
    let lengths = ids.iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(lengths, [1024, 600, 1100, 700]);
    assert_eq!(ids[0][..1024], ids[2][..1024], "blocks 1 and 2");
    assert_eq!(ids[0][..512], ids[3][..512], "block 1");
    assert_ne!(ids[0][512..700], ids[3][512..], "what no block stands for is a prompt's own");
    assert_ne!(ids[0][0..512], ids[1][0..512], "block 9");
    let again = folder.open("mooncake", "trace.jsonl", "?after=repeat");
    let later = again.dataset.item(4).unwrap();
    assert_eq!((later.at_ns, later.turns[0].prompt_tokens), (None, Some(1024)));
    let error = folder.error("mooncake", "trace.jsonl", "?speed=0");
    assert!(error.contains("a number above 0"), "{error}");
}

#[test]
fn bursts_keep_time_and_lengths() {
    let folder = Folder::new();
    folder.write(
        "burst.csv",
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
         5,ChatGPT,472,18,490,Conversation log\n45.5,GPT-4,1087,230,1317,API log\n\
         118,GPT-4,417,0,417,API log\n",
    );
    let opened = folder.open("burstgpt", "burst.csv", "");
    let list = items(&opened);
    let times = list.iter().map(|item| item.at_ns.unwrap()).collect::<Vec<_>>();
    assert_eq!(times, [0, 40_500_000_000]);
    let lengths =
        list.iter().map(|item| (item.turns[0].prompt_tokens, item.turns[0].output_tokens));
    assert_eq!(lengths.collect::<Vec<_>>(), [(Some(472), Some(18)), (Some(1087), Some(230))]);
    for (item, tokens) in list.iter().zip([472, 1087]) {
        let text = item.turns[0].prompt.as_text().unwrap();
        assert_eq!(tokenizer().encode(text).unwrap().len(), tokens);
    }
    let gpt4 = folder.open("burstgpt", "burst.csv", "?model=GPT-4");
    assert_eq!(gpt4.facts.rows.unwrap().dropped.get(&DropReason::OtherModel), Some(&1));
    folder.write("time.csv", "Timestamp,Request tokens,Response tokens\nnow,5,5\n");
    let error = folder.error("burstgpt", "time.csv", "");
    assert!(error.contains("time.csv:2: the time stamp is not a number"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..Default::default() })]

    /// Whatever stands in a file: no panic, and no more items than rows.
    #[test]
    fn any_bytes_are_an_answer_or_an_error(
        content in prop_oneof![
            "[\\[\\]{}\",:a\\\\ \\n]{0,80}".prop_map(String::into_bytes),
            proptest::collection::vec(any::<u8>(), 0..80),
        ],
        ending in prop_oneof![Just("json"), Just("jsonl"), Just("csv"), Just("parquet")],
    ) {
        let folder = Folder::new();
        let name = format!("x.{ending}");
        folder.write(&name, content);
        for kind in ["custom", "sharegpt", "sharegpt-chat", "mooncake"] {
            let mut request = folder.request(kind, &name, "");
            request.on_bad_row = OnBadRow::Skip;
            match open(&request, &tokenizer()) {
                Ok(opened) => {
                    let rows = opened.facts.rows.unwrap();
                    prop_assert!(rows.kept <= rows.read);
                    prop_assert_eq!(opened.dataset.items(), Some(rows.kept as u32));
                }
                Err(error) => prop_assert!(!matches!(error, WorkloadError::BadRow { .. }), "{}", error),
            }
        }
    }

    /// Rows written as JSON come back in each layout, whatever their texts hold.
    #[test]
    fn any_texts_come_back(texts_in in proptest::collection::vec("\\PC{1,40}|[\\[\\]{}\",\\\\\\n]{1,20}", 1..8)) {
        let folder = Folder::new();
        let rows = texts_in.iter().map(|text| json!({"prompt": text})).collect::<Vec<_>>();
        folder.write("a.jsonl", rows.iter().map(|row| format!("{row}\n")).collect::<String>());
        folder.write("a.json", serde_json::to_string_pretty(&rows).unwrap());
        folder.write("b.json", json!({"data": rows}).to_string());
        for name in ["a.jsonl", "a.json", "b.json"] {
            prop_assert_eq!(&texts(&folder.open("custom", name, "")), &texts_in);
        }
    }
}
