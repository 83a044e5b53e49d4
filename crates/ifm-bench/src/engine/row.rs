//! What was measured as rows of a document, as any tool's.
//!
//! Tests in llama-bench's notation become the rows that its own files become; static batches become
//! SGLang's rows, by inferometer's definitions. Not here: reading other tools' files
//! (`ifm-interop`).

use super::case::Shape;
use super::course::{Ask, Done};
use super::{Repeat, Setup, Which, ceiling};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{
    Definition, Factors, Figure, Part, PartKind, Place, Remark, RemarkKind, Row, RowRole, Source,
    Statistic, Unit, WHY, key,
};
use ifm_core::words::counted;
use serde_json::{Map, Value, json};

/// Id of the format, and the tool, of what is written here.
const FORMAT: &str = "inferometer-engine";
const TOOL: &str = "inferometer engine";
/// What a rate of a static batch means.
const PREFILL: &str = "prompt tokens of the batch over the time to its last first token";
const STEPS: &str = "of the whole batch, over the steps after the first tokens: n - 1 for n tokens";
const FIRST_TOKENS: &str = "to the first token of the last sequence of the batch";
/// The time of a server's prompt, by whose clock it was, and that of its steps.
const BY_CLIENT: &str = "from the last byte sent to the last first token, less what a request of one \
     token takes in addition to a step";
const BY_SERVER: &str = "as the server reports it";
const BY_STREAM: &str = "from the last first token of the stream to the last token";
/// Factors that a repeat on a server reports.
const TIMED_BY: &str = "timed_by";
const TOLD: [&str; 2] = [TIMED_BY, "depth_from"];
const STEP: &str = "one decode step of the batch";

/// The document of everything that was done.
pub fn sheet(ask: &Ask, name: &str, factors: &Factors, all: &[Done]) -> Sheet {
    let mut parts = Vec::new();
    let mut remarks = Vec::new();
    for shape in [PartKind::Engine, PartKind::StaticBatch] {
        let of_kind: Vec<(usize, &Done)> =
            all.iter().enumerate().filter(|(_, done)| kind(done) == shape).collect();
        if of_kind.is_empty() {
            continue;
        }
        let mut part = Part::new(shape, Place::default());
        part.factors = machine();
        part.factors = factors.within(&part.factors);
        for (index, done) in of_kind {
            let place = Place::pointer(format!("/tests/{index}"));
            let setup = &ask.setups[done.setup];
            let mut rows = rows(setup, done, &place);
            if let Which::Url(_) = ask.which {
                rows.iter_mut().for_each(of_server);
            }
            part.rows.extend(rows);
            remarks.extend(remarks_of(setup, done, &place));
        }
        parts.push(part);
    }
    let source = Source {
        name: name.to_owned(),
        format: FORMAT.to_owned(),
        tool: Some(TOOL.to_owned()),
        tool_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        bytes: 0,
        run_id: None,
    };
    Sheet { source, parts, remarks }
}

fn kind(done: &Done) -> PartKind {
    match done.test.shape {
        Shape::Bench => PartKind::Engine,
        Shape::Batch(_) => PartKind::StaticBatch,
    }
}

/// What the machine is, for every row.
fn machine() -> Factors {
    let mut factors = Factors::default();
    if let Some(cpu) = ifm_sys::host::cpu_name() {
        factors.set(key::HARDWARE, cpu);
    }
    factors
}

/// The rows of one test: what holds of all repeats, and each repeat.
fn rows(setup: &Setup, done: &Done, place: &Place) -> Vec<Row> {
    let rows = match done.test.shape {
        Shape::Bench => ifm_interop::llama_bench_rows(fields(setup, done), place),
        Shape::Batch(size) => batch_rows(size, done, place),
    };
    let settings = settings(setup, done);
    let mut repeats = done.repeats.iter();
    rows.into_iter()
        .map(|mut row| {
            row.factors = settings.within(&row.factors);
            if done.repeats.is_empty() {
                row.role = RowRole::Planned;
                if let Some(why) = &done.trouble {
                    row.unknown.insert(WHY.to_owned(), json!(why));
                }
            }
            if let Some(repeat) = row.factors.get(key::REPEAT).and_then(|_| repeats.next()) {
                row.unknown.extend(kept(repeat));
                row.figures.extend(ceiling::of_repeat(done, repeat));
            }
            if row.role != RowRole::Planned {
                row.figures.extend(ceiling::of_test(done));
            }
            row
        })
        .collect()
}

