//! Tests of targets: as they are written, and as they judge.

use super::*;
use crate::testing::{closed_loop, run};
use ifm_core::Metric;
use ifm_core::spec::{Api, Asked, SloTerm};

#[test]
fn presets_are_read_by_name() {
    let mut names: Vec<&str> = Vec::new();
    for preset in &PRESETS {
        for name in preset.names() {
            let found = parse(name).unwrap();
            assert_eq!(found.name, name);
            assert_eq!(found.terms, parse(preset.terms).unwrap().terms);
            names.push(name);
        }
    }
    assert_eq!(names.len(), 22);
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 22, "a name has one target");
}

/// A default whose terms have no value where it is used says nothing.
#[test]
fn each_api_has_a_target_that_it_can_meet() {
    let bounded = |api| {
        let terms = parse(default_of(api).terms).unwrap().terms;
        terms.iter().map(|term| term.metric).collect::<Vec<_>>()
    };
    assert_eq!(bounded(Api::Chat), [Metric::Ttft, Metric::Itl]);
    assert_eq!(bounded(Api::Completions), [Metric::Ttft, Metric::Itl]);
    assert_eq!(bounded(Api::Speech), [Metric::Ttfa, Metric::Rtf]);
    assert_eq!(bounded(Api::Transcriptions), [Metric::HeardRtf]);
    assert_eq!(bounded(Api::Translations), [Metric::HeardRtf]);
    assert_eq!(bounded(Api::Embeddings), [Metric::E2e]);
    assert_eq!(bounded(Api::Rerank), [Metric::E2e]);
}

#[test]
fn suggests_similar_names_for_an_unknown_one() {
    let check = |word: &str, expect: &str| {
        let said = parse(word).expect_err(word).to_string();
        assert!(said.contains(expect), "{said}");
    };
    check("chatty", "unknown latency target: chatty, perhaps chat");
    check("mlperf-lama3.1-8b", "perhaps mlperf-llama3.1-8b, ");
    check("MLPerf-DeepSeek", "perhaps mlperf-deepseek-r1");
    check("xyzzy", "unknown latency target: xyzzy; inferometer capacity --list");
    // A metric without a bound is a term that is not finished.
    check("speed", "speed has no percentile: write speed:p10>20");
}

/// The limits of MLPerf, a line for a scenario as `mlperf.conf` has it: TTFT, TPOT, whole answer, ms.
#[test]
fn the_limits_of_mlperf_are_those_of_its_file() {
    let file = "llama2-70b 2000 200 0, llama2-70b-interactive 450 40 0, mixtral-8x7b 2000 200 0, \
        llama3.1-405b 6000 175 0, llama3.1-405b-interactive 4500 80 0, llama3.1-8b 2000 100 0, \
        llama3.1-8b-interactive 500 30 0, deepseek-r1 2000 80 0, deepseek-r1-interactive 1500 15 0, \
        gpt-oss-120b 3000 80 0, gpt-oss-120b-interactive 2000 15 0, qwen3-vl-235b-a22b 0 0 12000";
    for row in file.split(", ") {
        let (model, limits) = row.split_once(' ').unwrap();
        let limits = limits.split_whitespace().zip([Metric::Ttft, Metric::Tpot, Metric::E2e]);
        let expect: Vec<SloTerm> = limits
            .map(|(limit, metric)| term(metric, 99.0, limit.parse().unwrap()))
            .filter(|term| term.limit_ms > 0.0)
            .collect();
        assert_eq!(parse(&format!("mlperf-{model}")).unwrap().terms, expect, "{model}");
    }
}

#[test]
fn a_wait_before_the_start_counts_where_requests_are_due() {
    let mut run = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)));
    run.manifest.spec.slo = parse("ttft:p50<150ms").unwrap();
    let state = |run: &ifm_core::RunData| crate::summarize(run).levels[0].verdict.state;
    let good = |run: &ifm_core::RunData| crate::summarize(run).levels[0].goodput.unwrap().good;
    assert_eq!((state(&run), good(&run)), (VerdictState::Pass, 120));
    for record in &mut run.requests {
        // Each was due 200 ms before there was a connection for it.
        record.start_ns += 200_000_000;
        record.end_ns += 200_000_000;
        record.events.at_ns.iter_mut().for_each(|at| *at += 200_000_000);
        record.stream_end_ns = record.stream_end_ns.map(|at| at + 200_000_000);
    }
    assert_eq!((state(&run), good(&run)), (VerdictState::Fail, 0));
}

