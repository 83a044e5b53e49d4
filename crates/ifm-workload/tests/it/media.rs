//! Media in prompts: the same from the same seed, by their laws, and what is wrong with files.
use std::{collections::HashSet, fs, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ifm_core::{Carried, ImageDetail, Medium, MediumKind, Prompt};
use ifm_workload::{
    Carry, FAR_ITEM, OnBadRow, OpenedWorkload, WorkItem, WorkloadRequest, open, preview, thumbnail,
};

use crate::tokenizer;

fn opened(text: &str) -> OpenedWorkload {
    open(&WorkloadRequest::new(text, 3), &tokenizer()).unwrap_or_else(|error| panic!("{error}"))
}

fn error(text: &str) -> String {
    match open(&WorkloadRequest::new(text, 3), &tokenizer()) {
        Ok(_) => panic!("{text} opens"),
        Err(error) => error.to_string(),
    }
}

fn item(opened: &OpenedWorkload, id: u32) -> WorkItem {
    opened.dataset.item(id).expect("there is such an item")
}

fn media(item: &WorkItem) -> Vec<Arc<Medium>> {
    item.turns.iter().flat_map(|turn| turn.prompt.media()).cloned().collect()
}

fn text(item: &WorkItem) -> String {
    match &item.turns[0].prompt {
        Prompt::Text(text) => text.clone(),
        Prompt::Messages(messages) => messages[0].content.clone(),
        Prompt::Tokens(_) => panic!("no text"),
    }
}

#[test]
fn the_same_seed_sends_the_same_bytes_in_any_order() {
    let name = "random:40/5?image=64x48:0.5,32x32:0.5&images=1-3&audio=100ms&video=16x16x2";
    let (one, other) = (opened(name), opened(name));
    let ordered: Vec<WorkItem> = (0..24).map(|id| item(&one, id)).collect();
    // Backwards nothing is made ahead; on two threads at once, both get the same.
    for id in (0..24).rev() {
        assert_eq!(item(&other, id), ordered[id as usize]);
    }
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for id in 0..24 {
                    assert_eq!(item(&one, id), ordered[id as usize]);
                }
            });
        }
    });
    let digests: Vec<_> = ordered.iter().flat_map(media).map(|medium| medium.sha256).collect();
    assert_eq!(digests.iter().collect::<HashSet<_>>().len(), digests.len(), "each is its own");
    let changed = open(&WorkloadRequest::new(name, 4), &tokenizer()).unwrap();
    assert_ne!(media(&item(&changed, 0))[0].sha256, digests[0]);
}

#[test]
fn the_text_is_what_it_is_without_media() {
    for name in ["random:60/7", "sonnet:200/5", "prefix-repetition:30+20/4", "agents:200/5?turns=2"]
    {
        let mark = if name.contains('?') { '&' } else { '?' };
        let plain = opened(name);
        let dressed = opened(&format!("{name}{mark}image=16x16"));
        for id in 0..5 {
            let (plain, dressed) = (item(&plain, id), item(&dressed, id));
            assert_eq!(text(&dressed), text(&plain), "{name}");
            assert_eq!(dressed.turns[0].prompt_tokens, plain.turns[0].prompt_tokens);
            assert_eq!(dressed.turns[0].output_tokens, plain.turns[0].output_tokens);
            let media: Vec<_> = dressed.turns[0].prompt.media().collect();
            assert_eq!((media.len(), media[0].size), (1, Some((16, 16))));
            assert!(plain.turns[0].prompt.media().next().is_none());
        }
    }
    let every = opened("agents:200/5?turns=3&image=16x16&media_turns=every&media_at=end");
    let item = item(&every, 0);
    assert_eq!(media(&item).len(), item.turns.len());
    let Prompt::Messages(messages) = &item.turns[1].prompt else { panic!("no messages") };
    let heard = messages.iter().find(|message| !message.media.is_empty()).unwrap();
    assert_eq!(heard.media[0].at, heard.content.len());
}

