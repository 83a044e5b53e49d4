//! From measured rows to constants and their errors: the result of `calibrate`.
//!
//! Not here: the search for constants (`ifm_sim::fit`), and where rows come from (`rows`).

use crate::calibration::{
    Calibration, ComparedDocument, EstimateDocument, RowDocument, SpreadDocument, digits, misses,
};
use crate::rows::MeasuredRow;
use ifm_roofline::Machine;
use ifm_sim::{
    CONSTANTS, Deployment, Doubt, Fit, FitError, Pair, Predicted, Suspect, estimate,
    free_by_default, held_out, predict,
};
use ifm_terminal::exit::Failure;
use ifm_terminal::streams::wrapped;
use std::fmt::Write as _;

const MS_PER_S: f64 = 1e3;
/// How to describe a machine that is not in the table, or a processor.
pub const MEASURE_IT: &str = "measure the machine with `inferometer kernel gemm` and `inferometer kernel \
                              bandwidth`, then pass --gpu measured";

/// The result of fitting a deployment to rows.
#[derive(Debug)]
pub struct Fitted {
    /// The deployment with the fitted constants.
    pub deployment: Deployment,
    /// Constants with intervals.
    pub estimates: Vec<EstimateDocument>,
    /// Ratio of the rows' scatter around the fit to the scatter expected from their own errors.
    pub scatter: f64,
    /// All rows with the values that the constants give, held-out rows last.
    pub rows: Vec<RowDocument>,
    /// Each fitted row, with the prediction from the other rows.
    pub left_out: Vec<RowDocument>,
    /// What the rows do not show, and which row would.
    pub unsaid: Vec<String>,
    /// Why figures of the machine may be wrong.
    pub suspects: Vec<String>,
    /// Alternative sets of constants.
    pub spread: SpreadDocument,
    /// Why the constants are unusable; absent if they are usable.
    pub refusal: Option<Failure>,
}

/// Fits the constants to rows, and predicts held-out rows. It refuses unusable constants by one rule,
/// wherever rows come from, and still reports their errors.
///
/// # Errors
/// Rows without values, or that the deployment cannot serve.
pub fn fitted(
    deployment: &Deployment,
    used: &[MeasuredRow],
    held: &[MeasuredRow],
) -> Result<Fitted, Failure> {
    let seen: Vec<_> = used.iter().map(|row| row.seen.clone()).collect();
    let free = free_by_default(deployment);
    let mut found = estimate(deployment, &seen, &free).map_err(failure)?;
    let with = deployment.with_constants(found.constants);
    let mut rows = Vec::new();
    for (row, is_held) in
        used.iter().map(|row| (row, false)).chain(held.iter().map(|row| (row, true)))
    {
        let predicted = predict(&with, &row.seen)
            .map_err(|error| Failure::usage(format!("{}: {error}", row.label())))?;
        rows.push(document(row, &predicted, is_held));
    }
    let left_out = held_out(deployment, &seen, &free).map_err(failure)?;
    let left_out = left_out
        .iter()
        .filter_map(|left| Some(document(used.get(left.number)?, &left.row.predicted, true)))
        .collect();
    let meaning = |name: &str| {
        let named = CONSTANTS.iter().find(|constant| constant.name == name);
        named.map_or("", |constant| constant.meaning).to_owned()
    };
    let estimates = found.estimates.iter().map(|estimate| EstimateDocument {
        name: estimate.name.to_owned(),
        meaning: meaning(estimate.name),
        value: estimate.value,
        low: estimate.low,
        high: estimate.high,
        default: estimate.default,
        is_determined: estimate.is_determined,
        rival: estimate.rival.map(str::to_owned),
    });
    let estimates = estimates.collect();
    let machine = deployment.setup.machine();
    let suspects: Vec<String> =
        found.suspects.iter().map(|suspect| suspicion(suspect, machine)).collect();
    let refusal = found.refusal.take().map(|error| {
        let refused = failure(error);
        match suspects.first() {
            Some(sentence) => refused.hint(format!("{sentence}; {MEASURE_IT}")),
            None => refused,
        }
    });
    Ok(Fitted {
        deployment: with,
        estimates,
        scatter: found.scatter,
        rows,
        left_out,
        unsaid: unsaid(&found).into_iter().chain(pairs(&found)).collect(),
        suspects,
        spread: SpreadDocument::of(&found.spread, found.constants),
        refusal,
    })
}