fn term(metric: Metric, percentile: f64, limit_ms: f64) -> SloTerm {
    SloTerm { metric, percentile: Some(percentile), limit_ms, speed_min: None }
}

#[test]
fn a_mean_is_bounded_as_a_percentile_is() {
    let slo = parse("itl:mean<70ms, ttft:avg<0.2s").unwrap();
    assert_eq!(words(&slo), "itl:mean<70ms,ttft:mean<200ms");
    assert_eq!(parse(&words(&slo)).unwrap().terms, slo.terms);
    let stored = serde_json::to_value(&slo.terms[0]).unwrap();
    assert_eq!(stored, serde_json::json!({"metric": "itl", "limit_ms": 70.0}));
    // TTFT 100 to 159 ms, mean 129.5; 2 users, whose first requests count no more.
    let judged = |target: &str| {
        let mut requests = closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16));
        for (index, record) in requests.iter_mut().enumerate() {
            let later_ns = (index as u64 / 2) * 1_000_000;
            record.events.at_ns.iter_mut().for_each(|at| *at += later_ns);
            record.end_ns += later_ns;
            record.stream_end_ns = record.stream_end_ns.map(|at| at + later_ns);
        }
        let mut run = run(&[2], requests);
        run.manifest.spec.slo = parse(target).unwrap();
        crate::summarize(&run).levels[0].verdict.clone()
    };
    let kept = judged("ttft:mean<140ms");
    assert_eq!((kept.state, kept.is_sure), (VerdictState::Pass, true));
    assert!((kept.terms[0].value_ms.unwrap() - 130.0).abs() < 1.0, "{kept:?}");
    let missed = judged("ttft:mean<120ms");
    assert_eq!((missed.state, missed.is_sure), (VerdictState::Fail, true));
    // The standard error is 1.6 ms.
    assert!(!judged("ttft:mean<131ms").is_sure);
    assert_eq!(judged("itl:mean<10ms").state, VerdictState::Pass);
    assert_eq!(judged("itl:mean<9.9ms").state, VerdictState::Fail);
}

#[test]
fn reads_what_people_write() {
    let check = |text: &str, expect: &[SloTerm]| {
        assert_eq!(parse(text).expect(text).terms, expect, "{text}");
    };
    let both = [term(Metric::Ttft, 99.0, 500.0), term(Metric::Itl, 99.0, 50.0)];
    check("ttft:p99<500ms,itl:p99<50ms", &both);
    check(" TTFT:p99 <= 500 ms , itl:p99 ≤ 50ms ", &both);
    check("ttft:p99<0.5s itl:p99<50", &both);
    check("ttft:p99 < 0.5 s, itl:p99 < 50 ms", &both);
    check("ttft:500 itl:50", &both);
    check("e2el:p50<2s", &[term(Metric::E2e, 50.0, 2000.0)]);
    check("tpot:p99.9<900us", &[term(Metric::Tpot, 99.9, 0.9)]);
}

#[test]
fn refuses_what_it_cannot_hold() {
    let check = |text: &str, expect: fn(String) -> SloError| {
        let got = parse(text).expect_err(text);
        let term = text.split(',').next_back().unwrap_or_default().to_owned();
        assert_eq!(got, expect(term), "{text}");
    };
    let ttft = "ttft:p99<500ms".to_owned();
    assert_eq!(parse("ttft"), Err(SloError::NoPercentile { term: "ttft".to_owned(), meant: ttft }));
    check("ttft:p99<500ms,fast:p99<50ms", |term| SloError::Metric { term });
    check("ttft:p101<500ms", |term| SloError::Percentile { term });
    check("ttft:p0<500ms", |term| SloError::Percentile { term });
    check("ttft:p99<0ms", |term| SloError::Limit { term });
    check("ttft:p99<-5ms", |term| SloError::Limit { term });
    check("ttft:p99<inf", |term| SloError::Limit { term });
    check("ttft:mode<5ms", |term| SloError::Grammar { term });
    check("err:p99<1", |term| SloError::ErrorRate { term });
    check("itl:p99<50ms,err<2%", |_| SloError::ErrorRate { term: "err<2%".to_owned() });
    let usual = parse("itl:p99<50ms, ttft:p99<500ms, err<1%").expect("the limit there is");
    assert_eq!(usual.terms.len(), 2);
    assert_eq!(parse("err<1%"), Err(SloError::Empty));
    assert_eq!(parse(" , "), Err(SloError::Empty));
    assert_eq!(parse(&"x".repeat(2000)), Err(SloError::TooLong));
}

