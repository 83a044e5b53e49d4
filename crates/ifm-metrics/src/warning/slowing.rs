//! Levels, and repeats of one load, that begin fast and end slow while a GPU gets slower or hotter.
//!
//! A falling clock by itself is the part of [`clocks`](super::clocks), a falling speed by itself that of
//! [`drift`](super::drift): this check names those that come together, from smaller changes on.

use super::clocks::{Gpu, gpus};
use super::cold::words;
use super::{Check, Context, Finding, Made, Severity, percent};
use crate::level::LevelSummary;
use ifm_core::Series;
use ifm_core::words::counted;

/// A speed that fell by less is within what repeats differ by.
const SPEED_FALL_MIN: f64 = 0.05;
/// A clock that fell by more was lowered.
const CLOCK_FALL_MIN: f64 = 0.01;
/// If the clock is not reported: degrees by which the temperature rose.
const RISE_C_MIN: f64 = 5.0;
/// Events in a third of a level below which it has no speed, and samples of a GPU.
const EVENTS_MIN: usize = 200;
const SAMPLES_MIN: usize = 3;

pub(super) const CHECK: Check = Check {
    id: "slowing",
    title: "no level or repeat slowed down together with its GPU",
    run: Made::ForRun(make),
};

fn make(context: &Context) -> Option<Vec<Finding>> {
    let counting: Vec<&LevelSummary> =
        context.levels.iter().filter(|level| level.is_result()).collect();
    let stretches =
        counting.iter().filter_map(|level| Some((level.load()?, thirds(context, level)?)));
    let mut pairs: Vec<(String, [Stretch; 2])> = stretches
        .map(|(load, pair)| (format!("{}, from its first to its last third", words(load)), pair))
        .collect();
    for (place, level) in counting.iter().enumerate() {
        let Some(load) = level.load() else { continue };
        let is_same = |other: &&&LevelSummary| other.load() == Some(load);
        let before = counting.iter().take(place).find(is_same);
        let is_last = counting.iter().skip(place + 1).find(is_same).is_none();
        let Some(first) = before.filter(|_| is_last) else { continue };
        let repeats = counting.iter().filter(is_same).count() as u64;
        let both = [first, level].map(|level| repeat(&context.run.series, level));
        if let [Some(first), Some(last)] = both {
            let name = format!(
                "{}, from the first to the last of {}",
                words(load),
                counted(repeats, "repeat")
            );
            pairs.push((name, [first, last]));
        }
    }
    if pairs.is_empty() {
        return None;
    }
    let found = pairs.into_iter().filter_map(|(name, [first, last])| {
        let share = 1.0 - last.speed / first.speed;
        let why = (share > SPEED_FALL_MIN).then(|| why(&first.gpus, &last.gpus))?;
        let text = format!("{name}: {} fewer tokens/s while {}", percent(share), why?);
        Some((Severity::Caution, text))
    });
    Some(found.collect())
}

/// A stretch of time with a speed of its own, and the GPUs in it.
struct Stretch<'run> {
    /// Tokens or events per second.
    speed: f64,
    gpus: Vec<Gpu<'run>>,
}

impl<'run> Stretch<'run> {
    fn new(speed: f64, series: &'run [Series], span: (u64, u64)) -> Option<Stretch<'run>> {
        let known = |gpu: &Gpu| gpu.clocks_mhz.len().max(gpu.temperatures_c.len()) >= SAMPLES_MIN;
        let gpus: Vec<Gpu> = gpus(series, span).into_iter().filter(known).collect();
        (speed > 0.0 && !gpus.is_empty()).then_some(Stretch { speed, gpus })
    }
}

/// The window of a level.
fn repeat<'run>(series: &'run [Series], level: &LevelSummary) -> Option<Stretch<'run>> {
    let rates = level.window()?;
    Stretch::new(rates.output_tok_per_s, series, (rates.window.start_ns, rates.window.end_ns))
}

/// The first and the last third of a steady window.
fn thirds<'run>(context: &Context<'run>, level: &LevelSummary) -> Option<[Stretch<'run>; 2]> {
    let window = level.steady.as_ref()?.window;
    let third_ns = window.end_ns.checked_sub(window.start_ns)? / 3;
    let of = |start_ns: u64| {
        let within = |at_ns: &&u64| (start_ns..start_ns + third_ns).contains(*at_ns);
        let events = context.measured(level).iter().flat_map(|record| &record.events.at_ns);
        let events = events.filter(within).count();
        let speed = events as f64 / (third_ns as f64 / 1e9);
        let series = &context.run.series;
        (events >= EVENTS_MIN)
            .then(|| Stretch::new(speed, series, (start_ns, start_ns + third_ns)))?
    };
    Some([of(window.start_ns)?, of(window.end_ns - third_ns)?])
}