/// Why a figure of the machine may be wrong, with the figure that the rows show.
fn suspicion(suspect: &Suspect, machine: &Machine) -> String {
    let Suspect { name, value, default, doubt } = *suspect;
    let (what, stated, unit) = match name {
        "bandwidth_share" | "kv_share" => ("bandwidth", machine.bandwidth_gb_s, "GB/s"),
        _ => ("16-bit arithmetic", machine.bf16_tflops, "TFLOP/s"),
    };
    let begin = format!("the machine's figures may be wrong: {name}");
    let stated = format!("its {what} is given as {} {unit}", digits(stated));
    let (value, default) = (digits(value), digits(default));
    match doubt {
        Doubt::AbovePeak => {
            format!("{begin} is {value}, which no share can be: {stated}, and the rows need more")
        }
        Doubt::FarBelow => format!(
            "{begin} is {value}, far below its default of {default}: {stated}, and the server reaches \
             little of it"
        ),
        Doubt::AtBound => {
            format!("{begin} is at the end of its range, {value} (default {default}): {stated}")
        }
        Doubt::FollowsPrompts => format!(
            "{begin} stays at its default of {default} while the errors of TTFT follow the length of the \
             prompt: {stated}"
        ),
        Doubt::FollowsRequests => format!(
            "{begin} stays at its default of {default} while the errors of ITL follow the number of \
             requests: {stated}"
        ),
    }
}

/// What the rows do not show about other loads, and which row would: one sentence, or none.
fn unsaid(found: &Fit) -> Vec<String> {
    let is_open =
        found.estimates.iter().any(|one| one.name == "sequence_host_us" && !one.is_determined);
    if !is_open {
        return Vec::new();
    }
    let under_way = || found.rows.iter().map(|row| row.predicted.in_flight);
    let least = under_way().fold(f64::INFINITY, f64::min);
    let most = under_way().fold(0.0, f64::max);
    let one = match most > 1.0 {
        false => "no row has more than one request under way: what each further one adds to a step is a \
                  default (sequence_host_us, kv_share), and forecasts are worse the more requests there \
                  are. Add a load from the middle of those that you want to predict, or better the \
                  highest of them"
            .to_owned(),
        true if most > 2.0 * least => format!(
            "rows with {} to {} requests under way do not determine what each further one adds to a step \
             (sequence_host_us): they scatter, or other constants explain them as well",
            under_way_words(least),
            under_way_words(most)
        ),
        true => format!(
            "the rows have {} under way: that shows how long a step takes there, and not how it grows \
             (sequence_host_us is a default). Add the lowest or the highest of the loads that you want \
             to predict",
            match (under_way_words(least), under_way_words(most)) {
                (least, most) if least == most => format!("{most} requests"),
                (least, most) => format!("{least} to {most} requests"),
            }
        ),
    };
    vec![one]
}

/// Pairs of constants of which only the combination is known, and the load that separates them: one
/// sentence each.
fn pairs(found: &Fit) -> Vec<String> {
    let ranged = |name: &str| {
        let one = found.estimates.iter().find(|one| one.name == name)?;
        Some(format!("{name} can be {} to {}", digits(one.low), digits(one.high)))
    };
    let sentence = |pair: &Pair| {
        let [one, other] = pair.names;
        Some(format!(
            "only the combination of {one} and {other} is known, because each can make up for the \
             other in these rows: {} and {} (95 %). Predictions near the measured loads are not \
             affected, others are. {}",
            ranged(one)?,
            ranged(other)?,
            separation(pair.names)
        ))
    };
    found.pairs.iter().filter_map(sentence).collect()
}