#[test]
fn laws_are_met() {
    let workload = opened("random:20/5?image=8x8:0.7,16x8:0.3&images=1-3");
    let items: Vec<_> = (0..600).map(|id| media(&item(&workload, id))).collect();
    let all: Vec<_> = items.iter().flatten().collect();
    assert!((1080..1320).contains(&all.len()), "{}", all.len());
    let small = all.iter().filter(|medium| medium.size == Some((8, 8))).count() as f64;
    assert!((0.64..0.76).contains(&(small / all.len() as f64)), "{small} of {}", all.len());
    let facts = workload.facts.media.unwrap();
    assert_eq!((facts.kinds[0].law.as_str(), facts.distinct), ("8x8:0.7,16x8:0.3", None));
    // What a name leaves out would make unlike loads look alike.
    for (name, told) in [
        ("20/5?image=8x8", "20/5 + image 8x8"),
        ("chat?image=8x8&media_pool=1", "chat + image 8x8"),
        ("asr-30s?media_pool=1", "asr-30s"),
        ("audio:100ms", "audio:100ms"),
    ] {
        assert_eq!(opened(name).facts.name, told);
    }
    let sound = opened("audio:100ms-300ms?audio_rate=8000");
    for id in 0..20 {
        let item = item(&sound, id);
        assert_eq!((text(&item).as_str(), item.turns[0].prompt_tokens), ("", None));
        let ns = media(&item)[0].duration_ns.unwrap();
        assert!((100_000_000..=300_000_000).contains(&ns), "{ns}");
    }
}

#[test]
fn a_pool_is_shared_by_its_law() {
    let uniform = opened("random:20/5?image=8x8&images=2&media_pool=10");
    let zipf = opened("random:20/5?image=8x8&images=2&media_pool=10&media_reuse=zipf:1.5");
    let most = |workload: &OpenedWorkload| {
        let all: Vec<_> = (0..500).flat_map(|id| media(&item(workload, id))).collect();
        let distinct: HashSet<_> = all.iter().map(|medium| medium.sha256).collect();
        assert_eq!(distinct.len(), 10);
        distinct.iter().map(|it| all.iter().filter(|m| m.sha256 == *it).count()).max().unwrap()
    };
    assert!(most(&uniform) < 150);
    assert!(most(&zipf) > 400);
    let facts = zipf.facts.media.clone().unwrap();
    assert_eq!(facts.distinct, Some(10));
    assert!(facts.kinds[0].file_bytes_mean.unwrap() > 100.0);
    let looked = preview(&*zipf.dataset, 100).unwrap().media.unwrap();
    assert_eq!((looked.images, looked.distinct, looked.pixels), (200, 10, Some(200 * 64)));
    assert!((looked.known_share - 0.95).abs() < 1e-9, "{}", looked.known_share);
    let own = preview(&*opened("random:20/5?image=8x8").dataset, 50).unwrap().media.unwrap();
    assert_eq!((own.distinct, own.known_share), (50, 0.0));
    assert!(preview(&*opened("random:20/5").dataset, 5).unwrap().media.is_none());
}

#[test]
fn names_stand_alone_for_what_was_sent() {
    let name = "random:20/5?image=8x8&images=2&media_pool=6&media_uuid=name";
    let workload = opened(name);
    let mut sent = HashSet::new();
    for id in 0..40 {
        for medium in media(&item(&workload, id)) {
            let uuid = medium.uuid.clone().expect("it bears a name");
            let is_name = medium.carried == Carried::Name;
            assert_eq!(is_name, !sent.insert(uuid), "item {id}");
        }
    }
    assert_eq!(sent.len(), 6);
    // A level that begins again gets what it got.
    assert_eq!(item(&workload, 0), item(&opened(name), 0));
    // Beside a run nothing was sent before, however far that is.
    assert!(media(&item(&workload, FAR_ITEM)).iter().all(|it| it.carried != Carried::Name));
    let plain = opened("random:20/5?image=8x8&media_uuid=yes");
    assert!(media(&item(&plain, 1))[0].uuid.is_some());
}

