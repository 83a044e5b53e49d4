//! Comparisons of constructed documents of other tools: their contents decide the verdict.

use super::Metric;
use super::sample::LevelSample;
use super::*;
use ifm_core::Sheet;
use ifm_core::sheet::{
    Definition, Factors, Figure, Part, PartKind, Place, Row as SheetRow, RowRole, SheetRequest,
    Source, Statistic, StdKind, Unit, key,
};
use ifm_metrics::level::Load;
use ifm_metrics::slo;
use ifm_metrics::stat::random::RandomStream;
use ifm_metrics::testing::{NoisyLoop, noisy_run};

const MEAN: Statistic = Statistic::Mean;
const VALUE: Statistic = Statistic::Value;
const P99: Statistic = Statistic::Percentile(99.0);

/// One level at 4 users, with figures in ms or per second.
fn row(figures: &[(Metric, Statistic, f64)]) -> SheetRow {
    let mut row = SheetRow::new(RowRole::Measured, Place::default());
    row.factors = Factors::default().with(key::CONCURRENCY, 4);
    for (quantity, statistic, value) in figures {
        let unit = match quantity {
            Metric::Ttft | Metric::Tpot | Metric::Itl | Metric::E2e => Unit::Ms,
            Metric::RequestsOk | Metric::RequestsFailed => Unit::Count,
            _ => Unit::PerS,
        };
        let figure = Figure::new(*quantity, *statistic, *value, unit);
        row.figures.push(figure.defined(Definition::Same));
    }
    row
}

fn sheet(name: &str, tool: &str, kind: PartKind, rows: Vec<SheetRow>) -> Sheet {
    let part = Part { rows, ..Part::new(kind, Place::default()) };
    let tool = Some(tool.to_owned());
    let source = Source { name: name.to_owned(), tool, ..Source::default() };
    Sheet { source, parts: vec![part], remarks: Vec::new() }
}

fn serving(name: &str, rows: Vec<SheetRow>) -> Sheet {
    sheet(name, "a tool", PartKind::Serving, rows)
}

fn settings() -> Settings {
    let measures = Measure::of_documents();
    Settings { measures, is_choice: true, resamples: 400, ..Settings::default() }
}

fn side(label: &str, sheets: &[Sheet]) -> Side {
    let Settings { measures, slo, .. } = settings();
    let read = |sheet| Member::of_sheet(sheet, &measures, &slo);
    Side { label: label.to_owned(), members: sheets.iter().map(read).collect() }
}

fn pair(a: &[Sheet], b: &[Sheet], settings: &Settings) -> Pair {
    compare(&side("a", a), &[side("b", b)], settings).pairs.remove(0)
}

fn found<'a>(pair: &'a Pair, word: &str) -> &'a Row {
    let measure = Measure::parse(word).expect(word);
    let row = pair.rows.iter().find(|row| row.measure == measure);
    row.unwrap_or_else(|| panic!("no row {word}: {:?}", pair.rows))
}

/// Requests whose times are `factor` times as long, and a row with the mean of them.
fn with_requests(name: &str, seed: u64, factor: f64, n: usize) -> Sheet {
    let mut stream = RandomStream::named(seed, "requests of a document");
    let mut requests = Vec::new();
    for index in 0..n {
        let mut noisy = |ms: f64| ms * factor * (0.1 * stream.normal()).exp();
        let (ttft, gaps) = (noisy(100.0), noisy(200.0));
        requests.push(SheetRequest {
            start_s: Some(index as f64 * 0.08),
            ttft_ms: Some(ttft),
            e2e_ms: Some(ttft + gaps),
            gaps: Some(20),
            gaps_sum_ms: Some(gaps),
            input_tokens: Some(79),
            output_tokens: Some(21),
            ..SheetRequest::default()
        });
    }
    let mean = |of: fn(&SheetRequest) -> Option<f64>| {
        requests.iter().filter_map(of).sum::<f64>() / n as f64
    };
    let mut row = row(&[
        (Metric::Ttft, MEAN, mean(|request| request.ttft_ms)),
        (Metric::E2e, MEAN, mean(|request| request.e2e_ms)),
        (Metric::Tpot, MEAN, mean(|request| Some(request.gaps_sum_ms? / 20.0))),
        (Metric::RequestsOk, VALUE, n as f64),
        (Metric::RequestsFailed, VALUE, 0.0),
        // Four users, and 100 tokens for each request.
        (Metric::TotalRate, VALUE, 4e5 / mean(|request| request.e2e_ms)),
    ]);
    row.requests = requests;
    serving(name, vec![row])
}

