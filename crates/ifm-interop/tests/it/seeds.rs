//! Published reports recomputed from the rows that were imported from them.
//!
//! The reports are not part of this repository: where they are not at hand these tests are ignored
//! (`build.rs` says where they are looked for). A printed figure recomputes where the rows give its digits, or where the digits that the
//! rows themselves were rounded to leave no more than that open.
#![expect(clippy::print_stdout, reason = "what recomputes is told")]

use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Figure, Part, PartKind, RemarkKind, Row, RowRole, Statistic};
use ifm_interop::Input;
use std::collections::{BTreeMap, BTreeSet};

/// The report whose file name begins so, imported.
pub fn seed(number: &str) -> Sheet {
    let Some(folder) = option_env!("IFM_DOCUMENTS") else { panic!("no documents: see build.rs") };
    let files = std::fs::read_dir(folder).expect("the folder").filter_map(Result::ok);
    let path = files
        .map(|file| file.path())
        .find(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(number)));
    let file = std::fs::File::open(path.expect("the report")).expect("the report");
    ifm_interop::read(Input::new(number, file)).expect("a sheet")
}

/// How many printed figures recompute, and how.
#[derive(Default)]
struct Tally {
    to_the_digit: usize,
    within_rounding: usize,
    wrong: Vec<String>,
}

impl Tally {
    /// Holds a computed value against the printed digits. `open` is how far the rounding of what
    /// it was computed from can move it.
    fn hold(&mut self, what: &str, printed: &Figure, computed: f64, open: f64) {
        let text = printed.printed.as_deref().expect("printed digits").trim();
        let decimals = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let value = printed.value.expect("a value");
        let rounding = printed.rounding().expect("printed digits");
        if format!("{computed:.decimals$}").parse::<f64>() == Ok(value) {
            self.to_the_digit += 1;
        } else if (computed - value).abs() <= open + rounding + 1e-9 * value.abs() {
            self.within_rounding += 1;
        } else {
            self.wrong.push(format!("{what}: {text} is printed, the rows give {computed}"));
        }
    }

    fn of(&self) -> usize {
        self.to_the_digit + self.within_rounding + self.wrong.len()
    }

    fn tell(&self, name: &str) {
        println!(
            "{name}: {} of {} printed figures recompute, {} to the digit, {} as far as the rounding of the rows allows",
            self.to_the_digit + self.within_rounding,
            self.of(),
            self.to_the_digit,
            self.within_rounding,
        );
    }
}

fn figure(row: &Row, quantity: Metric, statistic: Statistic) -> Option<&Figure> {
    row.figures.iter().find(|f| f.quantity == quantity && f.statistic == statistic)
}

fn value(row: &Row, quantity: Metric, statistic: Statistic) -> f64 {
    figure(row, quantity, statistic).and_then(|f| f.value).expect("a figure")
}

/// Batch size, prompt length, output length and model of a row.
fn group(part: &Part, row: &Row) -> [String; 4] {
    let factors = row.factors.within(&part.factors);
    ["batch_size", "input_tokens", "output_tokens", "model"]
        .map(|name| factors.get(name).expect("a factor").to_owned())
}

/// Mean and sample deviation.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
}

/// The measured rows of report 002 by group, and its groups with a label twice.
fn runs(sheet: &Sheet) -> (BTreeMap<[String; 4], Vec<&Row>>, usize) {
    let mut runs: BTreeMap<[String; 4], Vec<&Row>> = BTreeMap::new();
    for part in &sheet.parts {
        for row in part.rows.iter().filter(|row| row.role == RowRole::Measured) {
            runs.entry(group(part, row)).or_default().push(row);
        }
    }
    let doubled = runs.values().filter(|rows| {
        let labels: BTreeSet<_> = rows.iter().map(|row| &row.label).collect();
        labels.len() < rows.len()
    });
    let doubled = doubled.count();
    (runs, doubled)
}

