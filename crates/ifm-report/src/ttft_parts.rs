//! The TTFT as a sum of parts, as lines and as a table that every format shows alike.

use crate::ReportModel;
use crate::format::{ABSENT, count, marked_span};
use crate::model::{load, load_words};
use crate::page::{Block, Cell, Columns, Head, Section};
use crate::words::{Answer, AnswerTopic, answers};
use ifm_core::Metric;
use ifm_core::spec::SloTerm;
use ifm_core::words::counted;
use ifm_metrics::Answers;
use ifm_metrics::LevelSummary;
use ifm_metrics::level::{Load, TtftParts};
use ifm_metrics::stat::Distribution;

/// A part: its name, what it is, and its times.
type Part<'parts> = (&'static str, &'static str, &'parts Distribution);

/// The parts in their order in time.
fn parts(found: &TtftParts) -> Vec<Part<'_>> {
    // A small request is not checked for it, so both may occur.
    let until = match (found.acked, found.acked == found.adding_up) {
        (0, _) => "until the request had left the client",
        (_, true) => "until the server's machine had acknowledged the last byte",
        (_, false) => {
            "until the last byte was acknowledged, or had left the client where that is not known"
        }
    };
    let upload = ("upload", until, &found.upload_ns);
    let rest = match found.queue_ns {
        Some(_) => ("network and frontend", "the rest, not timed", &found.rest_ns),
        None => ("network, frontend and queue", "the rest, not timed", &found.rest_ns),
    };
    let queue = found.queue_ns.as_ref();
    let queue =
        queue.map(|queue| ("queue", "arrival until scheduled, as reported by the server", queue));
    let first = "scheduled to first token";
    let first = (first, "the prompt, as reported by the server", &found.first_token_ns);
    [Some(upload), Some(rest), queue, Some(first)].into_iter().flatten().collect()
}

fn time(of: &Distribution, p: f64) -> String {
    of.percentile(p).map_or_else(|| ABSENT.to_owned(), marked_span)
}

/// The answers of a run; below the first one, where the time to first token went at the smallest load
/// at which it fails the target.
pub(crate) fn with_cause(model: &ReportModel, found: &Answers) -> Vec<Answer> {
    let mut all = answers(found, &model.summary.checks);
    let failing = model.summary.levels.iter().filter(|level| fails(level));
    let worst = failing.min_by(|a, b| {
        let value = |level: &LevelSummary| level.load().map_or(f64::INFINITY, Load::value);
        value(a).total_cmp(&value(b))
    });
    if let Some(level) = worst.filter(|_| !found.slo.is_default) {
        all.insert(1.min(all.len()), cause(model, level));
    }
    all
}

/// Whether the time to first token fails the target.
fn fails(level: &LevelSummary) -> bool {
    let is_ttft = |term: &SloTerm| [Metric::Ttft, Metric::TtftDue].contains(&term.metric);
    level.verdict.failing().any(|failing| is_ttft(&failing.term))
}

/// The largest part of the TTFT, then all parts; without times of the server, how to get them.
fn cause(model: &ReportModel, level: &LevelSummary) -> Answer {
    let at = load_words(level.load());
    let answer = |value: String, detail: String| Answer {
        topic: AnswerTopic::Cause,
        question: "Why is TTFT long?".to_owned(),
        value,
        unit: "",
        detail,
    };
    let found = level.ttft_parts.as_deref().filter(|found| found.ttft_ns.mean > 0.0);
    let (Some(found), Some(all)) = (found, line(level)) else {
        return match level.server.as_ref().and_then(|server| server.waiting_max) {
            Some(waiting) if waiting >= 1.0 => answer(
                "probably the queue".to_owned(),
                format!(
                    "at {at}, up to {} were waiting at the server; {}",
                    counted(crate::format::whole(waiting), "request"),
                    enable(model)
                ),
            ),
            _ => answer("unknown".to_owned(), format!("at {at}: {}", enable(model))),
        };
    };
    let parts = parts(found);
    let largest = parts.iter().max_by(|a, b| a.2.mean.total_cmp(&b.2.mean));
    let value = largest.map(|(name, _, of)| {
        format!("{name} {}", crate::format::percent(of.mean / found.ttft_ns.mean))
    });
    answer(value.unwrap_or_default(), format!("of the mean at {at}: {all}"))
}