/// A server was not set from here, and what the client timed is defined by how it did so.
fn of_server(row: &mut Row) {
    for name in ["n_batch", "n_ubatch", "type_k", "type_v", "n_threads"] {
        let is_told = name == "n_threads" && row.factors.get(name).is_some_and(|n| n != "0");
        if !is_told {
            row.factors = row.factors.without(&[name]);
        }
    }
    let timed_by = row.factors.get(TIMED_BY).map(str::to_owned).unwrap_or_default();
    let prompt = if timed_by == "client" { BY_CLIENT } else { BY_SERVER };
    let both = format!("two times: of the prompts {prompt}, and {BY_STREAM}");
    let is_batch = row.factors.get(key::TEST).is_none();
    for figure in &mut row.figures {
        let text = match &figure.quantity {
            Metric::Prefill => prompt.to_owned(),
            Metric::PrefillRate => {
                format!(
                    "prompt tokens that the server computed, by its count, over the time {prompt}"
                )
            }
            Metric::DecodeRate => format!("tokens over the time {BY_STREAM}, those in it alone"),
            Metric::TotalRate => {
                format!("computed prompt tokens and tokens of the answers, over {both}")
            }
            Metric::Duration if is_batch => both.clone(),
            _ => continue,
        };
        figure.definition = Definition::Different(text);
    }
}

/// Fields of llama-bench that say what was set.
const SETTINGS: [&str; 8] = [
    "backends",
    "cpu_info",
    "model_filename",
    "n_batch",
    "n_threads",
    "n_ubatch",
    "type_k",
    "type_v",
];

/// What was set, and what the engine reports about itself.
fn settings(setup: &Setup, done: &Done) -> Factors {
    let mut factors = Factors::default();
    let Some(about) = &done.about else {
        factors.set(key::MODEL, &setup.model);
        if let Some(weights) = &setup.weights {
            factors.set(key::QUANTIZATION, weights);
        }
        return factors;
    };
    let mut set = |name: &str, value: Option<&str>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            factors.set(name, value);
        }
    };
    set(key::ENGINE, Some(&about.engine));
    set("engine_version", about.engine_version.as_deref());
    set(key::GPU, about.gpu.as_deref());
    set(key::QUANTIZATION, about.stored.as_deref());
    set("computed", about.computed.as_deref());
    set("instructions", about.instructions.as_deref());
    for name in TOLD {
        let mut words = done.repeats.iter().filter_map(|repeat| repeat.told.get(name)?.as_str());
        let first = words.next();
        let is_one = words.all(|word| Some(word) == first);
        set(name, if is_one { first } else { Some("mixed") });
    }
    if matches!(done.test.shape, Shape::Batch(_)) {
        set(key::MODEL, Some(&model_name(setup, done)));
        // As in llama-bench's rows, so that rows of one result differ by what was asked alone.
        let fields = fields(setup, done);
        for name in SETTINGS {
            let value = fields.get(name).filter(|value| !value.is_null());
            set(name, value.map(|value| value.to_string().trim_matches('"').to_owned()).as_deref());
        }
    }
    factors
}

/// The model with the format of its weights, as tables name variants.
fn model_name(setup: &Setup, done: &Done) -> String {
    let about = done.about.as_ref();
    let model = about.and_then(|about| about.model.as_deref()).unwrap_or(&setup.model);
    match about.and_then(|about| about.stored.as_deref()).or(setup.weights.as_deref()) {
        Some(stored) if !model.contains(stored) => format!("{model} {stored}"),
        _ => model.to_owned(),
    }
}

