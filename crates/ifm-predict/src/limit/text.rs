//! The result as text, up to 80 columns wide, in ASCII.

use super::{Answer, FormatOrigin, Held, Level};
use ifm_core::words::counted;
use ifm_roofline::{Bound, Confidence, Limit, Setup, Verdict};
use std::fmt::Write as _;

/// Widest line.
const WIDTH: usize = 80;
/// Column of the facts.
const INDENT: usize = 10;

/// The answer.
pub fn text(answer: &Answer) -> String {
    let mut out = head(answer);
    out.push_str(&levels(&answer.levels));
    out.push_str(&prefill(answer));
    if let Some(level) = answer.levels.last() {
        let context = answer.request.input + answer.request.output / 2.0;
        let fit = answer.capacity.requests.filter(|fit| *fit < f64::from(level.users));
        let who = match fit {
            Some(fit) => format!("the {fit} of {} that fit at once", users(level.users)),
            None => users(level.users),
        };
        let title = format!("\nOne step of {who}, each looking at {context} tokens (ITL):\n");
        out.push_str(&title);
        out.push_str(&parts(&level.step, "ms", 1e3));
        let title = format!(
            "\nA round of {}: {} prompts read, {} steps (request, out tok/s):\n",
            users(level.users),
            level.users,
            answer.request.output
        );
        out.push_str(&title);
        out.push_str(&parts(&level.closed_loop, "s", 1.0));
    }
    if !answer.held.is_empty() {
        out.push_str("\nMeasured, as a share of the limit (and of both peaks):\n");
        answer.held.iter().for_each(|held| out.push_str(&self::held(answer, held)));
    }
    out.push_str(&caveats(answer));
    out
}

fn users(count: u32) -> String {
    counted(count.into(), "user")
}

fn head(answer: &Answer) -> String {
    let setup = &answer.setup;
    let (machine, model) = (setup.machine(), setup.model());
    let mut out = format!("{} on {} x {}\n\n", model.name, setup.gpus(), machine.name);
    let mut rates = vec![format!("bf16 {}", machine.bf16_tflops)];
    let others = [
        ("fp16", machine.fp16_tflops),
        ("int8", machine.int8_tops),
        ("fp8", machine.fp8_tflops),
        ("fp4", machine.fp4_tflops),
    ];
    rates.extend(others.iter().filter_map(|(name, rate)| Some(format!("{name} {}", (*rate)?))));
    let memory = machine.memory_gib.map_or_else(String::new, |gib| format!("; {gib} GiB"));
    fact(
        &mut out,
        "machine",
        &format!(
            "{} GB/s; dense, 1e12 a second: {}{memory} ({}: {})",
            machine.bandwidth_gb_s,
            rates.join(", "),
            machine.confidence.label(),
            machine.source
        ),
    );
    fact(
        &mut out,
        "model",
        &format!(
            "{:.3} B parameters, {:.3} B for one token ({})",
            model.parameters() / 1e9,
            model.active_parameters() / 1e9,
            model.source
        ),
    );
    let origin = match answer.origin {
        FormatOrigin::Asked => "as asked",
        FormatOrigin::Name => "from the model's name",
        FormatOrigin::Published => "as published",
    };
    let precision = setup.precision();
    fact(
        &mut out,
        "weights",
        &format!(
            "{} ({origin}), {} in all; keys and values {}, {} bytes a token",
            precision.weights.id,
            bytes(setup.weight_bytes()),
            precision.kv.id,
            setup.kv_bytes_per_token()
        ),
    );
    fact(&mut out, "requests", &requests(answer));
    if let Some(tokens) = answer.ridge_tokens {
        fact(
            &mut out,
            "ridge",
            &format!("{tokens:.0} tokens in a step: with fewer, reading weights takes longest"),
        );
    }
    out
}

pub(super) fn requests(answer: &Answer) -> String {
    let capacity = &answer.capacity;
    let each = if answer.setup.gpus() > 1.0 { " of each GPU" } else { "" };
    let lengths = format!(
        "{} tokens in, {} out; one holds {}{each}",
        answer.request.input,
        answer.request.output,
        bytes(capacity.request_bytes)
    );
    let fit = match (capacity.requests, capacity.memory_bytes) {
        (Some(0.0), Some(memory)) if capacity.weight_bytes >= memory => format!(
            ", and the weights alone ({}) do not fit into {}",
            bytes(capacity.weight_bytes),
            bytes(memory)
        ),
        (Some(count), _) => format!(", at most {count} fit next to the weights"),
        (None, _) => String::new(),
    };
    format!("{lengths}{fit}")
}

fn levels(levels: &[Level]) -> String {
    let mut out = String::from(
        "\nLimits, strict and serial:\n\
         \x20       minimum ITL, ms    maximum out tok/s  minimum request, s\n\
         users    strict   serial    strict   serial    strict   serial  binds\n",
    );
    for level in levels {
        let (step, cycle) = (&level.step, &level.closed_loop);
        let _ = writeln!(
            out,
            "{:>5}  {:>8} {:>8}  {:>8} {:>8}  {:>8} {:>8}  {}",
            level.users,
            digits(step.strict.seconds * 1e3),
            digits(step.serial.seconds * 1e3),
            digits(cycle.tokens_per_s(cycle.strict)),
            digits(cycle.tokens_per_s(cycle.serial)),
            digits(cycle.strict.seconds),
            digits(cycle.serial.seconds),
            cycle.serial.binds.label()
        );
    }
    out
}

