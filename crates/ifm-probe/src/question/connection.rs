//! The connection: round trips, whether it is kept, TLS, compression.

use super::{Finding, Grade, Inquiry, Section};

/// Number of round trips for the median.
const ROUND_TRIPS: usize = 3;
/// Round trip above which its part in every TTFT is mentioned, milliseconds.
const NOTED_MS: f64 = 5.0;

/// Requests the list of models several times.
pub fn ask(inquiry: &mut Inquiry) -> Vec<Finding> {
    let path = format!("{}/models", inquiry.caller.endpoint().url.path());
    let first = inquiry.get(&path, &[]);
    let mut round_trips = Vec::new();
    let mut is_kept = None;
    let mut coding = None;
    for number in 0..ROUND_TRIPS {
        let more: &[(&str, &str)] =
            if number == 0 { &[("Accept-Encoding", "gzip, br")] } else { &[] };
        let Ok(reply) = inquiry.get(&path, more) else { break };
        is_kept = Some(reply.connect_ns.is_none());
        if number == 0 {
            coding = Some(reply.header("content-encoding"));
        }
        round_trips.push(reply.took_ns());
    }
    let why = first.as_ref().err().cloned().unwrap_or_else(|| "no second answer".to_owned());
    vec![
        round_trip(&mut round_trips, first.ok().and_then(|reply| reply.connect_ns), &why),
        kept(is_kept, &why),
        tls(inquiry),
        compression(coding, &why),
    ]
}

fn round_trip(round_trips: &mut [u64], connect_ns: Option<u64>, why: &str) -> Finding {
    let id = (Section::Line, "round_trip");
    round_trips.sort_unstable();
    let Some(&median) = round_trips.get(round_trips.len() / 2) else {
        return Finding::unknown(id, why);
    };
    let ms = |ns: u64| ns as f64 / 1e6;
    let grade = if ms(median) > NOTED_MS { Grade::Note } else { Grade::Good };
    let connect = connect_ns.map(|ns| format!(", {:.2} ms to connect", ms(ns))).unwrap_or_default();
    let value = serde_json::json!({"ms": ms(median), "connect_ms": connect_ns.map(ms)});
    Finding::known(id, grade, value, format!("{:.2} ms{connect}", ms(median)))
        .how(format!("median of {} times GET /models on a kept connection", round_trips.len()))
        .means("about this much of every TTFT is the network, not the model")
}

fn kept(is_kept: Option<bool>, why: &str) -> Finding {
    let id = (Section::Line, "keep_alive");
    match is_kept {
        None => Finding::unknown(id, why),
        Some(true) => Finding::known(id, Grade::Good, true, "connections are kept")
            .how("several requests went over one connection"),
        Some(false) => {
            Finding::known(id, Grade::Caution, false, "each answer closes its connection")
                .how("a second request needed a new connection")
                .means("connecting is part of every request's time")
        }
    }
}

fn tls(inquiry: &Inquiry) -> Finding {
    let id = (Section::Line, "tls");
    match (inquiry.caller.endpoint().url.is_tls(), inquiry.caller.tls_version()) {
        (false, _) => Finding::known(id, Grade::Good, false, "none").how("the URL is http"),
        (true, Some(version)) => Finding::known(id, Grade::Good, version, format!("TLS {version}"))
            .how("agreed on while connecting"),
        (true, None) => Finding::unknown(id, "no connection was established"),
    }
}

fn compression(coding: Option<Option<String>>, why: &str) -> Finding {
    let id = (Section::Line, "compression");
    let how = "GET /models with Accept-Encoding: gzip, br";
    match coding {
        None => Finding::unknown(id, why),
        Some(None) => Finding::known(id, Grade::Good, false, "none, even if requested").how(how),
        Some(Some(coding)) => {
            Finding::known(id, Grade::Note, coding.as_str(), format!("{coding} if requested"))
                .how(how)
                .means("a run never requests it: compression would delay tokens")
        }
    }
}