const RUN_QUANTITIES: [Metric; 3] = [Metric::E2e, Metric::OutputRate, Metric::TotalRate];
/// Half a unit of the last printed digit of a run.
const RUN_ROUNDING: f64 = 0.005;

/// Holds the means, deviations and numbers of runs of a summary row.
fn hold_summary(tally: &mut Tally, row: &Row, runs: &[&Row]) {
    let n = runs.len() as f64;
    for printed in &row.figures {
        let what = format!("line {:?} {}", row.place.line, printed.quantity);
        if printed.quantity == Metric::other("runs") {
            tally.hold(&what, printed, n, 0.0);
            continue;
        }
        if !RUN_QUANTITIES.contains(&printed.quantity) {
            continue;
        }
        let values: Vec<f64> =
            runs.iter().map(|run| value(run, printed.quantity, Statistic::Value)).collect();
        let (mean, deviation) = moments(&values);
        if printed.statistic == Statistic::HalfWidth {
            // Errors e of the values move a sample deviation by at most |e| over the root of n - 1.
            let open = RUN_ROUNDING * (n / (n - 1.0)).sqrt();
            tally.hold(&what, printed, deviation, open);
        } else {
            tally.hold(&what, printed, mean, RUN_ROUNDING);
        }
    }
}

#[test]
#[cfg_attr(not(documents), ignore = "needs the published documents: set IFM_SEEDS")]
fn every_digit_of_a_matrix_of_runs() {
    let sheet = seed("002");
    let (runs, doubled) = runs(&sheet);
    assert_eq!((runs.len(), runs.values().map(Vec::len).sum::<usize>()), (49, 147));
    let (mut tables, mut blocks, mut ranking) = Default::default();
    let (mut ranked, mut not_measured) = (0, 0);
    for part in &sheet.parts {
        let is_ranking = part.headings.iter().any(|heading| heading.contains("Ranking"));
        let is_block = part.rows.iter().any(|row| row.role == RowRole::Measured);
        let mut last = f64::INFINITY;
        let summaries = part.rows.iter().filter(|row| row.role == RowRole::Summary);
        for (place, row) in summaries.enumerate() {
            let tally: &mut Tally = match (is_ranking, is_block) {
                (true, _) => &mut ranking,
                (_, true) => &mut blocks,
                _ => &mut tables,
            };
            hold_summary(tally, row, &runs[&group(part, row)]);
            if is_ranking {
                let rate = value(row, Metric::OutputRate, Statistic::Value);
                assert!(rate <= last, "line {:?}: the order of the ranking", row.place.line);
                last = rate;
                let rank = value(row, Metric::Rank, Statistic::Value);
                assert_eq!(rank, (place + 1) as f64, "line {:?}", row.place.line);
                ranked += 1;
            } else if let Some(input) = figure(row, Metric::InputRate, Statistic::Value) {
                // 0.00 is printed, and each of its runs says that it did not measure it.
                assert_eq!((input.printed.as_deref(), input.value), (Some("0.00"), None));
                not_measured += 1;
            }
        }
    }
    for (name, tally) in
        [("7 tables", &tables), ("49 statistics", &blocks), ("7 rankings", &ranking)]
    {
        tally.tell(&format!("report 002, {name}"));
        assert!(tally.wrong.is_empty(), "{:#?}", tally.wrong);
    }
    let repaired = sheet.remarks.iter().filter(|remark| remark.kind == RemarkKind::Repaired);
    println!(
        "report 002, its faults: {doubled} of 49 groups with one label twice, {not_measured} cells \
         with 0.00 for what was not measured, {} kinds of damaged characters",
        repaired.clone().count()
    );
    assert_eq!((tables.of(), blocks.of(), ranking.of(), ranked), (343, 294, 49, 49));
    assert_eq!((doubled, not_measured, repaired.count()), (9, 49, 4));
}