#[test]
fn finds_five_percent_with_300_requests_and_no_false_difference() {
    let (mut hits, mut calm) = (0, 0);
    const TRIES: u64 = 24;
    for seed in 0..TRIES {
        let of = |name, seed, factor| [with_requests(name, seed, factor, 300)];
        let base = of("a", 2 * seed, 1.0);
        let measures = Measure::DEFAULT.to_vec();
        let settings = Settings { seed, measures, ..settings() };
        let slower = pair(&base, &of("b", 2 * seed + 1, 1.05), &settings);
        let is_worse = |word| found(&slower, word).verdict == Verdict::Worse;
        hits += u64::from(["ttft.p50", "tpot.p50", "e2e.p50"].into_iter().all(is_worse));
        assert!(slower.rows.iter().all(|row| row.verdict != Verdict::Better), "{slower:?}");
        let same = pair(&base, &of("b", 2 * seed + 1, 1.0), &settings);
        let is_alarm = |row: &Row| matches!(row.verdict, Verdict::Better | Verdict::Worse);
        calm += u64::from(!same.rows.iter().any(is_alarm));
        assert_eq!(found(&same, "ttft.p50").basis, Some(Basis::Requests));
    }
    assert!(hits >= 22 && calm >= 22, "found {hits}, calm {calm} of {TRIES}");
}

#[test]
fn contents_of_a_file_decide_the_verdict() {
    let stated = |mean: f64, std: f64, n: f64| {
        row(&[
            (Metric::Ttft, MEAN, mean),
            (Metric::Ttft, Statistic::Std(StdKind::Population), std),
            (Metric::Ttft, P99, 2.0 * mean),
            (Metric::RequestsOk, VALUE, n),
            (Metric::OutputRate, VALUE, 1e5 / mean),
        ])
    };
    let of = |name, mean, std, n| [serving(name, vec![stated(mean, std, n)])];
    let both = pair(&of("a", 100.0, 20.0, 400.0), &of("b", 110.0, 20.0, 400.0), &settings());
    let mean = found(&both, "ttft.mean");
    assert_eq!((mean.verdict, mean.basis), (Verdict::Worse, Some(Basis::Stated)), "{mean:?}");
    // 95 % of ln 1.1: ± 1.963 · sqrt(1/400 · 400/399 · (0.04 + 0.0331)).
    let change = mean.change.expect("a mean on each side");
    let reach = 1.963 * ((0.04 + 0.033_058) / 399.0_f64).sqrt();
    assert!((change.low / (1.1 * (-reach).exp()) - 1.0).abs() < 1e-3, "{change:?}");
    let p99 = found(&both, "ttft.p99");
    assert_eq!((p99.difference, p99.change), (Some(1.1), None));
    let doubt = Doubt::OneNumber { both: true };
    assert_eq!((p99.verdict, p99.doubt.clone()), (Verdict::Inconclusive, Some(doubt.clone())));
    assert_eq!(found(&both, "out_tok_s").doubt, Some(doubt));
    // A deviation without the number of values, as in a table of llama-bench.
    let std = Statistic::Std(StdKind::Unknown);
    let table = |name, mean| {
        let figures = [(Metric::DecodeRate, MEAN, mean), (Metric::DecodeRate, std, mean / 9.0)];
        [sheet(name, "a tool", PartKind::Engine, vec![row(&figures)])]
    };
    let table = pair(&table("a", 100.0), &table("b", 110.0), &settings());
    assert_eq!(found(&table, "decode_tok_s").doubt, Some(Doubt::Uncounted));
    // Each request brings tokens of both kinds.
    let slower =
        pair(&[with_requests("a", 1, 1.0, 300)], &[with_requests("b", 2, 1.2, 300)], &settings());
    let total = found(&slower, "total_tok_s");
    assert_eq!((total.verdict, total.basis), (Verdict::Worse, Some(Basis::Requests)), "{total:?}");
    // Requests on one side, one number on the other.
    let lone = [serving("c", vec![row(&[(Metric::Ttft, MEAN, 100.0)])])];
    let mixed = pair(&[with_requests("d", 1, 1.0, 300)], &lone, &settings());
    let one = found(&mixed, "ttft.mean");
    assert_eq!(one.doubt, Some(Doubt::OneNumber { both: false }), "{one:?}");
    assert!(one.a.is_some_and(|cell| cell.low.is_some()) && one.b.is_some_and(|c| c.low.is_none()));
    // Fewer requests than a verdict may rest on.
    let few = pair(&of("a", 100.0, 2.0, 12.0), &of("b", 150.0, 2.0, 12.0), &settings());
    let short = Doubt::Short(Shortage::Values { n: 12, needed: 20 });
    assert_eq!(found(&few, "ttft.mean").doubt, Some(short));
    // Repeats: the spread between them, regardless of their contents.
    let repeats = |name: &str, means: [f64; 3]| {
        let sheet = |(index, mean): (usize, f64)| {
            serving(&format!("{name}{index}"), vec![stated(mean, 20.0, 400.0)])
        };
        means.into_iter().enumerate().map(sheet).collect::<Vec<_>>()
    };
    let far = pair(
        &repeats("a", [100.0, 101.0, 99.0]),
        &repeats("b", [120.0, 121.0, 119.0]),
        &settings(),
    );
    let p99 = found(&far, "ttft.p99");
    assert_eq!((p99.verdict, p99.basis), (Verdict::Worse, Some(Basis::Runs)), "{p99:?}");
}