/// The fields of llama-bench.
fn fields(setup: &Setup, done: &Done) -> Map<String, Value> {
    let about = done.about.clone().unwrap_or_default();
    let test = done.test;
    let samples: Vec<(u64, f64)> = done.repeats.iter().filter_map(|one| rate(done, one)).collect();
    let times: Vec<f64> = samples.iter().map(|(ns, _)| *ns as f64).collect();
    let rates: Vec<f64> = samples.iter().map(|(_, rate)| *rate).collect();
    let mut fields = Map::new();
    // Values reported by a tool under these names take precedence; the others come from what is
    // known here.
    fields.extend(about.told.clone());
    let mut set = |name: &str, value: Value| {
        if !value.is_null() && !about.told.contains_key(name) {
            fields.insert(name.to_owned(), value);
        }
    };
    set("build_commit", json!(about.engine_version));
    set("cpu_info", json!(ifm_sys::host::cpu_name()));
    set("gpu_info", json!(about.gpu));
    set("backends", json!(about.backend));
    set("model_filename", json!(setup.model));
    set("model_type", json!(model_name(setup, done)));
    set("model_size", json!(about.weight_bytes));
    set("model_n_params", json!(about.parameters));
    set("n_batch", json!(setup.batch_tokens));
    set("n_ubatch", json!(setup.pass_tokens));
    set("n_threads", json!(about.threads.or(setup.threads)));
    set("type_k", json!(about.kv.as_ref().unwrap_or(&setup.kv.0)));
    set("type_v", json!(about.kv.as_ref().unwrap_or(&setup.kv.1)));
    set("n_prompt", json!(test.prompt));
    set("n_gen", json!(test.generated));
    set("n_depth", json!(test.depth));
    set("test_time", json!(done.begun.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()));
    if !samples.is_empty() {
        let ((mean_ns, std_ns), (mean, std)) = (mean_and_std(&times), mean_and_std(&rates));
        set("avg_ns", json!(mean_ns.round()));
        set("avg_ts", json!(mean));
        // One value has no deviation; the tool writes 0.
        set("stddev_ns", json!(std_ns.map(f64::round)));
        set("stddev_ts", json!(std));
        set("samples_ns", json!(times));
        set("samples_ts", json!(rates));
    }
    fields
}

/// Time and rate of a repeat, as llama-bench counts them: all tokens over the time of all.
fn rate(done: &Done, repeat: &Repeat) -> Option<(u64, f64)> {
    let test = done.test;
    let ns = match (test.prompt, test.generated) {
        (_, 0) => repeat.prompt_ns?,
        (0, _) => repeat.steps_ns?,
        _ => whole_ns(repeat)?,
    };
    let tokens = prompt_tokens(done, repeat) + step_tokens(done, repeat);
    (ns > 0).then(|| (ns, tokens as f64 * 1e9 / ns as f64))
}

/// Prompts and steps of a repeat together, nanoseconds. A batch that ends with its first tokens has
/// no steps.
fn whole_ns(repeat: &Repeat) -> Option<u64> {
    let parts = || repeat.prompt_ns.map(|prompt| prompt + repeat.steps_ns.unwrap_or_default());
    repeat.whole_ns.or_else(parts)
}

/// Prompt tokens of all sequences that a repeat computed.
fn prompt_tokens(done: &Done, repeat: &Repeat) -> u64 {
    let asked = u64::from(done.test.case().batch) * u64::from(done.test.prompt);
    repeat.prompt_tokens.unwrap_or(asked)
}

/// Tokens of all sequences that its steps made.
fn step_tokens(done: &Done, repeat: &Repeat) -> u64 {
    let case = done.test.case();
    repeat.step_tokens.unwrap_or(u64::from(case.batch) * u64::from(case.steps))
}

/// What came of a test, in a line for people.
pub fn line(ask: &Ask, done: &Done) -> String {
    let of = format!("{} {}", model_name(&ask.setups[done.setup], done), done.test.name());
    let threads = done.about.as_ref().and_then(|about| about.threads);
    let with = threads
        .map_or(String::new(), |threads| format!(" ({})", counted(u64::from(threads), "thread")));
    let rates: Vec<f64> = done
        .repeats
        .iter()
        .filter_map(|one| match done.test.shape {
            Shape::Bench => rate(done, one).map(|(_, rate)| rate),
            Shape::Batch(size) => {
                let ns = whole_ns(one)?;
                let generated = u64::from(size) * u64::from(done.test.generated);
                let tokens = prompt_tokens(done, one) + generated;
                (ns > 0).then(|| tokens as f64 * 1e9 / ns as f64)
            }
        })
        .collect();
    if rates.is_empty() {
        return format!("{of}{with}: {}", done.trouble.as_deref().unwrap_or("not measured"));
    }
    let (mean, std) = mean_and_std(&rates);
    let spread = std.map_or(String::new(), |std| format!(" ± {std:.2}"));
    let shares = done.repeats.iter().filter_map(|one| ceiling::share(done, one));
    let (count, sum) = shares.fold((0_u32, 0.0), |(count, sum), share| (count + 1, sum + share));
    let of_limit = match count {
        0 => String::new(),
        count => of_roofline(sum / f64::from(count)),
    };
    format!("{of}{with}: {mean:.2}{spread} tokens/s{}{of_limit}", of_phases(done))
}