/// How a server is made to report its parts of the TTFT.
fn enable(model: &ReportModel) -> String {
    match model.manifest.server.kind.as_deref() {
        Some("vllm" | "inferometer") => {
            "restart the server with --enable-per-request-metrics to split it into upload, network, \
             queue and prompt"
        }
        _ => "the server does not report how long requests waited and how long their prompts took",
    }
    .to_owned()
}

/// The parts of one level in a line; absent where the server reported none.
pub(crate) fn line(level: &LevelSummary) -> Option<String> {
    let found = level.ttft_parts.as_deref()?;
    let part = |(name, _, of): &Part| format!("{name} {} (p99 {})", time(of, 50.0), time(of, 99.0));
    let parts: Vec<String> = parts(found).iter().map(part).collect();
    Some(format!("{}; medians{}", parts.join(" + "), left_out(found)))
}

/// The note on requests whose parts are more than the whole.
fn left_out(found: &TtftParts) -> String {
    match found.requests - found.adding_up {
        0 => format!(" over {} requests", count(found.requests)),
        some => format!(
            " over {} of {} requests: of {some} the parts are more than the whole",
            count(found.adding_up),
            count(found.requests)
        ),
    }
}

/// The parts of every level in a table; absent where no server reported them.
pub(crate) fn section(model: &ReportModel) -> Option<Section> {
    type Row<'l> = (&'l LevelSummary, Part<'l>, f64);
    let rows: Vec<Row<'_>> = model
        .summary
        .levels_by_load()
        .into_iter()
        .filter_map(|level| Some((level, level.ttft_parts.as_deref()?)))
        .flat_map(|(level, found)| {
            let whole = ("TTFT", "the sum", &found.ttft_ns);
            parts(found).into_iter().chain([whole]).map(move |part| {
                let share = part.2.mean / found.ttft_ns.mean;
                (level, part, share)
            })
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let at = |p: f64| {
        move |(_, (_, _, of), _): &Row<'_>| {
            let value = of.percentile(p).map(|found| found.value);
            Cell { value, ..Cell::text(time(of, p)) }.in_unit("ns")
        }
    };
    let columns = Columns::<Row>::default()
        .name(model.load_unit(), |(level, ..)| load(level.load()))
        .text("part", |(_, (name, ..), _)| (*name).to_owned())
        .text("what it is", |(_, (_, what, _), _)| (*what).to_owned())
        .number("n", |(_, (_, _, of), _)| Some(of.n as f64), |n| count(n as u64))
        .cell(Head::number("share of the mean"), |(.., share)| Cell {
            bar: Some(share.clamp(0.0, 1.0)),
            ..Cell::number(Some(*share), crate::format::percent)
        })
        .cell(Head::number("p50"), at(50.0))
        .cell(Head::number("p99"), at(99.0));
    let caption = "Over complete answers whose server reported its own times, if these fit into \
                   the client's. Means add up; medians and percentiles need not.";
    let table = Block::Table(columns.table(caption, rows));
    Some(Section::new("Where the time to first token went", vec![table]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TerminalStyle;
    use crate::testing::model;
    use ifm_metrics::testing::{MS, closed_loop, run};

    fn told(levels: u16) -> ReportModel {
        let requests = (0..levels).flat_map(|level| {
            closed_loop((u32::from(level) * 500, level), (2, 60), 0.0, (100.0, 10.0, 16))
        });
        let mut requests: Vec<_> = requests.collect();
        for record in &mut requests {
            record.sent_ns = Some(record.start_ns + MS);
            record.server_queue_ns = Some(9 * MS);
            record.server_first_token_ns = Some(80 * MS);
        }
        model(&run(&vec![2; usize::from(levels)], requests))
    }

    /// A server that counted only how many requests waited.
    fn counters(waiting: f64) -> ifm_metrics::ServerCounters {
        ifm_metrics::ServerCounters {
            source: "server".to_owned(),
            span_ns: (0, 1),
            requests: None,
            prompt_tokens: None,
            output_tokens: None,
            cache_queries: None,
            cache_hits: None,
            preemptions: None,
            running_max: None,
            waiting_max: Some(waiting),
            kv_share_max: None,
            drafts: None,
            draft_tokens: None,
            accepted_tokens: None,
            accepted_by_position: Vec::new(),
            began_anew: false,
        }
    }

    #[test]
    fn the_parts_stand_in_every_format() {
        let style = TerminalStyle { width: 100, color: false, ascii: false, verbose: false };
        let one = crate::terminal::terminal(&told(1), &style);
        let line = "upload 1.00 ms (p99 ~1.00 ms) + network and frontend 10.0 ms";
        assert!(one.replace("\n            ", " ").contains(line), "{one}");
        let two = told(2);
        let text = crate::terminal::terminal(&two, &style);
        assert_eq!(text.matches(" TTFT at 2 users: upload").count(), 2, "{text}");
        let page = crate::markdown(&two);
        assert!(page.contains("Where the time to first token went"), "{page}");
        assert!(page.contains("| queue | arrival until scheduled"), "{page}");
        let json: serde_json::Value = serde_json::from_str(&crate::json(&two)).expect("JSON");
        let parts = &json["levels"][0]["ttft_parts"];
        assert_eq!(parts["queue_s"]["mean"], 0.009);
        assert_eq!(parts["requests"], parts["adding_up"]);
    }

    #[test]
    fn a_ttft_outside_the_target_is_explained_below_the_first_answer() {
        let asked = |mut model: ReportModel, kind: &str, parts: bool| {
            model.manifest.server.kind = Some(kind.to_owned());
            let level = &mut model.summary.levels[0];
            if !parts {
                level.ttft_parts = None;
            }
            let mut found = model.summary.answers.clone().expect("answers");
            found.slo = ifm_metrics::slo::parse("ttft:p50<10ms").expect("a target");
            with_cause(&model, &found)
        };
        let missed = |ttft: &str| {
            let requests = closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16));
            let mut run = run(&[2], requests);
            run.manifest.spec.slo = ifm_metrics::slo::parse(ttft).expect("a target");
            for record in &mut run.requests {
                record.sent_ns = Some(record.start_ns + MS);
                record.server_queue_ns = Some(60 * MS);
                record.server_first_token_ns = Some(30 * MS);
            }
            model(&run)
        };
        let all = asked(missed("ttft:p50<10ms"), "vllm", true);
        assert_eq!(all[1].topic, AnswerTopic::Cause);
        assert_eq!(all[1].value, "queue 60%");
        assert!(all[1].detail.contains("queue 60.0 ms"), "{}", all[1].detail);
        let silent = asked(missed("ttft:p50<10ms"), "vllm", false);
        assert!(silent[1].detail.contains("server with --enable-per-request-metrics"));
        assert_eq!(silent[1].value, "unknown");
        let mut waited = missed("ttft:p50<10ms");
        waited.summary.levels[0].server = Some(counters(287.0));
        let waited = asked(waited, "vllm", false);
        assert_eq!(waited[1].value, "probably the queue");
        assert!(waited[1].detail.contains("up to 287 requests were waiting at the server"));
        let kept = asked(missed("ttft:p50<1s"), "vllm", true);
        assert!(kept.iter().all(|answer| answer.topic != AnswerTopic::Cause));
    }

    #[test]
    fn nothing_is_said_where_no_server_told() {
        let silent = model(&run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16))));
        assert!(line(&silent.summary.levels[0]).is_none() && section(&silent).is_none());
        let json: serde_json::Value = serde_json::from_str(&crate::json(&silent)).expect("JSON");
        assert!(json["levels"][0].get("ttft_parts").is_none());
    }
}