#[test]
fn levels_are_matched_by_what_was_asked_and_others_are_named() {
    let engine = |name: &str, tests: &[(&str, u32, f64)]| {
        let rows = tests.iter().map(|(test, depth, rate)| {
            let mut row = row(&[(Metric::DecodeRate, VALUE, *rate)]);
            row.factors = Factors::default().with(key::TEST, test).with(key::DEPTH_TOKENS, depth);
            row
        });
        [sheet(name, "llama-bench", PartKind::Engine, rows.collect())]
    };
    let a = engine("a", &[("tg128", 0, 50.0), ("tg128", 512, 40.0), ("tg64", 0, 55.0)]);
    let b = engine("b", &[("tg128", 512, 44.0), ("tg128", 0, 50.0)]);
    let pair = pair(&a, &b, &settings());
    let told: Vec<(String, Option<f64>)> =
        pair.rows.iter().map(|row| (row.at.to_string(), row.difference)).collect();
    let expect =
        [("tg128, depth 0".to_owned(), Some(1.0)), ("tg128, depth 512".to_owned(), Some(1.1))];
    assert_eq!(told, expect);
    let left =
        pair.differences.iter().find(|found| found.what.starts_with("levels")).expect("tg64");
    assert_eq!((left.a.as_deref(), left.b.as_deref()), (Some("tg64, depth 0"), Some("none")));
    assert!(pair.unlike().next().is_none(), "{:?}", pair.differences);
    // A setting that each document holds fixed, and they differ in, is unlike.
    let other = engine("c", &[("tg64", 0, 50.0)]);
    let one = engine("d", &[("tg128", 0, 50.0)]);
    let unlike = self::pair(&one, &other, &settings());
    assert!(unlike.unlike().any(|found| found.what == "test"), "{:?}", unlike.differences);
    // Repeats within one document.
    let repeated = |name, rates: [f64; 3]| engine(name, &rates.map(|rate| ("tg128", 0, rate)));
    let pair = self::pair(
        &repeated("a", [50.0, 51.0, 49.0]),
        &repeated("b", [60.0, 61.0, 59.0]),
        &settings(),
    );
    assert_eq!((pair.rows.len(), pair.rows[0].basis), (1, Some(Basis::Runs)));
    assert_eq!(pair.rows[0].verdict, Verdict::Better);
}