/// Describes the rate of a batch and the rates of its two phases.
fn of_phases(done: &Done) -> String {
    if done.test.shape == Shape::Bench {
        return String::new();
    }
    let mean = |of: &dyn Fn(&Repeat) -> Option<(u64, u64)>| -> Option<f64> {
        let rates: Vec<f64> = done
            .repeats
            .iter()
            .filter_map(|one| of(one).filter(|(_, ns)| *ns > 0))
            .map(|(tokens, ns)| tokens as f64 * 1e9 / ns as f64)
            .collect();
        (!rates.is_empty()).then(|| mean_and_std(&rates).0)
    };
    let prefill = mean(&|one| Some((prompt_tokens(done, one), one.prompt_ns?)));
    let decode = mean(&|one| Some((step_tokens(done, one), one.steps_ns?)));
    let told = |(name, rate): (&str, Option<f64>)| Some(format!(", {name} {:.1}", rate?));
    let phases: String =
        [("prefill", prefill), ("decode", decode)].into_iter().filter_map(told).collect();
    format!(" in all{phases}")
}

/// A share of the roofline in words: what is above it came from caches.
fn of_roofline(share: f64) -> String {
    match share > 1.0 {
        true => ", faster than memory feeds: caches hold the weights".to_owned(),
        false => format!(", {:.0} % of the roofline", 100.0 * share),
    }
}

fn mean_and_std(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt()))
}

/// A row for each repeat of a static batch.
fn batch_rows(size: u32, done: &Done, place: &Place) -> Vec<Row> {
    let test = done.test;
    let (batch, output) = (f64::from(size), f64::from(test.generated));
    let mut all = Vec::new();
    for (index, repeat) in done.repeats.iter().enumerate() {
        let mut row = Row::new(RowRole::Measured, place.clone());
        row.factors.set(key::REPEAT, index + 1);
        let prompt_s = repeat.prompt_ns.map(|ns| ns as f64 / 1e9);
        let steps_s = repeat.steps_ns.map(|ns| ns as f64 / 1e9);
        let whole_s = whole_ns(repeat).map(|ns| ns as f64 / 1e9);
        let different = |text: &str| Definition::Different(text.to_owned());
        let mut add = |quantity, statistic, value: Option<f64>, unit, definition| {
            let figure = |value| Figure::new(quantity, statistic, value, unit).defined(definition);
            row.figures.extend(value.filter(|value| *value > 0.0).map(figure));
        };
        let value = Statistic::Value;
        let over = |tokens: f64, seconds: Option<f64>| seconds.map(|seconds| tokens / seconds);
        add(Metric::Duration, value, whole_s, Unit::S, Definition::Same);
        add(Metric::Prefill, value, prompt_s, Unit::S, different(FIRST_TOKENS));
        let computed = prompt_tokens(done, repeat) as f64;
        let prefill = over(computed, prompt_s);
        add(Metric::PrefillRate, value, prefill, Unit::PerS, different(PREFILL));
        let decode = over(step_tokens(done, repeat) as f64, steps_s);
        add(Metric::DecodeRate, value, decode, Unit::PerS, different(STEPS));
        let all_tokens = over(computed + batch * output, whole_s);
        add(Metric::TotalRate, value, all_tokens, Unit::PerS, Definition::Same);
        let median = median(&repeat.step_ns).map(|ns| ns / 1e6);
        add(Metric::Itl, Statistic::Median, median, Unit::Ms, different(STEP));
        all.push(row);
    }
    if all.is_empty() {
        all.push(Row::new(RowRole::Measured, place.clone()));
    }
    for row in &mut all {
        row.factors.set(key::BATCH_SIZE, size);
        row.factors.set(key::INPUT_TOKENS, test.prompt);
        row.factors.set(key::OUTPUT_TOKENS, test.generated);
        if test.depth > 0 {
            row.factors.set(key::DEPTH_TOKENS, test.depth);
        }
    }
    all
}

fn median(values: &[u64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)? as f64;
    Some(match sorted.len() % 2 {
        1 => upper,
        _ => (*sorted.get(middle.checked_sub(1)?)? as f64 + upper) / 2.0,
    })
}