/// The measurement that separates two constants.
fn separation(names: [&str; 2]) -> String {
    let has = |one: &str| names.contains(&one);
    let has_step = has("step_host_ms") || has("layer_host_us");
    let loads = match () {
        () if has("bandwidth_share") && has_step => {
            return "No load of one model separates them. Set one of them if you know it \
                    (--constant NAME=VALUE), and calibrate again for another model"
                .to_owned();
        }
        () if has("sequence_host_us") && has("kv_share") => {
            "many users with short contexts and many users with long ones (--points 16:64/64,16:4096/64)"
        }
        () if has("sequence_host_us") => "one user and many users (--points 1:128/64,32:128/64)",
        () if has("kv_share") => "long contexts of several users (--points 8:128/64,8:8192/64)",
        () if has("arithmetic_share") && has("attention_share") => {
            "one user with a long and with a very long prompt (--points 1:1024/16,1:16384/16)"
        }
        () if has("arithmetic_share") || has("attention_share") => {
            "one user with a short and with a long prompt (--points 1:64/16,1:4096/16)"
        }
        () => {
            "one user with a short and with a long prompt, and many users (--points 1:64/64,1:4096/16,16:64/64)"
        }
    };
    format!("To separate them, also measure {loads}")
}

fn failure(error: FitError) -> Failure {
    let failure = Failure::usage(format!("no calibration: {error}"));
    match error {
        FitError::TooWide { .. } => failure.hint(
            "measure on a quiet machine, more requests (--requests), or more loads (--points)",
        ),
        FitError::NoRows => {
            failure.hint("a row needs a load, lengths of prompt and answer, and a mean TTFT or gap")
        }
        FitError::MostMissed { .. } | FitError::Misfit { .. } => failure.hint(
            "look at the rows that are missed: the machine's figures (--gpu), the model, a server that \
             other clients use, or one that follows another law",
        ),
        _ => failure,
    }
}

fn document(row: &MeasuredRow, predicted: &Predicted, held_out: bool) -> RowDocument {
    let compared = |measured: Option<f64>, predicted: Option<f64>, scale: f64| {
        let (measured, predicted) = (measured? * scale, predicted? * scale);
        Some(ComparedDocument { measured, predicted, error: predicted / measured - 1.0 })
    };
    RowDocument {
        load: row.label(),
        from: row.from.clone(),
        held_out,
        ttft: compared(row.seen.ttft_s, Some(predicted.ttft_s), MS_PER_S),
        itl: compared(row.seen.itl_s, predicted.itl_s, MS_PER_S),
        output_tok_per_s: compared(row.output_tok_per_s, Some(predicted.output_tok_per_s), 1.0),
    }
}

/// The engine as reported by the server, else the assumed scheduler.
pub(crate) fn engine_words(calibration: &Calibration) -> String {
    let assumed = || format!("unknown server, scheduler of {} assumed", calibration.server.word());
    calibration.engine.clone().unwrap_or_else(assumed)
}

/// What a constant means if the rows determine it, else the source of its value.
pub(crate) fn source_of(estimate: &EstimateDocument) -> String {
    match &estimate.rival {
        _ if estimate.is_determined => estimate.meaning.clone(),
        Some(rival) => format!("only known together with {rival}"),
        None if estimate.is_default() => "from the default, not from these rows".to_owned(),
        None if estimate.name == "kv_share" => {
            "moves with bandwidth_share, not from these rows".to_owned()
        }
        None => "from the default more than from these rows".to_owned(),
    }
}

