//! What goes in comes out: through the journal, and through sealing.

use crate::fixtures::{any_records, full_record, manifest, records, series, sorted};
use ifm_core::manifest::RunState;
use ifm_core::{Phase, RequestRecord, Series, Validity};
use ifm_store::{JOURNAL_FILE, REQUESTS_FILE, SERIES_FILE, Store, StoreError};
use proptest::prelude::*;

const ID: &str = "20261120-121427-7f3a";

#[test]
fn a_run_reads_back_unsealed_and_sealed_alike() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(Store::default_root(folder.path()));
    let mut writer = store.create(&manifest(ID)).unwrap();
    for record in records().iter().rev() {
        writer.append(record).unwrap();
    }
    for samples in series() {
        writer.append_series(&samples).unwrap();
    }
    writer.tick(0).unwrap();

    let open = store.open(&store.find("last").unwrap()).unwrap();
    assert_eq!(open.data.manifest.state, RunState::Open);
    assert_eq!(open.data.requests, records());
    assert_eq!(open.data.series, series());
    assert_eq!(open.loss, None);

    let sealed = writer.seal(manifest(ID), &[]).unwrap();
    assert_eq!(sealed.requests, records().len() as u64);
    assert_eq!(
        sealed.events,
        records().iter().map(|record| record.events.len() as u64).sum::<u64>()
    );
    assert_eq!(sealed.loss, None);
    let names: Vec<&str> = sealed.manifest.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, [REQUESTS_FILE, SERIES_FILE]);
    for file in &sealed.manifest.files {
        let bytes = std::fs::metadata(sealed.path.join(&file.name)).unwrap().len();
        assert_eq!(file.bytes, bytes, "{}", file.name);
    }
    assert!(!sealed.path.join(JOURNAL_FILE).exists());

    let run = store.find(ID).unwrap();
    assert!(run.sealed);
    let loaded = store.open(&run).unwrap();
    assert_eq!(loaded.data.manifest, sealed.manifest);
    assert_eq!(loaded.data.manifest.state, RunState::Complete);
    assert_eq!(loaded.data.requests, open.data.requests);
    assert_eq!(loaded.data.series, open.data.series);
}

/// Stores the records in a new run and reads them before and after sealing.
fn through(records: &[RequestRecord]) -> (Vec<RequestRecord>, Vec<RequestRecord>) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let mut writer = store.create(&manifest(ID)).unwrap();
    for record in records {
        writer.append(record).unwrap();
    }
    writer.tick(0).unwrap();
    let run = store.find("last").unwrap();
    let open = store.open(&run).unwrap().data.requests;
    writer.seal(manifest(ID), &[]).unwrap();
    (open, store.open(&run).unwrap().data.requests)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_requests_read_back(records in any_records()) {
        let (open, sealed) = through(&records);
        let expect = sorted(records);
        prop_assert_eq!(&open, &expect);
        prop_assert_eq!(&sealed, &expect);
    }
}

#[test]
fn every_phase_and_validity_reads_back() {
    let phases = [Phase::Warmup, Phase::Measure, Phase::Probe];
    let validities = Validity::ALL.iter().copied().map(Some).chain([None]);
    let both = phases.iter().flat_map(|phase| validities.clone().map(move |it| (*phase, it)));
    let records: Vec<RequestRecord> = both
        .zip(0..)
        .map(|((phase, validity), seq)| RequestRecord { phase, validity, ..full_record(seq) })
        .collect();
    assert_eq!(records.len(), 3 * 5);
    assert_eq!(through(&records), (records.clone(), records));
}

#[test]
fn a_run_without_requests_reads_back() {
    let (open, sealed) = through(&[]);
    assert!(open.is_empty() && sealed.is_empty());
}

#[test]
fn rows_come_in_batches_of_bounded_size() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let mut writer = store.create(&manifest(ID)).unwrap();
    let mut record = full_record(0);
    record.events.at_ns = (0..100_000).map(|event| event * 20_000_000).collect();
    for seq in 0..7 {
        record.seq = seq;
        writer.append(&record).unwrap();
    }
    writer.tick(0).unwrap();
    let run = store.find("last").unwrap();
    let sizes = || -> Vec<usize> {
        let (_, batches) = store.read_requests(&run).unwrap();
        batches.map(|batch| batch.unwrap().len()).collect()
    };
    assert_eq!(sizes(), [3, 3, 1]);
    writer.seal(manifest(ID), &[]).unwrap();
    assert_eq!(sizes(), [3, 3, 1]);
}