#[test]
fn other_definitions_are_not_compared() {
    let of = |tool: &str, text: &str| {
        let mut row = row(&[(Metric::Tpot, Statistic::Median, 10.0)]);
        row.figures[0].definition = Definition::Different(text.to_owned());
        [sheet(tool, tool, PartKind::Serving, vec![row])]
    };
    let (one, other) = (of("x", "ends with the usage"), of("y", "holds the first token"));
    let refused = pair(&one, &other, &settings());
    let row = found(&refused, "tpot.p50");
    let texts = ("x: ends with the usage".to_owned(), "y: holds the first token".to_owned());
    assert_eq!(row.doubt, Some(Doubt::Definitions(texts.0, texts.1)));
    let unlike: Vec<&str> = refused.unlike().map(|found| found.what.as_str()).collect();
    assert_eq!(unlike, ["definition of TPOT"]);
    let even_so = pair(&one, &other, &Settings { even_so: true, ..settings() });
    assert_eq!(found(&even_so, "tpot.p50").doubt, Some(Doubt::OneNumber { both: true }));
    let same = pair(&one, &of("z", "ends with the usage"), &settings());
    assert!(same.unlike().next().is_none(), "one text is one definition");
}

#[test]
fn a_run_is_computed_again_by_the_other_tools_definition() {
    let run = noisy_run(&[NoisyLoop {
        users: 4,
        rounds: 40,
        ttft_ms: 100.0,
        itl_ms: 10.0,
        tokens: 12,
        spread: 0.1,
        memory: 0.0,
        seed: 1,
    }]);
    let Settings { measures, slo, .. } = settings();
    // GuideLLM's TPOT holds the time to the first token: 210 ms over 12 tokens.
    let mut theirs = row(&[(Metric::Tpot, Statistic::Median, 17.5)]);
    theirs.figures[0].definition = Definition::Different("the whole time by all tokens".to_owned());
    theirs.factors.set(key::MODEL, "m");
    let theirs = [sheet("g.json", "guidellm", PartKind::Serving, vec![theirs])];
    let tools = ["guidellm".to_owned()];
    let ours = Member::beside_documents(&run, &measures, &slo, &tools);
    let ours = Side { label: "ours".to_owned(), members: vec![ours] };
    let pair = compare(&ours, &[side("theirs", &theirs)], &settings()).pairs.remove(0);
    let row = found(&pair, "tpot.p50");
    let value = row.a.expect("computed again").value / 1e6;
    assert!((value - 17.5).abs() < 1.0, "{value}");
    // Its own requests have an interval; the number of the other side has none.
    assert_eq!(row.doubt, Some(Doubt::OneNumber { both: false }), "{row:?}");
    assert!(pair.unlike().next().is_none(), "{:?}", pair.differences);
    // A tool whose definitions are not known here is refused.
    let strange = [sheet("s.json", "strange", PartKind::Serving, theirs[0].parts[0].rows.clone())];
    let ours = Member::beside_documents(&run, &measures, &slo, &["strange".to_owned()]);
    let ours = Side { label: "ours".to_owned(), members: vec![ours] };
    let pair = compare(&ours, &[side("theirs", &strange)], &settings()).pairs.remove(0);
    assert!(matches!(found(&pair, "tpot.p50").doubt, Some(Doubt::Definitions(..))));
}

#[test]
fn documents_are_ranked_and_have_capacities() {
    let level = |users: u32, itl: f64, rate: f64| {
        let mut row = row(&[(Metric::Itl, P99, itl), (Metric::OutputRate, VALUE, rate)]);
        row.factors.set(key::CONCURRENCY, users);
        row
    };
    let a = [serving("a", vec![level(1, 10.0, 90.0), level(8, 60.0, 400.0)])];
    let b = [serving("b", vec![level(1, 10.0, 95.0), level(8, 40.0, 500.0)])];
    let sides = [side("a", &a), side("b", &b)];
    let common = rank::common_conditions(&sides, Measure::value_of(Metric::OutputRate));
    let at = common.last().expect("8 users");
    assert_eq!(at.load, Some(Load::Users(8)));
    let ranking = rank(&sides, Measure::value_of(Metric::OutputRate), at, &settings());
    let order: Vec<(&str, Option<usize>)> =
        ranking.order.iter().map(|ranked| (ranked.side.label.as_str(), ranked.rank)).collect();
    assert_eq!(order, [("b", Some(1)), ("a", Some(1))], "one number each decides nothing");
    assert_eq!(ranking.order[0].undecided[0].doubt, Some(Doubt::OneNumber { both: true }));
    let slo = slo::parse("itl:p99<50ms").expect("a target");
    let settings = Settings { slo: slo.clone(), ..settings() };
    let read = |sheets: &[Sheet], label: &str| Side {
        label: label.to_owned(),
        members: sheets
            .iter()
            .map(|sheet| Member::of_sheet(sheet, &settings.measures, &slo))
            .collect(),
    };
    let pair = compare(&read(&a, "a"), &[read(&b, "b")], &settings).pairs.remove(0);
    let capacity = pair.capacity.expect("a target");
    assert_eq!((capacity.a.state, capacity.a.between), (CapacityState::Found, Some((1.0, 8.0))));
    assert_eq!((capacity.b.state, capacity.b.load), (CapacityState::AtLeast, Some(8.0)));
}