#[test]
fn a_speed_is_the_time_of_a_token_from_the_other_end() {
    let check = |text: &str, p: f64, limit_ms: f64| {
        let found = parse(text).expect(text);
        let [only] = found.terms.as_slice() else { panic!("{found:?}") };
        assert_eq!((only.metric, only.percentile), (Metric::Tpot, Some(p)), "{text}");
        assert!((only.limit_ms - limit_ms).abs() < 1e-9, "{text}");
        assert_eq!(parse(&words(&found)), Ok(found));
    };
    check("speed:p10>20", 90.0, 50.0);
    check("tok_s_user:p0.1 >= 40 tok/s", 99.9, 25.0);
    check("speed:p50≥12.5", 50.0, 80.0);
    assert_eq!(
        words(&parse("speed:p10>20,ttft:p95<10s").unwrap()),
        "speed:p10>20,ttft:p95<10000ms"
    );
    let asked = parse("speed:p10>20").unwrap().terms[0].asked();
    assert_eq!(asked, ("tok/s/user", "p10".to_owned()));
    // Older programs read the bound of a time; what they wrote has no speed.
    let stored = serde_json::to_value(&parse("speed:p10>20").unwrap().terms[0]).unwrap();
    let expect = serde_json::json!(
        {"metric": "tpot", "percentile": 90.0, "limit_ms": 50.0, "speed_min": 20.0}
    );
    assert_eq!(stored, expect);
    let old = serde_json::json!({"metric": "tpot", "percentile": 90.0, "limit_ms": 50.0});
    let old: SloTerm = serde_json::from_value(old).unwrap();
    assert_eq!((old.speed_min, old.shown(10.0)), (None, Asked::Ms(10.0)));
}

#[test]
fn a_speed_is_judged_by_its_slow_tail() {
    // Of 100 answers 8 come at 10 tok/s, the others at 100.
    let mut requests = closed_loop((0, 0), (1, 101), 0.0, (100.0, 10.0, 11));
    for record in requests.iter_mut().skip(1).step_by(12).take(8) {
        let first = record.events.at_ns[0];
        record.events.at_ns.iter_mut().for_each(|at| *at = first + (*at - first) * 10);
        record.end_ns += 900_000_000;
    }
    let mut run = run(&[1], requests);
    let mut judged = |target: &str| {
        run.manifest.spec.slo = parse(target).unwrap();
        let level = crate::summarize(&run).levels[0].clone();
        (level.verdict.terms[0].clone(), level.goodput.expect("a target").good)
    };
    let (inside, good) = judged("speed:p10>20");
    assert_eq!((inside.state, good), (VerdictState::Pass, 93));
    assert_eq!(inside.term.shown(inside.value_ms.unwrap()), Asked::TokPerS(100.0));
    let (outside, _) = judged("speed:p5>20");
    assert_eq!(outside.state, VerdictState::Fail);
    assert_eq!(outside.term.shown(outside.value_ms.unwrap()), Asked::TokPerS(10.0));
    // Its slow tail is at round percentiles.
    let thin = closed_loop((0, 0), (1, 101), 0.0, (100.0, 10.0, 11));
    let mut thin = crate::testing::run(&[1], thin);
    thin.manifest.spec.slo = parse("ttft:p99.9<1s").unwrap();
    let summary = crate::summarize(&thin);
    let speeds = summary.levels[0].latencies.get(Metric::UserSpeed).expect("tokens");
    assert!(speeds.percentile(0.1).is_some(), "{:?}", speeds.percentiles);
    // The same by its other name, to the last bit.
    let (same, _) = judged("tpot:p95<50ms");
    assert_eq!((same.value_ms, same.is_sure), (outside.value_ms, outside.is_sure));
}