/// Measured rows of a model, without the unbounded one.
fn paced<'a>(sheet: &'a Sheet, model: &'a str) -> impl Iterator<Item = &'a Row> {
    let parts = sheet.parts.iter().filter(move |part| part.factors.get("model") == Some(model));
    parts
        .flat_map(|part| &part.rows)
        .filter(|row| row.role == RowRole::Measured)
        .filter(|row| row.factors.get("strategy") != Some("throughput"))
}

/// The row with the most and the one with the fewest requests in flight.
fn ends<'a>(sheet: &'a Sheet, model: &'a str) -> (&'a Row, &'a Row) {
    let in_flight = |row: &&Row| value(row, Metric::InFlight, Statistic::Median);
    let by = |a: &&Row, b: &&Row| in_flight(a).total_cmp(&in_flight(b));
    let most = paced(sheet, model).max_by(by).expect("rows");
    (most, paced(sheet, model).min_by(by).expect("rows"))
}

#[test]
#[cfg_attr(not(documents), ignore = "needs the published documents: set IFM_SEEDS")]
fn every_figure_of_the_conclusions_about_a_variant() {
    let sheet = seed("003");
    let mut tally = Tally::default();
    let mut cut = Vec::new();
    for part in sheet.parts.iter().filter(|part| part.kind == PartKind::Conclusion) {
        for row in &part.rows {
            let factors = row.factors.within(&part.factors);
            let model = factors.get("model").expect("a model");
            let (most, least) = ends(&sheet, model);
            let itl = |row: &Row| value(row, Metric::Itl, Statistic::Median);
            for printed in &row.figures {
                let what = format!("line {:?} {}", row.place.line, printed.quantity);
                let (computed, open) = match &printed.quantity {
                    Metric::PeakInFlight | Metric::InFlight => {
                        (value(most, Metric::InFlight, Statistic::Median), 0.0)
                    }
                    Metric::Itl => (itl(most), 0.0),
                    Metric::Other(name) if name == "numerator" => (itl(most), 0.0),
                    Metric::Other(name) if name == "denominator" => (itl(least), 0.0),
                    Metric::Ratio => {
                        let ratio = itl(most) / itl(least);
                        let digits = format!("{ratio:.2}").parse::<f64>().ok();
                        if digits != printed.value {
                            cut.push(what.clone());
                        }
                        // Both times are printed with one decimal.
                        (ratio, ratio * (0.05 / itl(most) + 0.05 / itl(least)))
                    }
                    other => panic!("a stated figure that nothing here derives: {other}"),
                };
                tally.hold(&what, printed, computed, open);
            }
        }
    }
    tally.tell("report 003, conclusions");
    assert!(tally.wrong.is_empty(), "{:#?}", tally.wrong);
    assert_eq!(tally.of(), 16);
    println!(
        "report 003, its faults: {} ratios are cut off, not rounded (34.5/14.7 is 2.35); the \
         highest concurrency leaves out the rows `throughput` (125.0 and 194.0)",
        cut.len()
    );
    assert_eq!(cut.len(), 2);
    // The sentence about the TTFT holds for the median at every rate, but not for all rows.
    let [base, small] = ["LLama-3.1-8B-Instruct", "LLama-3.1-8B-Instruct-int8-dynamic"];
    let median = |row: &Row| value(row, Metric::Ttft, Statistic::Median);
    assert!(paced(&sheet, base).zip(paced(&sheet, small)).all(|(a, b)| median(b) < median(a)));
}

/// Floating-point operations of one attention pass over `tokens` without a mask, forward: two
/// products of 2 x tokens^2 x 64 for each of 16 heads, as the benchmark of attention-gym has them.
fn attention_flop(tokens: f64) -> f64 {
    4.0 * 16.0 * 64.0 * tokens * tokens * 16.0
}

/// Share of empty blocks of 128 x 128 where row `i` of 64 has `full(i)` that are not.
fn empty_share(full: impl Fn(u32) -> u32) -> f64 {
    let filled: u32 = (0..64).map(full).sum();
    1.0 - f64::from(filled) / 4096.0
}