/// What an importer remarks is about reading a file, also one of ours.
#[test]
fn what_was_remarked_while_measuring_calls_for_caution() {
    use ifm_core::sheet::{Remark, RemarkKind};
    let remarked = |kind: RemarkKind| {
        let rows = vec![row(&[(Metric::DecodeRate, MEAN, 50.0)])];
        let mut sheet = sheet("a", "a tool", PartKind::Engine, rows);
        sheet.source.format = "inferometer-engine".to_owned();
        let remark =
            |kind, text: &str| Remark { kind, place: Place::default(), text: text.to_owned() };
        sheet.remarks = vec![
            remark(RemarkKind::Repaired, "UTF-16"),
            remark(kind, "2 of 5 disturbed"),
            remark(kind, "none cached"),
        ];
        sheet
    };
    let told = |kind: RemarkKind| {
        let plain = remarked(RemarkKind::Assumed);
        let pair = pair(&[remarked(kind)], &[plain], &settings());
        let found = pair.differences.iter().find(|it| it.what == "warnings during measurement");
        found.map(|it| (it.a.clone(), it.b.clone()))
    };
    let some = |text: &str| Some(text.to_owned());
    let expected = (some("2 of 5 disturbed; 1 more"), some("none"));
    assert_eq!(told(RemarkKind::Measured), Some(expected.clone()));
    assert_eq!(told(RemarkKind::Missing), Some(expected));
    assert_eq!(told(RemarkKind::Assumed), None);
}

/// Three repeats of an engine's row, as `engine` keeps them: the second field of each is what a thread
/// waited, of 100 ms.
fn repeats(name: &str, repeats: [(f64, u64); 3]) -> Sheet {
    let rows = repeats.iter().enumerate().map(|(place, (rate, waited_ms))| {
        let mut row = row(&[(Metric::DecodeRate, VALUE, *rate)]);
        row.factors = Factors::default().with(key::TEST, "tg16").with(key::REPEAT, place);
        let disturbance = ifm_metrics::disturbance::Disturbance {
            cpu_ns: 90_000_000,
            waited_ns: waited_ms * 1_000_000,
            switches: 0,
            stolen: None,
            wall_ns: 100_000_000,
        };
        let kept = serde_json::to_value(disturbance).expect("JSON");
        row.unknown.insert(ifm_metrics::disturbance::Disturbance::FIELD.to_owned(), kept);
        row
    });
    sheet(name, "a tool", PartKind::Engine, rows.collect())
}

#[test]
fn disturbed_repeats_carry_no_verdict() {
    let measures = vec![Measure::parse("decode_tok_s").expect("a measure")];
    let settings = Settings { measures, ..settings() };
    let quiet = repeats("a", [(100.0, 1), (101.0, 1), (102.0, 1)]);
    let verdict = |b: &Sheet| {
        let pair = pair(std::slice::from_ref(&quiet), std::slice::from_ref(b), &settings);
        let row = &pair.rows[0];
        (row.verdict, row.doubt.clone())
    };
    let slow = repeats("b", [(50.0, 1), (51.0, 1), (52.0, 1)]);
    assert_eq!(verdict(&slow), (Verdict::Worse, None));
    let disturbed = repeats("b", [(50.0, 45), (51.0, 1), (52.0, 60)]);
    let doubt = Doubt::Short(Shortage::Disturbed { n: 2, of: 3 });
    assert_eq!(doubt.to_string(), "other work disturbed 2 of 3 repeats");
    assert_eq!(doubt.word(), "disturbed");
    assert_eq!(verdict(&disturbed), (Verdict::Inconclusive, Some(doubt)));
}