/// What no figure holds of a repeat.
fn kept(repeat: &Repeat) -> Map<String, Value> {
    let mut kept = repeat.told.clone();
    let mut set = |name: &str, value: Value| {
        if !value.is_null() {
            kept.insert(name.to_owned(), value);
        }
    };
    set("prompt_ns", json!(repeat.prompt_ns));
    set("steps_ns", json!(repeat.steps_ns));
    set("whole_ns", json!(repeat.whole_ns));
    set("wall_ns", json!(repeat.wall_ns));
    set("computed_prompt_tokens", json!(repeat.prompt_tokens));
    set("step_tokens", json!(repeat.step_tokens));
    set("cached_tokens", json!(repeat.cached));
    set("disturbance", json!(repeat.disturbance));
    kept
}

/// What deserves caution, in words.
fn remarks_of(setup: &Setup, done: &Done, place: &Place) -> Vec<Remark> {
    let all =
        cautions(done).into_iter().chain(disturbed(done).map(|text| (RemarkKind::Measured, text)));
    all.map(|(kind, text)| Remark { kind, place: place.clone(), text: of_test(setup, done, &text) })
        .collect()
}

fn of_test(setup: &Setup, done: &Done, text: &str) -> String {
    let name = format!("{} {}: {text}", model_name(setup, done), done.test.name());
    name.trim_start().to_owned()
}

fn cautions(done: &Done) -> Vec<(RemarkKind, String)> {
    let mut said: Vec<(RemarkKind, String)> =
        done.trouble.iter().map(|why| (RemarkKind::Missing, why.clone())).collect();
    let in_front = u64::from(done.test.case().batch) * u64::from(done.test.depth);
    // The cache use of a server has its own remark.
    let of_engines = done.repeats.iter().filter(|one| one.told.is_empty());
    let cached = of_engines.filter_map(|one| one.cached).min();
    if let Some(cached) = cached.filter(|cached| *cached < in_front) {
        let rest = in_front - cached;
        said.push((
            RemarkKind::Measured,
            format!("{rest} of {in_front} context tokens were not cached and were computed in the measured time"),
        ));
    }
    let mut told: Vec<&String> = done.repeats.iter().flat_map(|repeat| &repeat.remarks).collect();
    told.sort();
    for text in told.chunk_by(|one, other| one == other) {
        let (some, all) = (text.len(), done.repeats.len());
        let of = if some < all { format!(" ({some} of {all} repeats)") } else { String::new() };
        said.push((RemarkKind::Measured, format!("{}{of}", text[0])));
    }
    said
}

/// Repeats of a test that were disturbed: which were replaced, and which count.
fn disturbed(done: &Done) -> Option<String> {
    let words = |repeats: &[Repeat]| -> Vec<String> {
        let all = repeats.iter().filter_map(|repeat| repeat.disturbance);
        all.filter(|what| what.is_too_much()).map(|what| what.words()).collect()
    };
    let (replaced, counts) = (words(&done.replaced), words(&done.repeats));
    let first = counts.first().or(replaced.first())?;
    let again = match replaced.len() {
        0 => String::new(),
        times => format!("{} replaced, ", counted(times as u64, "disturbed repeat")),
    };
    let (count, all) = (counts.len(), done.repeats.len());
    Some(format!("{again}{count} of {all} counted repeats were disturbed (one {first})"))
}

/// The same for people, all tests together: what is wrong with one test, and in one sentence how busy
/// the machine was.
pub fn warnings(ask: &Ask, all: &[Done]) -> Vec<String> {
    let mut said: Vec<String> = all
        .iter()
        .flat_map(|done| {
            let setup = &ask.setups[done.setup];
            // The line of the test already states why there is no result.
            let others =
                cautions(done).into_iter().filter(|(kind, _)| *kind != RemarkKind::Missing);
            others.map(move |(_, text)| of_test(setup, done, &text))
        })
        .collect();
    let is_disturbed = |repeat: &&Repeat| repeat.disturbance.is_some_and(|what| what.is_too_much());
    let counts: Vec<&Repeat> = all.iter().flat_map(|done| &done.repeats).collect();
    let worst = counts.iter().copied().filter(is_disturbed).filter_map(|one| one.disturbance);
    let worst = worst.max_by(|a, b| a.waited().total_cmp(&b.waited()));
    if let Some(worst) = worst {
        let count = counts.iter().copied().filter(is_disturbed).count();
        said.push(format!(
            "CPU contention: {count} of {} were disturbed (the worst {}); \
             the result says which",
            counted(counts.len() as u64, "repeat"),
            worst.words()
        ));
    }
    said
}