/// Holds the rates and the sparsity of one table of kernels.
fn hold_kernels(rates: &mut Tally, masks: &mut Tally, part: &Part) {
    let mask = part.factors.get("mask").expect("a mask");
    let printed = part.rows.iter().find_map(|row| {
        figure(row, Metric::Sparsity, Statistic::Value).map(|figure| (row, figure))
    });
    if let Some((row, printed)) = printed {
        let derived = match mask {
            "Causal Mask" => Some(empty_share(|row| row + 1)),
            "Sliding Window 1024" => Some(empty_share(|row| (row + 1).min(9))),
            "Prefix Lm Causal Mask 1024" => Some(empty_share(|row| (row + 1).max(8))),
            // Documents of lengths that the text does not give.
            _ => None,
        };
        if let Some(share) = derived {
            masks.hold(&format!("line {:?}", row.place.line), printed, share * 100.0, 0.0);
        }
    }
    let tokens = if mask == "Doc Mask Mod" { 32768.0 } else { 8192.0 };
    let (empty, empty_rounding) =
        printed.and_then(|(_, figure)| figure.value).map_or((0.0, 0.0), |p| (p / 100.0, 5e-5));
    for row in &part.rows {
        let Some(rate) = figure(row, Metric::FlopRate, Statistic::Value) else { continue };
        let time = figure(row, Metric::Kernel, Statistic::Value).expect("a time");
        let causal = row.factors.get("kernel") == Some("causal FA2");
        let (share, share_rounding) =
            if causal { (0.5, 0.0) } else { (1.0 - empty, empty_rounding) };
        // The backward pass counts as two and a half.
        let passes = if row.factors.get("pass") == Some("backward") { 2.5 } else { 1.0 };
        let ms = time.value.expect("a time");
        let computed = attention_flop(tokens) * share * passes / (ms / 1e3) / 1e12;
        let open = share_rounding / share + time.rounding().expect("digits") / ms;
        rates.hold(&format!("line {:?} {mask}", row.place.line), rate, computed, computed * open);
    }
}

/// Holds the three rates of one block of `vllm bench serve`.
fn hold_serving(tally: &mut Tally, row: &Row) {
    let get = |quantity: Metric| value(row, quantity, Statistic::Value);
    let seconds = get(Metric::Duration);
    let tokens = get(Metric::OutputTokens);
    for (quantity, count) in [
        (Metric::RequestRate, get(Metric::RequestsOk)),
        (Metric::OutputRate, tokens),
        (Metric::TotalRate, tokens + get(Metric::InputTokens)),
    ] {
        let printed = figure(row, quantity, Statistic::Value).expect("a rate");
        let computed = count / seconds;
        // The duration is printed with two decimals.
        let open = computed * 0.005 / (seconds - 0.005);
        tally.hold(&format!("line {:?} {quantity}", row.place.line), printed, computed, open);
    }
}

#[test]
#[cfg_attr(not(documents), ignore = "needs the published documents: set IFM_SEEDS")]
fn every_derived_figure_of_a_workstation_note() {
    let sheet = seed("004");
    let (mut rates, mut masks, mut serving) =
        (Tally::default(), Tally::default(), Tally::default());
    for part in &sheet.parts {
        match part.kind {
            PartKind::Kernel => hold_kernels(&mut rates, &mut masks, part),
            PartKind::Serving => part.rows.iter().for_each(|row| hold_serving(&mut serving, row)),
            _ => {}
        }
    }
    for (name, tally) in [
        ("FLOPS of 7 attention tables, from times and masks", &rates),
        ("sparsity of masks, from their rule", &masks),
        ("rates of 6 serving blocks, from counts and durations", &serving),
    ] {
        tally.tell(&format!("report 004, {name}"));
        assert!(tally.wrong.is_empty(), "{:#?}", tally.wrong);
    }
    assert_eq!((rates.of(), masks.of(), serving.of()), (42, 3, 18));
}