/// A closed loop of 8 users whose waits are Pareto's with an infinite variance, as a tool writes it.
fn heavy_tailed(name: &str, seed: u64) -> Sheet {
    const N: usize = 300;
    let mut stream = RandomStream::named(seed, "heavy tail");
    let mut free = [0.0f64; 8];
    let mut requests = Vec::new();
    for _ in 0..N {
        let ttft = 20.0 * (stream.exponential() / 1.8).exp();
        let gaps = 70.0 * (0.15 * stream.normal()).exp();
        let user = free.iter_mut().min_by(|a, b| a.total_cmp(b)).expect("users");
        requests.push(SheetRequest {
            start_s: Some(*user / 1e3),
            ttft_ms: Some(ttft),
            e2e_ms: Some(ttft + gaps),
            input_tokens: Some(16),
            output_tokens: Some(8),
            ..SheetRequest::default()
        });
        *user += ttft + gaps;
    }
    let seconds = free.iter().copied().fold(0.0, f64::max) / 1e3;
    let rate = 8.0 * N as f64 / seconds;
    let mut row = row(&[(Metric::OutputRate, VALUE, rate)]);
    row.factors = Factors::default().with(key::CONCURRENCY, 8);
    row.requests = requests;
    serving(name, vec![row])
}

#[test]
fn throughputs_of_files_with_long_tails_are_rarely_called_different() {
    let measures = vec![Measure::value_of(Metric::OutputRate)];
    let settings = Settings { measures, threshold: 0.0, ..settings() };
    let (mut differ, mut open) = (0, 0);
    for seed in 0..100 {
        let [a, b] = [2 * seed, 2 * seed + 1].map(|seed| [heavy_tailed("file", seed)]);
        let pair = pair(&a, &b, &settings);
        let row = found(&pair, "out_tok_s");
        differ += u32::from(matches!(row.verdict, Verdict::Better | Verdict::Worse));
        open += u32::from(matches!(row.doubt, Some(Doubt::Short(Shortage::Tail { .. }))));
    }
    assert!(differ <= 8, "{differ} of 100 pairs of one server differ");
    assert!((20..95).contains(&open), "{open} of 100 are known to rest on few requests");
}

#[test]
fn requests_that_depend_on_each_other_are_few() {
    let measures = vec![Measure::parse("ttft.p50").expect("a measure")];
    let settings = Settings { threshold: 0.0, measures, ..settings() };
    let side = |seed| {
        let shape = NoisyLoop {
            users: 4,
            rounds: 75,
            ttft_ms: 100.0,
            itl_ms: 1.0,
            tokens: 2,
            spread: 0.4,
            memory: 0.95,
            seed,
        };
        let run = noisy_run(&[shape]);
        Side {
            label: "run".to_owned(),
            members: vec![Member::of(&run, &settings.measures, &settings.slo)],
        }
    };
    let (mut differ, mut open) = (0, 0);
    for seed in 0..60 {
        let row = &compare(&side(2 * seed), &[side(2 * seed + 1)], &settings).pairs[0].rows[0];
        differ += u32::from(matches!(row.verdict, Verdict::Better | Verdict::Worse));
        open += u32::from(matches!(row.doubt, Some(Doubt::Short(Shortage::Dependent { .. }))));
    }
    assert!(differ <= 6 && open >= 20, "{differ} of 60 differ, {open} are known to be few");
}

/// Only two metrics follow from how many requests failed; every other metric is absent.
#[test]
fn counts_of_requests_answer_no_other_metric() {
    let counts = [(Metric::RequestsOk, VALUE, 36.0), (Metric::RequestsFailed, VALUE, 4.0)];
    let sheet = serving("a", vec![row(&counts)]);
    let overs = |metric: Metric| match metric.has_many_values() {
        true => vec![Over::Percentile(50.0), Over::Mean],
        false => vec![Over::Value],
    };
    let all =
        Metric::all().flat_map(|metric| overs(metric).into_iter().map(move |over| (metric, over)));
    let measures: Vec<Measure> = all.map(|(metric, over)| Measure { metric, over }).collect();
    let settings = Settings { measures, ..settings() };
    let member = Member::of_sheet(&sheet, &settings.measures, &settings.slo);
    let found: Vec<String> = member
        .samples
        .iter()
        .flat_map(LevelSample::told)
        .map(|told| told.measure.to_string())
        .collect();
    assert_eq!(found, ["error_rate", "success"]);
}