#[test]
fn options_that_cannot_be_are_told() {
    for (options, part) in [
        ("image=0x5", "the smallest is 1x1"),
        ("image=20000x20000", "16383x10923 is about the largest"),
        ("audio=7h", "the longest is 6h"),
        ("video=640x360x5000", "1 to 4096 frames"),
        ("imge=720p", "did you mean 'image'?"),
        ("image=720p,360p", "with their shares"),
        ("image=/no/such/folder", "no such file or folder"),
        ("image=huge", "or a folder or a file"),
        ("image=720p:1,huge:1", "'image=720p:1,huge:1': 'huge:1': 'image' takes"),
        ("image=640/360", "'image' takes a size as 640x360"),
        ("audio=long", "'audio=long': 'audio' takes a length as 30s"),
        ("video=640x360", "'video=640x360': 'video' takes a size and a number of frames"),
        ("image=720p&images=0", "'images' takes how many a request carries, 1 to 1024: as 2, 1-3"),
        ("image=720p&images=5000", "'images=5000': 'images' takes"),
        ("image=720p&images=1:8,x:2", "'images=1:8,x:2': 'images' takes"),
        ("image=720p&images=histogram(no.csv)", "cannot read no.csv"),
        ("audio=30s&audios=three", "'audios=three': 'audios' takes"),
        ("image=8x8&images=1000&audio=9ms&audios=100", "give 1024 media a request"),
        ("image=720p&image_kind=cat", "one of photo, noise, blank"),
        ("image=720p&image_quality=0", "from 1 to 100"),
        ("image_detail=low", "the workload has no images"),
        ("image=8x8&image_detail=medium", "one of low, high, auto"),
        ("image=no.parquet", "no such file"),
        ("image=no.mp4", "no such file"),
        ("images=2", "'images' needs images to apply to"),
        ("media_pool=2", "'media_pool' needs media"),
        ("image=8x8&media_pool=0", "1 to 1048576, as media_pool=20"),
        ("image=8x8&media_pool=abc", "'media_pool' needs a number of different media from 1"),
        ("audio=1s&audio_rate=abc", "'audio_rate' needs samples a second from 4000 to 192000"),
        ("video=8x8x2&fps=0", "'fps' needs frames a second from 0.01 to 240, as fps=2"),
        ("image=8x8&media_reuse=zipf:1", "media_pool=20"),
        ("image=8x8&media_pool=2&media_reuse=often", "zipf:1.1"),
        ("audio=30s&audio_rate=1", "4000 to"),
        ("image=8x8&media_uuid=name&media_turns=every", "first turns"),
    ] {
        let found = error(&format!("9/9?{options}"));
        assert!(found.contains(part), "{options}: {found}");
    }
    let ids = opened("random-ids:20/5?image=8x8");
    let found = ids.dataset.item(0).unwrap_err().to_string();
    assert!(found.contains("token ids"), "{found}");
}