/// What a GPU did meanwhile; absent where none became slower or hotter.
fn why(first: &[Gpu], last: &[Gpu]) -> Option<String> {
    let mean = |values: &[f64]| {
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let each = first.iter().filter_map(|before| {
        let after = last.iter().find(|gpu| gpu.source == before.source)?;
        let clocks = mean(&before.clocks_mhz).zip(mean(&after.clocks_mhz));
        let degrees = mean(&before.temperatures_c).zip(mean(&after.temperatures_c));
        let fell = clocks.filter(|(a, b)| 1.0 - b / a > CLOCK_FALL_MIN);
        let rose = degrees.filter(|(a, b)| b - a > RISE_C_MIN);
        let clock = fell.map(|(a, b)| format!("clock {a:.0} to {b:.0} MHz"));
        let heat = rose.map(|(a, b)| format!("{a:.0} to {b:.0} °C"));
        // Every chip warms up at first: if its clock is reported and constant, heat explains
        // nothing.
        let is_why = clock.is_some() || (clocks.is_none() && heat.is_some());
        let parts: Vec<String> = clock.into_iter().chain(heat).collect();
        is_why.then(|| format!("{}: {}", before.source, parts.join(", ")))
    });
    Some(each.collect::<Vec<_>>().join("; ")).filter(|words| !words.is_empty())
}

#[cfg(test)]
mod tests {
    use crate::testing::{closed_loop, run, telemetry};
    use crate::warning::CheckState;
    use crate::warning::testing::state;
    use ifm_core::RunData;
    use ifm_core::series::Signal;

    /// Two repeats of 4 users with these gaps, 20 s each, and what a GPU reports meanwhile.
    fn repeats(itl_ms: [f64; 2], series: &[(Signal, &dyn Fn(f64) -> f64)]) -> RunData {
        let mut records = closed_loop((0, 0), (4, 40), 0.0, (100.0, itl_ms[0], 40));
        records.extend(closed_loop((160, 1), (4, 40), 30_000.0, (100.0, itl_ms[1], 40)));
        let mut run = run(&[4, 4], records);
        let all = series.iter().map(|(of, value)| telemetry(*of, "GPU 0", (0.0, 80.0), *value));
        run.series = all.collect();
        run
    }

    fn text(run: &RunData) -> Option<String> {
        let summary = crate::summarize(run);
        summary.warnings.into_iter().find(|warning| warning.check == "slowing").map(|w| w.text)
    }

    #[test]
    fn repeats_that_start_fast_and_end_slow_are_named() {
        let falling = |at_s: f64| if at_s < 28.0 { 1980.0 } else { 1900.0 };
        let warming = |at_s: f64| if at_s < 28.0 { 60.0 } else { 80.0 };
        let both: [(Signal, &dyn Fn(f64) -> f64); 2] =
            [(Signal::GpuClock, &falling), (Signal::GpuTemperature, &warming)];
        let found = text(&repeats([10.0, 11.0], &both)).expect("it fires");
        assert!(
            found.starts_with("4 users, from the first to the last of 2 repeats: 7"),
            "{found}"
        );
        assert!(found.ends_with("GPU 0: clock 1980 to 1900 MHz, 60 to 80 °C"), "{found}");
        assert_eq!(text(&repeats([10.0, 10.2], &both)), None, "a slight change");
        assert_eq!(text(&repeats([11.0, 10.0], &both)), None, "it became faster");
        let steady: [(Signal, &dyn Fn(f64) -> f64); 2] =
            [(Signal::GpuClock, &|_| 1980.0), (Signal::GpuTemperature, &warming)];
        assert_eq!(text(&repeats([10.0, 11.0], &steady)), None, "the clock was held");
        assert_eq!(state(&repeats([10.0, 11.0], &steady), "slowing"), CheckState::Passed);
        assert_eq!(state(&repeats([10.0, 11.0], &[]), "slowing"), CheckState::NotApplicable);
    }

    #[test]
    fn a_level_that_ends_slow_is_named() {
        let clock = |at_s: f64| 1980.0 - 2.0 * at_s;
        let mut run = repeats([10.0, 10.0], &[(Signal::GpuClock, &clock)]);
        assert_eq!(text(&run), None);
        // The later half of the second repeat has answers with fewer events.
        for record in
            run.requests.iter_mut().filter(|r| r.level == 1 && r.start_ns > 38_000_000_000)
        {
            let mut place = 0;
            record.events.at_ns.retain(|_| {
                place += 1;
                place % 8 != 0
            });
        }
        let found = text(&run).expect("it fires");
        assert!(found.starts_with("4 users, from its first to its last third: 1"), "{found}");
    }
}