/// A calibration as text.
pub fn text(calibration: &Calibration) -> String {
    let model = calibration.model.as_deref().unwrap_or("as its configuration says");
    let mut out = format!(
        "calibration {}: {model} in {} on {}{}, {}\n\n",
        calibration.name,
        calibration.quant,
        if calibration.gpus > 1 { format!("{} x ", calibration.gpus) } else { String::new() },
        calibration.gpu,
        engine_words(calibration),
    );
    let head = ["constant", "value", "95 %", "default", ""];
    let lines: Vec<[String; 5]> = calibration
        .estimates
        .iter()
        .map(|estimate| {
            [
                estimate.name.clone(),
                digits(estimate.value),
                format!("{} to {}", digits(estimate.low), digits(estimate.high)),
                digits(estimate.default),
                source_of(estimate),
            ]
        })
        .collect();
    out.push_str(&table(head, &lines));
    if calibration.scatter > 1.0 {
        let _ = writeln!(
            out,
            "\nthe rows scatter {:.1} times as much around the fit as their own errors say; the \
             intervals are that much wider",
            calibration.scatter
        );
    }
    out.push('\n');
    let head = ["load", "TTFT", "predicted", "ITL", "predicted"];
    let line = |row: &RowDocument| {
        let pair = |value: &Option<ComparedDocument>| match value {
            Some(value) => (
                format!("{} ms", digits(value.measured)),
                format!("{} ms ({:+.1} %)", digits(value.predicted), value.error * 100.0),
            ),
            None => ("–".to_owned(), "–".to_owned()),
        };
        let ((ttft, ttft_predicted), (itl, itl_predicted)) = (pair(&row.ttft), pair(&row.itl));
        let load = if row.held_out { format!("{} *", row.load) } else { row.load.clone() };
        [load, ttft, ttft_predicted, itl, itl_predicted]
    };
    out.push_str(&table(head, &calibration.rows.iter().map(line).collect::<Vec<_>>()));
    let held: Vec<&RowDocument> = calibration.rows.iter().filter(|row| row.held_out).collect();
    if !held.is_empty() {
        let _ = writeln!(out, "* held out: not used for the constants; {}", errors(&held));
    }
    let left: Vec<&RowDocument> = calibration.left_out.iter().collect();
    if !left.is_empty() {
        let _ = writeln!(out, "each row that was used, from the others alone: {}", errors(&left));
    }
    for sentence in &calibration.unsaid {
        let _ = write!(out, "\n{}", wrapped("note: ", &format!("{sentence}.")));
    }
    let missed = misses(&calibration.rows);
    if !missed.is_empty() {
        out.push_str(
            "\nwarning: the constants miss rows that they were fitted to by more than 25 %. The server \
             follows another law there,\nor something disturbed the measurement: do not trust predictions \
             near these loads.\n",
        );
        missed.iter().for_each(|miss| _ = writeln!(out, "  {miss}"));
    }
    for sentence in &calibration.suspects {
        let _ = write!(
            out,
            "\n{}",
            wrapped("warning: ", &format!("{sentence}. To check, {MEASURE_IT}."))
        );
    }
    out
}

/// Where a calibration is, and what to do with it: one that misses its own rows is not offered for
/// predictions.
pub fn ending(calibration: &Calibration, path: &str) -> String {
    let name = &calibration.name;
    let next = match misses(&calibration.rows).is_empty() {
        true => format!("inferometer predict --calibration {name} -W 1024/256 -c 1..64"),
        false => format!(
            "measure more loads between those that are missed (--points), or compare with a run: \
             inferometer predict --calibration {name} --against RUN"
        ),
    };
    format!("\nstored in {path}\n{}", wrapped("next: ", &next))
}

/// Median absolute errors of rows.
fn errors(rows: &[&RowDocument]) -> String {
    let median = |of: fn(&RowDocument) -> Option<ComparedDocument>| {
        let mut errors: Vec<f64> =
            rows.iter().filter_map(|row| Some(of(row)?.error.abs())).collect();
        errors.sort_unstable_by(f64::total_cmp);
        let middle = errors.len() / 2;
        let upper = *errors.get(middle)?;
        Some(match errors.len() % 2 {
            0 => f64::midpoint(*errors.get(middle - 1)?, upper),
            _ => upper,
        })
    };
    let words = |name: &str, value: Option<f64>| {
        value.map(|value| format!("{name} {:.1} %", value * 100.0))
    };
    let both = [words("TTFT", median(|row| row.ttft)), words("ITL", median(|row| row.itl))];
    let both: Vec<String> = both.into_iter().flatten().collect();
    format!("median error {}", both.join(", "))
}