#[test]
fn suggests_the_right_percentile_of_a_speed() {
    let said = |text: &str, word: &str| {
        let error = parse(text).expect_err(text).to_string();
        assert!(error.contains(word), "{error}");
    };
    said("speed:p90>20", "speed:p10>20 requires the speed for 90 % of them");
    said("speed:p99.9>371", "speed:p0.1>371");
    said("speed:p10<20", "bounded from below");
    said("speed:20", "bounded from below");
    said("speed:mean>20", "tpot:mean");
    said("speed:p10>0", "positive number");
    said("ttft:p99>500ms", "bounded from above");
}

#[test]
fn reads_the_goodput_words_of_vllm() {
    let words = ["ttft:500".to_owned(), "tpot:50".to_owned()];
    let spec = parse_goodput(&words).expect("words");
    assert_eq!(spec.terms, [term(Metric::Ttft, 99.0, 500.0), term(Metric::Tpot, 99.0, 50.0)]);
    assert_eq!(spec.name, "goodput");
}

#[test]
fn words_read_back() {
    let spec = parse("ttft:p99<500ms,tpot:p99.9<0.9ms").expect("a target");
    assert_eq!(parse(&words(&spec)).expect("its words"), spec);
}

#[test]
fn sound_and_uploads_are_bounded_too() {
    let check = |text: &str, expect: SloTerm, written: &str| {
        let found = parse(text).expect(text);
        assert_eq!(found.terms, [expect], "{text}");
        assert_eq!(words(&found), written);
        assert_eq!(parse(written).unwrap(), found);
    };
    check("ttfa:p95<0.3s", term(Metric::Ttfa, 95.0, 300.0), "ttfa:p95<300ms");
    check("silence:p99 < 20", term(Metric::Silence, 99.0, 20.0), "silence:p99<20ms");
    check("ttft_acked:p50<1s", term(Metric::TtftAcked, 50.0, 1000.0), "ttft_acked:p50<1000ms");
    // A ratio has no unit: half a second for each second of sound.
    check("rtf:p90<0.5", term(Metric::Rtf, 90.0, 500.0), "rtf:p90<0.5");
    check("rtf:0.29", term(Metric::Rtf, 99.0, 290.0), "rtf:p99<0.29");
    check("rtfx:p10>20", SloTerm::rtfx(10.0, 20.0), "rtfx:p10>20");
    check("rtfx:p5 ≥ 2.5 x", SloTerm::rtfx(5.0, 2.5), "rtfx:p5>2.5");
    let rtfx = SloTerm::rtfx(10.0, 20.0);
    assert_eq!((rtfx.metric, rtfx.percentile), (Metric::HeardRtf, Some(90.0)));
    assert_eq!((rtfx.limit(), rtfx.in_ms(0.1)), (0.05, 100.0));
    assert_eq!((rtfx.shown(100.0), rtfx.limit_shown()), (Asked::Ratio(10.0), Asked::Ratio(20.0)));
    assert_eq!(rtfx.asked(), ("RTFx", "p10".to_owned()));
    let said = |text: &str, word: &str| {
        let error = parse(text).expect_err(text).to_string();
        assert!(error.contains(word), "{error}");
    };
    said("rtf:p90<500ms", "cannot read");
    said("rtf:p90<0", "without a unit such as 0.5");
    said("rtf:p90>0.5", "bounded from above");
    said("rtfx:p10<20", "for example rtfx:p10>20");
    said("rtfx:p90>20", "rtfx:p10>20 requires the speed for 90 %");
    said("rtfx:mean>20", "rtf_heard:mean");
    said(
        "queue:p99<1s",
        "silence (times), rtf_heard, rtf (ratios: rtf:p95<0.5), and from below speed and rtfx",
    );
}