#[test]
fn it_is_said_how_closely_to_look() {
    let workload = opened("random:20/5?image=8x8&image_detail=low&audio=100ms");
    let details: Vec<_> = media(&item(&workload, 0)).iter().map(|it| it.detail).collect();
    assert_eq!(details, [Some(ImageDetail::Low), None]);
    assert!(workload.facts.media.unwrap().kinds[0].made.ends_with(", detail low"));
    let folder = Folder::new();
    folder.write("a.jpg", &file("image=24x16"));
    let part = |more: &str| {
        let part = format!(r#"{{"type":"image_url","image_url":{{"url":"a.jpg"{more}}}}}"#);
        format!(r#"{{"messages":[{{"role":"user","content":[{part}]}}]}}"#)
    };
    let rows = [part(""), part(r#","detail":"high""#)].join("\n");
    folder.write("rows.jsonl", rows.as_bytes());
    let name = format!("custom:{}", folder.path("rows.jsonl"));
    let details = |name: &str| {
        let workload = opened(name);
        [0, 1].map(|id| media(&item(&workload, id))[0].detail)
    };
    assert_eq!(details(&name), [None, Some(ImageDetail::High)]);
    assert_eq!(details(&format!("{name}?image_detail=auto")), [Some(ImageDetail::Auto); 2]);
    folder.write("rows.jsonl", part(r#","detail":"some""#).as_bytes());
    assert!(error(&name).contains("the detail 'some' of an image is none of low, high, auto"));
}

#[test]
fn media_of_rows_stand_in_any_prompt() {
    let folder = Folder::new();
    for (name, size) in [("a.jpg", "24x16"), ("b.jpg", "32x16"), ("c.jpg", "40x16")] {
        folder.write(name, &file(&format!("image={size}")));
    }
    let base64 = STANDARD.encode(file("image=48x16"));
    let rows = [
        r#"{"photo":"a.jpg","x":1}"#.to_owned(),
        r#"{"photo":null}"#.to_owned(),
        r#"{"photo":["b.jpg",{"path":"c.jpg"}]}"#.to_owned(),
        format!(r#"{{"photo":{{"bytes":"{base64}"}}}}"#),
    ];
    folder.write("rows.jsonl", rows.join("\n").as_bytes());
    let path = folder.path("rows.jsonl");
    let widths = |name: &str, count| {
        let workload = opened(name);
        let of = |id| media(&item(&workload, id)).iter().map(|it| it.size.unwrap().0).collect();
        (0..count).map(of).collect::<Vec<Vec<u32>>>()
    };
    let name = format!("random:20/5?image={path}&columns=image:photo");
    assert_eq!(widths(&name, 5), [[24], [32], [40], [48], [24]]);
    let two = widths(&format!("{name}&media_pool=3&images=2"), 2);
    assert_eq!(two, [[24, 32], [40, 24]]);
    assert_eq!(widths(&format!("9/9?image={}", folder.path("c.jpg")), 2), [[40], [40]]);
    let facts = opened(&name).facts;
    assert_eq!(
        (facts.files[0].name.as_str(), facts.name.as_str()),
        ("rows.jsonl", "20/5 + image rows.jsonl")
    );
    assert_eq!(facts.media.unwrap().distinct, Some(4));
    folder.write("rows.jsonl", b"{\"photo\":\"missing.jpg\"}");
    assert!(error(&name).contains("rows.jsonl:1: missing.jpg: cannot read it"));
    folder.write("rows.jsonl", b"{\"photo\":null}");
    assert!(error(&name).contains("rows.jsonl"));
}

/// Rows as AIPerf has them, and names that vLLM knows.
#[test]
fn names_and_lists_of_other_tools_are_read() {
    let folder = Folder::new();
    folder.write("a.jpg", &file("image=24x16"));
    let sound = STANDARD.encode(file("audio=500ms"));
    let rows = [
        r#"{"texts":["one","two"],"images":[{"name":"n","contents":["a.jpg","a.jpg"],"uuids":["u","v"]}],"output_length":7}"#.to_owned(),
        r#"{"text":"three","image_uuids":["w"]}"#.to_owned(),
        format!(r#"{{"text":"four","audio":"wav,{sound}"}}"#),
        r#"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":null,"uuid":"x"},{"type":"image_url","image_url":{"url":"a.jpg"},"uuid":"y"}]}]}"#.to_owned(),
    ];
    folder.write("rows.jsonl", rows.join("\n").as_bytes());
    let workload = opened(&format!("custom:{}", folder.path("rows.jsonl")));
    let items: Vec<_> = (0..4).map(|id| item(&workload, id)).collect();
    assert_eq!(items.iter().map(text).collect::<Vec<_>>(), ["one\ntwo", "three", "four", ""]);
    assert_eq!(items[0].turns[0].output_tokens, Some(7));
    let named = |id: usize| -> Vec<(Option<String>, bool)> {
        let is_name = |it: &Arc<Medium>| (it.uuid.clone(), it.carried == Carried::Name);
        media(&items[id]).iter().map(is_name).collect()
    };
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(named(0), [(name("u"), false), (name("v"), false)]);
    assert_eq!(named(1), [(name("w"), true)]);
    assert_eq!(named(3), [(name("x"), true), (name("y"), false)]);
    assert_eq!(media(&items[2])[0].duration_ns, Some(500_000_000));
    folder.write("rows.jsonl", br#"{"text":"a","images":["a.jpg"],"image_uuids":["u","v"]}"#);
    let found = error(&format!("custom:{}", folder.path("rows.jsonl")));
    assert!(found.contains("2 names in 'image_uuids' for 1 images"), "{found}");
}

/// The files of a folder: images that are made here, and what is no image.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder can be made"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, content: &[u8]) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder is made");
        fs::write(path, content).expect("it is written");
    }
}

fn file(options: &str) -> Vec<u8> {
    let mut request = WorkloadRequest::new(format!("9/9?{options}"), 1);
    request.carry = Carry::File;
    let opened = open(&request, &tokenizer()).unwrap_or_else(|error| panic!("{error}"));
    let medium = media(&item(&opened, 0)).remove(0);
    let Carried::File(bytes) = &medium.carried else { panic!("{medium:?}") };
    bytes.to_vec()
}

#[test]
fn rows_name_and_hold_media() {
    let folder = Folder::new();
    let (jpeg, wav) = (file("image=24x16"), file("audio=500ms&audio_format=flac"));
    folder.write("pictures/a.jpg", &jpeg);
    folder.write("b.flac", &wav);
    let base64 = STANDARD.encode(&jpeg);
    let rows = [
        r#"{"prompt":"one","image":"pictures/a.jpg"}"#.to_owned(),
        r#"{"prompt":"two","images":["pictures/a.jpg","https://x.test/c.png?d"]}"#.to_owned(),
        format!(r#"{{"prompt":"three","image":"data:image/jpeg;base64,{base64}"}}"#),
        format!(r#"{{"prompt":"four","image":{{"bytes":"{base64}","path":null}}}}"#),
        r#"{"audio":"b.flac"}"#.to_owned(),
        r#"{"prompt":"six"}"#.to_owned(),
        format!(
            r#"{{"messages":[{{"role":"user","content":[{{"type":"text","text":"on "}},
            {{"type":"image_url","image_url":{{"url":"pictures/a.jpg"}}}},{{"type":"text","text":"and"}},
            {{"type":"input_audio","input_audio":{{"data":"{}","format":"flac"}}}}]}}]}}"#,
            STANDARD.encode(&wav)
        )
        .replace('\n', " "),
    ];
    folder.write("rows.jsonl", rows.join("\n").as_bytes());
    let workload = opened(&format!("custom:{}", folder.path("rows.jsonl")));
    let items: Vec<_> = (0..7).map(|id| item(&workload, id)).collect();
    let texts: Vec<_> = items.iter().map(text).collect();
    assert_eq!(texts, ["one", "two", "three", "four", "", "six", "on and"]);
    let Prompt::Messages(parts) = &items[6].turns[0].prompt else { panic!("no messages") };
    let places: Vec<_> = parts[0].media.iter().map(|it| (it.at, it.medium.kind)).collect();
    assert_eq!(places, [(3, MediumKind::Image), (6, MediumKind::Audio)]);
    let sizes: Vec<Vec<_>> =
        items.iter().map(|item| media(item).iter().map(|medium| medium.size).collect()).collect();
    let known = Some((24, 16));
    assert_eq!(sizes[..4], [vec![known], vec![known, None], vec![known], vec![known]]);
    assert_eq!(media(&items[4])[0].duration_ns, Some(500_000_000));
    assert_eq!(media(&items[4])[0].mime, "audio/flac");
    assert_eq!(media(&items[1])[1].carried, Carried::Url("https://x.test/c.png?d".to_owned()));
    assert!(matches!(items[5].turns[0].prompt, Prompt::Text(_)), "text alone stays text");
    let facts = workload.facts.media.unwrap();
    assert_eq!((facts.distinct, facts.kinds.len()), (Some(3), 2));
    // The address has no size that is known, so there is no mean.
    assert_eq!(facts.kinds[0].file_bytes_mean, None);
    assert_eq!(facts.kinds[1].file_bytes_mean, Some(wav.len() as f64));
}

/// One message with each kind of part, a call of a tool and its result, in every data set of messages.
#[test]
fn every_reader_of_messages_accepts_media_and_tool_calls() {
    let folder = Folder::new();
    let jpeg = file("image=24x16");
    folder.write("a.jpg", &jpeg);
    let wav = STANDARD.encode(file("audio=500ms"));
    let asked = serde_json::json!({"role": "user", "content": [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "a.jpg", "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": wav, "format": "wav"}},
        {"type": "video_url", "video_url": {"url": "https://x.test/c.mp4"}},
        {"type": "text", "text": " and listen"}]});
    let call = serde_json::json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let result = serde_json::json!({"role": "tool", "tool_call_id": "c1", "content": "42"});
    let answer = serde_json::json!({"role": "assistant", "content": "done"});
    let messages = serde_json::json!([asked, call, result]);
    let talk = serde_json::json!([asked, call, result, answer]);
    let row = |turn: u64, message: &serde_json::Value| {
        let mut row = message.clone();
        row["conversation_id"] = "x".into();
        row["turn"] = turn.into();
        row
    };
    let mut results = row(3, &serde_json::json!({"role": "tool"}));
    results["tool_results"] = serde_json::json!([{"tool_call_id": "c1", "content": "42"}]);
    let rows = [row(1, &asked), row(2, &call), results, row(4, &answer)];
    let lines =
        |rows: &[serde_json::Value]| rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    for (set, text) in [
        (
            "openai-batch",
            lines(&[serde_json::json!({"body": {"messages": messages, "max_tokens": 5}})]),
        ),
        ("openai-batch", lines(&[serde_json::json!({"messages": messages, "max_tokens": 5})])),
        ("custom", lines(&[serde_json::json!({"messages": messages})])),
        ("sharegpt-chat", lines(&[serde_json::json!({"messages": talk})])),
        ("agent-trace", lines(&[serde_json::json!({"messages": talk})])),
        (
            "agent-trace",
            lines(&[serde_json::json!({"messages": [{"messages": [asked, call, result]}]})]),
        ),
        ("mlperf-agent", lines(&rows)),
    ] {
        folder.write("rows.jsonl", text.as_bytes());
        let workload = opened(&format!("{set}:{}", folder.path("rows.jsonl")));
        let item = item(&workload, 0);
        let Prompt::Messages(first) = &item.turns[0].prompt else { panic!("{set}: no messages") };
        assert_eq!(first[0].content, "look and listen", "{set}");
        let places: Vec<_> = first[0].media.iter().map(|it| (it.at, it.medium.kind)).collect();
        let expected = [MediumKind::Image, MediumKind::Audio, MediumKind::Video];
        assert_eq!(places, expected.map(|kind| (4, kind)), "{set}");
        assert_eq!(first[0].media[0].medium.size, Some((24, 16)), "{set}");
        let turns = || item.turns.iter();
        let said = turns().filter_map(|turn| match &turn.prompt {
            Prompt::Messages(messages) => Some(messages.iter()),
            _ => None,
        });
        let said: Vec<_> =
            said.flatten().chain(turns().filter_map(|it| it.recorded_answer.as_ref())).collect();
        // The answer of the server takes the place of a recorded call where no answers are recorded.
        let has_call =
            said.iter().any(|message| message.tool_calls.iter().any(|call| call.name == "f"));
        assert_eq!(has_call, set != "sharegpt-chat", "{set}");
        let results = said.iter().filter(|message| message.role == ifm_core::Role::Tool);
        let results: Vec<_> =
            results.map(|it| (it.content.as_str(), it.tool_call_id.as_deref())).collect();
        assert_eq!(results, [("42", Some("c1"))], "{set}");
        assert_eq!(workload.facts.media.as_ref().map(|facts| facts.kinds.len()), Some(3), "{set}");
    }
    // What no API has as a part is refused with its type, and a file that is not there with its name.
    for (part, reason) in [
        (r#"{"type":"hologram"}"#, "hologram"),
        (r#"{"type":"image_url","image_url":{"url":"missing.jpg"}}"#, "missing.jpg"),
    ] {
        let row = format!(r#"{{"messages":[{{"role":"user","content":[{part}]}}]}}"#);
        folder.write("rows.jsonl", row.as_bytes());
        for set in ["openai-batch", "custom", "sharegpt-chat", "agent-trace"] {
            let said = error(&format!("{set}:{}", folder.path("rows.jsonl")));
            assert!(said.contains(reason), "{set}: {said}");
        }
    }
}

#[test]
fn files_that_cannot_be_sent_are_told_before_the_load() {
    let folder = Folder::new();
    let jpeg = file("image=24x16");
    let png = file("image=24x16&image_format=png");
    folder.write("good.jpg", &jpeg);
    folder.write("tiny.png", &file("image=1x1&image_format=png"));
    folder.write("cut.jpg", &jpeg[..jpeg.len() - 20]);
    folder.write("cut.png", &png[..png.len() - 20]);
    folder.write("empty.jpg", b"");
    folder.write("text.jpg", b"I am no image\n");
    folder.write("cut.wav", &file("audio=1s")[..9000]);
    let mut huge = png.clone();
    huge[16..24].copy_from_slice(&[0, 0, 0x4e, 0x20, 0, 0, 0x4e, 0x20]);
    let sum = crc32fast::hash(&huge[12..29]);
    huge[29..33].copy_from_slice(&sum.to_be_bytes());
    folder.write("huge.png", &huge);
    let large = fs::File::create(folder.path("large.jpg")).unwrap();
    large.set_len(200 << 20).unwrap();
    for (name, part) in [
        ("cut.jpg", "cut off"),
        ("cut.png", "cut off"),
        ("empty.jpg", "empty"),
        ("text.jpg", "a text"),
        ("huge.png", "20000 x 20000"),
        ("large.jpg", "128 MiB"),
        ("cut.wav", "cut off"),
        ("missing.jpg", "cannot read it"),
        ("", "an empty text"),
        ("data:image/png;base64,@@", "damaged"),
        ("data:,x", "not in base64"),
    ] {
        let column = if name.ends_with("wav") { "audio" } else { "image" };
        let rows = [
            r#"{"prompt":"a","image":"good.jpg"}"#.to_owned(),
            format!(r#"{{"prompt":"b","{column}":"{name}"}}"#),
            r#"{"prompt":"c","image":"tiny.png"}"#.to_owned(),
        ];
        folder.write("rows.jsonl", rows.join("\n").as_bytes());
        let name = format!("custom:{}", folder.path("rows.jsonl"));
        let found = error(&name);
        assert!(found.contains("rows.jsonl:2:") && found.contains(part), "{found}, not {part}");
        let skipped = opened(&format!("{name}?bad_rows=skip"));
        assert_eq!((skipped.facts.items, skipped.facts.rows.unwrap().bad), (Some(2), 1));
    }
    // A recording where an image belongs.
    folder.write("rows.jsonl", br#"{"prompt":"b","audio":"good.jpg"}"#);
    let found = error(&format!("custom:{}", folder.path("rows.jsonl")));
    assert!(found.contains("an image (image/jpeg), where a recording belongs"), "{found}");
    // The folder as a whole: one bad file stops, or is skipped.
    let name = format!("9/9?image={}", folder.0.path().display());
    assert!(error(&name).contains("or leave such files out with bad_rows=skip"));
    let mut request = WorkloadRequest::new(name, 1);
    request.on_bad_row = OnBadRow::Skip;
    let workload = open(&request, &tokenizer()).unwrap();
    let sizes: Vec<_> = (0..3).map(|id| media(&item(&workload, id))[0].size).collect();
    assert_eq!(sizes, [Some((24, 16)), Some((1, 1)), Some((24, 16))]);
    let empty = tempfile::tempdir().unwrap();
    assert!(error(&format!("audio:{}", empty.path().display())).contains("without a file"));
}

#[test]
fn data_sets_of_pictures_and_recordings_are_read() {
    let folder = Folder::new();
    let base64 = STANDARD.encode(file("image=24x16"));
    let image = format!(r#"{{"bytes":"{base64}","path":"x.jpg"}}"#);
    let sound = STANDARD.encode(file("audio=250ms"));
    for (kind, row, expected, at, output) in [
        (
            "vision-arena",
            format!(
                r#"{{"images":[{image},{image}],"conversation":[[{{"role":"user","content":"why"}}],[{{"role":"assistant","content":"so"}}]]}}"#
            ),
            "why",
            vec![0],
            Some(128),
        ),
        (
            "mmstar",
            format!(r#"{{"question":"which?\nOptions: A","image":{image},"answer":"A"}}"#),
            "which?\nOptions: A",
            vec![0],
            Some(128),
        ),
        (
            "mmmu",
            format!(
                r#"{{"question":"In <image 2> and <image 1>?","options":"['a', 'b']","image_1":{image},"image_2":{image},"image_3":null}}"#
            ),
            "In  and ?\nA. a\nB. b",
            vec![3, 8],
            Some(256),
        ),
        (
            "asr",
            format!(r#"{{"audio":{{"bytes":"{sound}","path":"a.wav"}},"text":"one two"}}"#),
            "",
            vec![0],
            None,
        ),
    ] {
        folder.write("rows.jsonl", row.as_bytes());
        let workload = opened(&format!("{kind}:{}", folder.path("rows.jsonl")));
        let item = item(&workload, 0);
        assert_eq!(text(&item), expected, "{kind}");
        let Prompt::Messages(messages) = &item.turns[0].prompt else {
            panic!("{kind}: no message")
        };
        let places: Vec<_> = messages[0].media.iter().map(|placed| placed.at).collect();
        assert_eq!(places, at, "{kind}");
        match output {
            Some(_) => assert_eq!(item.turns[0].output_tokens, output, "{kind}"),
            None => assert!(item.turns[0].output_tokens.unwrap() < 10, "{kind}"),
        }
        folder.write("rows.jsonl", b"{\"question\":\"no image\"}");
        assert!(error(&format!("{kind}:{}", folder.path("rows.jsonl"))).contains("rows.jsonl"));
    }
}

#[test]
fn small_pictures_are_made_of_what_is_sent() {
    let workload = opened("random:9/9?image=400x300&image_kind=noise&audio=300ms&video=32x32x2");
    let media = media(&item(&workload, 0));
    let kinds: Vec<_> = media.iter().map(|medium| medium.kind).collect();
    assert_eq!(kinds, [MediumKind::Image, MediumKind::Audio, MediumKind::Video]);
    for medium in &media {
        let small = thumbnail(medium).expect("it can be drawn");
        assert!(small.bytes.len() <= 20_000, "{} bytes", small.bytes.len());
        match medium.kind {
            MediumKind::Audio => assert_eq!(small.mime, "image/svg+xml"),
            _ => assert!(small.bytes.starts_with(&[0xff, 0xd8]) && small.mime == "image/jpeg"),
        }
    }
    let name = Medium { carried: Carried::Name, ..Medium::clone(&media[0]) };
    assert_eq!(thumbnail(&name), None);
    let broken: Arc<[u8]> = b"AAAA".to_vec().into();
    assert_eq!(thumbnail(&Medium { carried: Carried::File(broken), ..name }), None);
}
