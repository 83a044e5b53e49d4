//! How a run ends: its exit code.

use super::*;
use ifm_core::health::SpanQuantiles;
use ifm_metrics::testing::{closed_loop, failed, run};

fn code(run: &RunData) -> (Option<Code>, String) {
    let summary = ifm_metrics::summarize(run);
    match verdict(run, &summary, &Ended::Planned, &Signals::default()) {
        Ok(code) => (Some(code), String::new()),
        Err(failure) => (Some(failure.code), failure.to_string()),
    }
}

#[test]
fn a_run_whose_load_was_not_sent_is_no_result() {
    // Answers of 100 ms, and half of the requests left so late.
    let late = |p50_ms: u64| {
        let mut run = run(&[1], closed_loop((0, 0), (1, 40), 0.0, (100.0, 0.0, 1)));
        let ns = p50_ms * 1_000_000;
        let health = run.manifest.health.as_mut().unwrap();
        health.send_lateness =
            Some(SpanQuantiles { n: 40, p50_ns: ns, p99_ns: 90_000_000, max_ns: 90_000_000 });
        code(&run)
    };
    assert_eq!(late(19), (Some(Code::Done), String::new()));
    let (code, said) = late(21);
    assert_eq!(code, Some(Code::Invalid));
    assert!(said.contains("21.0 ms after they were due") && said.contains("stored"), "{said}");
}

#[test]
fn a_run_without_an_answer_is_no_result() {
    let (code, said) = code(&run(&[1], vec![failed(0, 0, 0, 0.0, 10.0)]));
    assert_eq!(code, Some(Code::Invalid));
    assert!(said.contains("the server answered 503"), "{said}");
}

#[test]
fn a_field_that_a_strict_server_refuses_can_be_left_out() {
    let hint = |status: u16, why: &str| {
        let mut request = failed(0, 0, 0, 0.0, 10.0);
        (request.http_status, request.error) = (Some(status), Some(why.to_owned()));
        let run = run(&[1], vec![request]);
        let summary = ifm_metrics::summarize(&run);
        let failure = verdict(&run, &summary, &Ended::Planned, &Signals::default()).unwrap_err();
        failure.to_string().split_once("hint: ").unwrap().1.to_owned()
    };
    // As formulated by transformers' server, OpenAI and pydantic.
    let eos = hint(422, "HTTP 422: Unexpected fields in the request: {'ignore_eos'}");
    assert!(eos.starts_with("--ignore-eos=false"), "{eos}");
    let most = "HTTP 400: Unsupported parameter: 'max_tokens' is not supported with this model. Use \
                'max_completion_tokens' instead.";
    assert!(hint(400, most).contains("max_completion_tokens"));
    let options = hint(422, "HTTP 422: body.stream_options: Extra inputs are not permitted");
    assert!(options.contains("\"stream_options\": null"), "{options}");
    // The same word in another sentence, and another status.
    assert!(hint(400, "HTTP 400: max_tokens is too large").starts_with("check the URL"));
    assert!(hint(500, "HTTP 500: unexpected ignore_eos").starts_with("the server's log"));
}

#[test]
fn the_end_of_a_run_says_what_failed_and_what_to_do() {
    let ended = |status: u16, why: &str, after_ms: f64| {
        let requests = (0..4).map(|seq| {
            let mut request = failed(seq, 0, 0, f64::from(seq) * 2000.0, after_ms);
            (request.http_status, request.error) = (Some(status), Some(why.to_owned()));
            request
        });
        code(&run(&[1], requests.collect()))
    };
    for (status, why, after_ms, said) in [
        (429, "HTTP 429: slow down", 1.0, ["a rate limit rejected every request", "--rate"]),
        (503, "HTTP 503: busy", 1.0, ["had no capacity for any request", "connection limit"]),
        (502, "HTTP 502: nginx", 1.0, ["a proxy did not reach the server", "behind the proxy"]),
        (504, "HTTP 504: nginx", 1000.0, ["ended 1.0 s after their start", "proxy_read_timeout"]),
        (404, "HTTP 404: no", 1.0, ["the server refused every request", "check the URL"]),
    ] {
        let (code, text) = ended(status, why, after_ms);
        assert_eq!(code, Some(Code::Invalid), "{why}");
        assert!(text.contains(why) && said.iter().all(|said| text.contains(said)), "{text}");
    }
}