/// A run in which each request heard 2 s of audio in 100 to 159 ms of prompt and answer, and every
/// third answer is sound too.
#[test]
fn a_level_of_sound_is_judged_by_what_it_has() {
    use ifm_core::{MadeAudio, SentMedia};
    const MS: u64 = 1_000_000;
    let mut requests = closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 6));
    for (index, record) in requests.iter_mut().enumerate() {
        let audio_ns = Some(3000 * MS);
        record.media = Some(SentMedia { audios: 1, audio_ns, ..SentMedia::default() });
        record.acked_ns = Some(record.start_ns + 40 * MS);
        record.made_audio = (index % 3 == 0).then(|| MadeAudio {
            first_ns: record.start_ns + 80 * MS,
            audio_ns: Some(600 * MS),
            bytes: 1,
            silence_ns: Some(7 * MS),
            silences: Some(1),
        });
    }
    let mut run = run(&[2], requests);
    let mut judged = |target: &str| {
        run.manifest.spec.slo = parse(target).unwrap();
        let level = crate::summarize(&run).levels[0].clone();
        let goodput = level.goodput.expect("a target");
        (level.verdict.terms[0].clone(), (goodput.good, goodput.unknown, goodput.sent))
    };
    // E2E 150 ms: 20 times as fast as it is spoken, and a quarter of what is made.
    let (rtfx, counts) = judged("rtfx:p10>20");
    assert_eq!(
        (rtfx.state, rtfx.value_ms, counts),
        (VerdictState::Pass, Some(50.0), (120, 0, 120))
    );
    let (rtfx, counts) = judged("rtfx:p10>20.5");
    assert_eq!((rtfx.state, rtfx.is_sure, counts), (VerdictState::Fail, true, (0, 0, 120)));
    assert_eq!(rtfx.term.shown(rtfx.value_ms.unwrap()), Asked::Ratio(20.0));
    let (rtf, counts) = judged("rtf:p50<0.25");
    assert_eq!((rtf.state, rtf.n, counts), (VerdictState::Pass, Some(39), (40, 80, 120)));
    let (rtf, counts) = judged("rtf:mean<0.24");
    assert_eq!((rtf.state, rtf.value_ms, counts), (VerdictState::Fail, Some(250.0), (0, 80, 120)));
    assert_eq!(judged("ttfa:p50<80ms,silence:p50<6ms").1, (0, 80, 120));
    assert_eq!(judged("ttfa:p50<80ms,silence:p50<7ms").1, (40, 80, 120));
    // A term that is broken decides where another is not known.
    assert_eq!(judged("ttfa:p50<80ms,e2e:p50<149ms").1, (0, 0, 120));
    let (acked, counts) = judged("ttft_acked:p50<60ms");
    assert_eq!((acked.value_ms, counts), (Some(60.0), (120, 0, 120)));
}

#[test]
fn targets_of_sessions_are_written_as_people_think_of_them() {
    let check = |text: &str, metric: Metric, percentile: Option<f64>, limit: f64, written: &str| {
        let found = parse(text).expect(text);
        let [only] = found.terms.as_slice() else { panic!("{found:?}") };
        assert_eq!((only.metric, only.percentile), (metric, percentile), "{text}");
        assert!((only.limit() - limit).abs() < 1e-9, "{text}: {}", only.limit());
        assert_eq!(words(&found), written);
        assert_eq!(parse(written), Ok(found), "{written}");
    };
    let (time, failed, uncached) =
        (Metric::Session, Metric::SessionFailed, Metric::SessionUncached);
    check("session:p95 < 5 min", time, Some(95.0), 300e9, "session:p95<300000ms");
    check("session:mean<90s", time, None, 90e9, "session:mean<90000ms");
    check("session_failed < 1 %", failed, None, 0.01, "session_failed<0.01");
    check("session_ok:share>=0.99", failed, None, 0.01, "session_ok>0.99");
    check("session_cached:p10>60%", uncached, Some(90.0), 0.4, "session_cached:p10>0.6");
    check("session_cached:mean>0.6", uncached, None, 0.4, "session_cached:mean>0.6");
    check("session_uncached:p90<40%", uncached, Some(90.0), 0.4, "session_uncached:p90<0.4");
    let said = |text: &str, word: &str| {
        let error = parse(text).expect_err(text).to_string();
        assert!(error.contains(word), "{error}");
    };
    said("session_ok<1%", "session_ok>99%");
    said("session_failed:p99<1%", "is one number");
    said("session_failed<2", "between 0 and 1");
    said("session_cached:p90>0.6", "a percentile up to p50");
    said("session_cached:p10<0.6", "bounded from below");
    said("session_cached:p10>1", "between 0 and 1");
    said("session_age:p10<1s", "of sessions session (session:p95<5min)");
}