/// A mean number of requests: `4`, `11.5`.
fn under_way_words(requests: f64) -> String {
    format!("{}", (requests * 10.0).round() / 10.0)
}

/// Columns of text: the first left-aligned, numbers right-aligned, and a last one without a title,
/// for words, left-aligned.
fn table<const N: usize>(head: [&str; N], lines: &[[String; N]]) -> String {
    let has_words = head.last().is_some_and(|title| title.is_empty());
    let mut widths = head.map(|title| title.chars().count());
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    let heads = [head.map(str::to_owned)];
    for line in heads.iter().chain(lines) {
        let cells = line.iter().zip(widths).enumerate().map(|(index, (cell, width))| {
            let space = " ".repeat(width - cell.chars().count());
            if index == 0 || (has_words && index + 1 == N) {
                format!("{cell}{space}")
            } else {
                format!("{space}{cell}")
            }
        });
        let _ = writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_roofline::{Model, Precision, Setup};
    use ifm_sim::{Constants, Kind, Load, Observation, Settings};

    /// One length of prompts shows the sum of the front end and the arithmetic; two show both.
    #[test]
    fn names_constants_that_explain_each_other_and_the_load_that_separates_them() {
        let setup = Setup::new(
            Machine::parse("l40s").unwrap(),
            Model::find("llama-3.1-8b").unwrap(),
            Precision::find("bf16").unwrap(),
            1,
        )
        .unwrap();
        let constants = Constants::defaults(Kind::Vllm, &setup);
        let settings = Settings::defaults(Kind::Vllm, &setup);
        let deployment = Deployment::new(setup, constants, settings).unwrap();
        let truth = {
            let constants = *deployment.step.constants();
            Constants { frontend_s: 4.0 * constants.frontend_s, ..constants }
        };
        let fitted_to = |prompts: &[f64]| {
            let row = |prompt: &f64| {
                let seen = Observation::of(Load::Closed { users: 1 }, *prompt, 64.0);
                let got = predict(&deployment.with_constants(truth), &seen).unwrap();
                let seen = Observation { ttft_s: Some(got.ttft_s), itl_s: got.itl_s, ..seen };
                MeasuredRow { seen, output_tok_per_s: None, from: String::new(), table: 1 }
            };
            let rows: Vec<MeasuredRow> = prompts.iter().map(row).collect();
            fitted(&deployment, &rows, &[]).unwrap().unsaid.join("\n")
        };
        let together = fitted_to(&[600.0]);
        let sentence = "only the combination of arithmetic_share and frontend_ms is known";
        let reversed = "only the combination of frontend_ms and arithmetic_share is known";
        assert!(together.contains(sentence) || together.contains(reversed), "{together}");
        assert!(
            together.contains("also measure one user with a short and with a long prompt ("),
            "{together}"
        );
        let apart = fitted_to(&[64.0, 4096.0]);
        assert!(!apart.contains("only the combination"), "{apart}");
    }

    /// ITL of a server whose step takes 26, 42 and 98 ms at 1, 4 and 16 users, and a law that goes
    /// through the middle one.
    #[test]
    fn rows_that_the_constants_miss_are_named() {
        let row = |users: u32, measured: f64, predicted: f64, held_out: bool| RowDocument {
            load: format!("{users} users, 256/64 tokens"),
            from: String::new(),
            held_out,
            ttft: None,
            itl: Some(ComparedDocument { measured, predicted, error: predicted / measured - 1.0 }),
            output_tok_per_s: None,
        };
        let rows = [
            row(1, 26.0, 34.0, false),
            row(4, 42.0, 45.0, false),
            row(16, 98.0, 63.0, false),
            row(32, 98.0, 63.0, true),
        ];
        assert_eq!(
            misses(&rows),
            [
                "1 users, 256/64 tokens: ITL was 26.0 ms and is 34.0 ms with these constants (+31 %)",
                "16 users, 256/64 tokens: ITL was 98.0 ms and is 63.0 ms with these constants (-36 %)",
            ]
        );
    }
}