#[test]
fn samples_of_one_series_come_together() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let mut writer = store.create(&manifest(ID)).unwrap();
    let samples = |source: &str, at_ns: u64| Series {
        name: "power_w".to_string(),
        unit: "W".to_string(),
        source: source.to_string(),
        at_ns: vec![at_ns],
        value: vec![at_ns as f64],
    };
    for at_ns in [1, 2] {
        writer.append_series(&samples("nvml", at_ns)).unwrap();
        writer.append_series(&samples("rapl", at_ns)).unwrap();
    }
    writer.seal(manifest(ID), &[samples("nvml", 3)]).unwrap();
    let loaded = store.open(&store.find("last").unwrap()).unwrap().data.series;
    let found: Vec<(&str, &[u64])> =
        loaded.iter().map(|series| (series.source.as_str(), series.at_ns.as_slice())).collect();
    assert_eq!(found, [("nvml", &[1, 2, 3][..]), ("rapl", &[1, 2][..])]);
}

#[test]
fn values_without_room_are_refused_and_leave_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let mut writer = store.create(&manifest(ID)).unwrap();
    writer.append(&full_record(0)).unwrap();
    let corruptions: [fn(&mut RequestRecord); 4] = [
        |record| record.end_ns = 1 << 63,
        |record| record.wire_bytes = u64::MAX,
        |record| record.tls_ns = Some(u64::MAX),
        |record| record.events.at_ns.push(1 << 63),
    ];
    for corrupt in corruptions {
        let mut record = full_record(1);
        corrupt(&mut record);
        let error = writer.append(&record).unwrap_err();
        assert!(matches!(error, StoreError::Unstorable { seq: 1, .. }), "{error}");
    }
    let mut long = full_record(2);
    long.text = Some("x".repeat(65 << 20));
    assert!(matches!(writer.append(&long), Err(StoreError::Unstorable { seq: 2, .. })));
    let lame = Series { at_ns: vec![1, 2], ..series().remove(0) };
    let error = writer.append_series(&lame).unwrap_err();
    assert!(matches!(error, StoreError::UnstorableSeries { .. }), "{error}");
    writer.seal(manifest(ID), &[]).unwrap();
    let loaded = store.open(&store.find("last").unwrap()).unwrap();
    assert_eq!(loaded.data.requests, [full_record(0)]);
}

#[test]
fn a_manifest_that_would_not_read_back_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let mut writer = store.create(&manifest(ID)).unwrap();
    let mut spoiled = manifest(ID);
    spoiled.health.as_mut().unwrap().reader_busy_share = f64::NAN;
    let error = writer.checkpoint_manifest(&spoiled).unwrap_err();
    assert!(matches!(error, StoreError::UnstorableManifest { .. }), "{error}");
    assert!(store.find(ID).unwrap().manifest.unwrap().health.unwrap().reader_busy_share > 0.0);
}

#[test]
fn checkpoints_replace_the_manifest_and_keep_the_run_open() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let mut writer = store.create(&manifest(ID)).unwrap();
    let mut later = manifest(ID);
    later.levels.clear();
    later.name = Some("later".to_string());
    writer.checkpoint_manifest(&later).unwrap();
    let run = store.find("later").unwrap();
    assert!(!run.sealed);
    let stored = run.manifest.unwrap();
    assert_eq!(stored.state, RunState::Open);
    assert!(stored.levels.is_empty());
}

#[test]
fn a_run_never_marked_complete_is_partial() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let writer = store.create(&manifest(ID)).unwrap();
    let mut open = manifest(ID);
    open.state = RunState::Open;
    assert_eq!(writer.seal(open, &[]).unwrap().manifest.state, RunState::Partial);
}

/// The file's columns are its interface: a name once given stays.
#[test]
fn the_columns_are_those_of_the_format() {
    let names: Vec<&str> = ifm_store::column_names().collect();
    let expect = "seq level phase slot item due_ns start_ns sent_ns head_ns first_event_ns \
        first_answer_ns stream_end_ns end_ns connect_ns tls_ns streamed event_at_ns event_tokens \
        event_choice prompt_tokens_asked output_tokens_asked prompt_tokens_from prompt_tokens \
        output_tokens_from output_tokens first_event_tokens reasoning_tokens cached_tokens \
        accepted_draft_tokens rejected_draft_tokens choices http_status retry_after_s \
        finish_reason outcome error reads stamped_reads co_arrived_events reader_lag_ns_max \
        wire_bytes sent_bytes text session turn agent agent_turns class \
        known_tokens draft_steps server_queue_ns server_first_token_ns server_decode_ns \
        server_processing_ns acked_ns images audios videos media_seen pixels frames audio_ns \
        media_file_bytes text_tokens_from text_tokens image_tokens_from image_tokens \
        audio_tokens_from audio_tokens video_tokens_from video_tokens first_audio_ns \
        made_audio_bytes made_audio_ns silence_ns silences form validity \
        dead_connection_ns text_bytes first_text_bytes";
    assert_eq!(names, expect.split_whitespace().collect::<Vec<_>>());
}