/// Sessions of three turns, 1780 ms each: 3 x 260 ms and two pauses of 500 ms. Of 300 prompt tokens the
/// server has 120 from its cache.
#[test]
fn sessions_are_judged_as_wholes() {
    let mut run = run(&[2], crate::testing::conversations((0, 0), (2, 60), 3, 500.0, 0.0));
    let judged = |run: &mut ifm_core::RunData, target: &str| {
        run.manifest.spec.slo = parse(target).unwrap();
        let level = crate::summarize(run).levels.remove(0);
        let term = level.verdict.terms[0].clone();
        let shown = term.value_ms.map(|value| term.term.shown(value));
        (term.state, term.is_sure, term.n, shown, level.goodput)
    };
    let pass = VerdictState::Pass;
    let found = judged(&mut run, "session:p95<1781ms");
    assert_eq!(found, (pass, true, Some(120), Some(Asked::Ms(1780.0)), None));
    assert_eq!(judged(&mut run, "session:p50<1779ms").0, VerdictState::Fail);
    let found = judged(&mut run, "session_cached:p10>39%");
    assert_eq!((found.0, found.2, found.3), (pass, Some(120), Some(Asked::Share(0.4))));
    assert_eq!(judged(&mut run, "session_cached:p10>41%").0, VerdictState::Fail);
    let found = judged(&mut run, "session_ok>99%");
    // None of 120 failed: still up to 3.1 % may fail (Wilson).
    assert_eq!((found.0, found.1, found.3), (pass, false, Some(Asked::Share(1.0))));
    assert!(judged(&mut run, "session_ok>96%").1);
    // One failed request is one failed session: 0.3 % of the requests, 0.8 % of the sessions.
    run.requests[4].outcome = ifm_core::Outcome::HttpError;
    let found = judged(&mut run, "session_failed<0.5%");
    assert_eq!((found.0, found.3), (VerdictState::Fail, Some(Asked::Share(1.0 / 120.0))));
    // Goodput asks the other terms alone.
    let both = judged(&mut run, "session:p95<1s,ttft:p50<1s");
    assert_eq!((both.0, both.4.map(|goodput| goodput.good)), (VerdictState::Fail, Some(359)));
    // Independent requests have no sessions.
    let mut alone = crate::testing::run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)));
    assert_eq!(judged(&mut alone, "session:p50<1s").0, VerdictState::Unknown);
}

#[test]
fn answers_without_a_tpot_pass_no_target_of_it() {
    let mut run = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)));
    let state = |run: &ifm_core::RunData| crate::summarize(run).levels[0].verdict.state;
    let judged_by = |run: &mut ifm_core::RunData, slo: &str| {
        run.manifest.spec.slo = parse(slo).unwrap();
        state(run)
    };
    assert_eq!(judged_by(&mut run, "tpot:p99<50ms"), VerdictState::Pass);
    for record in run.requests.iter_mut().step_by(10) {
        record.events.at_ns.fill(record.end_ns);
    }
    assert_eq!(judged_by(&mut run, "tpot:p99<50ms"), VerdictState::Unknown);
    assert_eq!(judged_by(&mut run, "tpot:mean<50ms"), VerdictState::Unknown);
    // Nine in ten are inside, regardless of the others are; nine in ten are outside.
    assert_eq!(judged_by(&mut run, "tpot:p50<50ms"), VerdictState::Pass);
    assert_eq!(judged_by(&mut run, "tpot:p50<5ms"), VerdictState::Fail);
    for record in &mut run.requests {
        record.events.at_ns.fill(record.end_ns);
    }
    assert_eq!(judged_by(&mut run, "tpot:p50<50ms"), VerdictState::Unknown);
}

#[test]
fn an_unfinished_term_is_shown_finished() {
    let check = |text: &str, expect: &str| {
        let said = parse(text).expect_err(text).to_string();
        assert!(said.contains(expect), "{text}: {said}");
    };
    check("speed>20", "speed>20 has no percentile: write speed:p10>20");
    check("tok_s>20", "write speed:p10>20");
    check("ttft<1s", "ttft<1s has no percentile: write ttft:p99<1s");
    check("ttft:p95", "ttft:p95 has no limit: write ttft:p95<500ms");
    check("tttf<1s", "known are ttft");
    // A point separates as the colon does, which thresholds have.
    assert_eq!(parse("ttft.p95<1s"), parse("ttft:p95<1s"));
    assert_eq!(parse("speed.p5>20,itl.p99.9<0.5s"), parse("speed:p5>20,itl:p99.9<0.5s"));
}