fn prefill(answer: &Answer) -> String {
    let bound = &answer.prefill;
    let mut out = format!("\nA prompt of {} tokens alone (TTFT):\n", answer.request.input);
    out.push_str(&parts(bound, "ms", 1e3));
    let _ = writeln!(
        out,
        "  maximum {} prompt tokens per second",
        digits(bound.tokens_per_s(bound.strict))
    );
    out
}

/// The terms of a bound, one line per part.
fn parts(bound: &Bound, unit: &str, scale: f64) -> String {
    let mut out = format!(
        "  {:<11} {:>10} {:>11} {:>11} {:>10} {:>10}\n",
        "part",
        "bytes",
        format!("moved, {unit}"),
        "operations",
        format!("done, {unit}"),
        "longer"
    );
    for part in &bound.operators {
        // Network transfers are printed if other parts print reads: no part does both.
        let _ = writeln!(
            out,
            "  {:<11} {:>10} {:>11} {:>11} {:>10} {:>10}",
            part.name,
            bytes(part.bytes + part.link_bytes),
            digits((part.memory_s + part.link_s) * scale),
            operations(part.flops),
            digits(part.compute_s * scale),
            digits(part.serial_s * scale)
        );
    }
    let mut limit = |name: &str, limit: Limit, how: &str| {
        let time = format!("{} {unit}", digits(limit.seconds * scale));
        let _ = writeln!(out, "  {name:<11} {time:>10}   {how} ({})", limit.binds.label());
    };
    limit("strict", bound.strict, "all at once");
    if bound.balanced.seconds > bound.strict.seconds {
        limit("balanced", bound.balanced, "all at once, experts used evenly");
    }
    limit("serial", bound.serial, "part after part");
    out
}

fn held(answer: &Answer, held: &Held) -> String {
    let share = &held.share;
    // A measured ceiling is not a law: another kernel may be faster.
    let is_measured = answer.setup.machine().confidence == Confidence::Measured;
    let verdict = match share.verdict {
        verdict if verdict == Verdict::Possible || !is_measured => verdict.label(),
        _ => "faster than what was measured here allows",
    };
    format!(
        "  {}: {}\n    {} of strict, {} of serial; bandwidth {}, arithmetic {}\n",
        held.text,
        verdict,
        percent(share.of_strict),
        percent(share.of_serial),
        percent(share.bandwidth),
        percent(share.arithmetic)
    )
}

fn caveats(answer: &Answer) -> String {
    let setup = &answer.setup;
    let mut out = String::from("\n");
    fact(&mut out, "holds for", &conditions(setup));
    let cache = answer.levels.iter().map(|level| level.step.cache_share).fold(0.0, f64::max);
    if cache > 0.01 {
        fact(
            &mut out,
            "cache",
            &format!(
                "the last-level cache could keep {} of what a step reads; below the strict limit by \
             no more than that is not proof",
                percent(cache)
            ),
        );
    }
    if setup.machine().confidence == Confidence::Measured {
        let sentence = "what kernels sustained on this machine; a value beyond it is no proof";
        fact(&mut out, "measured", sentence);
    }
    if setup.precision().weights.is_floor && setup.precision().weight_bytes.is_none() {
        fact(
            &mut out,
            "weights",
            &format!(
                "files named {} also contain wider types; --weights SIZE makes the limit tighter",
                setup.precision().weights.id
            ),
        );
    }
    if setup.gpus() > 1.0 && setup.machine().link_gb_s.is_none() {
        fact(&mut out, "links", "not known, and not counted; link=GB/s after the name adds them");
    }
    out
}

pub(super) fn conditions(setup: &Setup) -> String {
    let experts = if setup.model().has_experts() {
        "; strict reads no more experts than one token takes"
    } else {
        ""
    };
    format!(
        "one token a step (no speculative decoding), no prefix cache, weights in memory{experts}"
    )
}

/// A labelled paragraph.
fn fact(out: &mut String, label: &str, sentence: &str) {
    let mut line = format!("{label:<INDENT$}");
    for word in sentence.split(' ') {
        if line.chars().count() + word.chars().count() > WIDTH && line.trim().len() > label.len() {
            out.push_str(line.trim_end());
            out.push('\n');
            line = " ".repeat(INDENT);
        }
        line.push_str(word);
        line.push(' ');
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

/// About four digits.
pub(super) fn digits(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value >= 1000.0 => format!("{value:.0}"),
        value if value >= 100.0 => format!("{value:.1}"),
        value if value >= 1.0 => format!("{value:.2}"),
        value if value >= 0.001 => format!("{value:.4}"),
        value => format!("{value:.1e}"),
    }
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

pub(super) fn bytes(bytes: f64) -> String {
    scaled(bytes, &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")], "B")
}

pub(super) fn operations(count: f64) -> String {
    scaled(count, &[(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")], "")
}

fn scaled(value: f64, units: &[(f64, &str)], unit: &str) -> String {
    match units.iter().find(|(size, _)| value >= *size) {
        Some((size, unit)) => format!("{} {unit}", digits(value / size)),
        None => format!("{} {unit}", digits(value)).trim_end().to_owned(),
    }
}
