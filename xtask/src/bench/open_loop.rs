//! Whether requests of an open loop arrive when they are due.

use super::lab::{Lab, Served};
use super::table::{Table, number, verdict};
use anyhow::{Context as _, Result};
use ifm_core::RunData;
use ifm_sys::host::CpuTicks;
use ifm_sys::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Short answers after 20 ms, in one event: at 5,000 per second some 100 are in flight.
const PACE: &str = "ttft_ms=20,burst=8";
const TOKENS: u32 = 8;
const PROMPT_TOKENS: u32 = 32;
const SECONDS: u32 = 10;
/// How often the server looks, microseconds. Its kernel stamps the arrivals, whenever it looks; and
/// a host that shares its processors stops a guest of which all processors are busy, or wake up
/// thousands of times a second, for a millisecond now and then.
const SERVER_RESTS_US: u32 = 1_000;
const RATES: [u32; 3] = [500, 2_000, 5_000];
/// Targets: share by which the rate may be off, variation of constant gaps, lateness.
const RATE_ERROR_TARGET: f64 = 0.001;
const CV_TARGET: f64 = 0.05;
const LATE_P99_TARGET_MS: f64 = 1.0;
const NS_PER_MS: f64 = 1e6;
const NS_PER_S: f64 = 1e9;

const NOTE: &str = "Arrivals as the server's kernel stamped them, 10 s of each rate, answers of 8 \
    tokens in one event after 20 ms. Each row is the run with the median CV or distance; the \
    smallest and the largest follow. Calm: the same of only those gaps that lie in half \
    seconds in which the host took no tick (10 ms) of this machine's processors for other guests, \
    with the share of the time of all runs that this is. A host that stops a guest for a millisecond \
    stops its client too; half seconds are left out by that counter alone, whatever their gaps are. \
    The verdict is that of the calm part, of the runs in which it is a second or more. The \
    rate is compared with \
    that of the schedule, whose own rate is random where arrivals are. Lateness is arrival at the \
    server less due time, in the order of both. For \
    constant arrivals the coefficient of variation of the gaps; for Poisson arrivals the distance \
    of Kolmogorov and Smirnov between the gaps and the exponential law of the asked rate, next to \
    the limit that one of twenty true samples is beyond, and the same distance of the schedule, \
    which chance alone makes; then that of the arrivals for the gaps above 30 µs, which follow \
    the same law since it has no memory: a thread that sends one request after the other has no \
    smaller gaps than a send takes (some 4 to 8 µs), and at thousands per second the law has. Last the \
    distance of the arrival times from the even law: of a Poisson process whose number is given they \
    are a sample of it. Bare \
    timer: a thread on the client's processor that only waits for the same constant due times, in \
    the same manner, run right after each run together with a thread that keeps the server's processor \
    as busy as the server did, and how evenly it gets them: what the host itself takes away. \
    Precise is the flag --precise: the readers run before all other threads, and their \
    processor is kept awake.";
/// How often the host's counter is looked at, nanoseconds.
const LOOK_NS: u64 = 500_000_000;
/// The calm time that a verdict needs, nanoseconds.
const CALM_NS: u64 = 1_000_000_000;
/// Gaps below this, in seconds, are as long as a send and do not follow the law.
const SEND_S: f64 = 30e-6;
/// How long before a due time the bare timer stops sleeping, as the client does.
const AWAKE_NS: u64 = 60_000;

/// How requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Law {
    Constant,
    Poisson,
}

impl std::fmt::Display for Law {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Law::Constant => "constant",
            Law::Poisson => "poisson",
        })
    }
}

/// How the client and the bare timer run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Plain,
    Precise,
}

/// What one run says.
struct Figures {
    arrivals: usize,
    rate_per_s: f64,
    rate_error: f64,
    cv: f64,
    distance: f64,
    /// The same distance of the schedule itself: chance.
    distance_due: f64,
    distance_above: (f64, usize),
    /// That of the arrival times from the even law.
    distance_times: f64,
    late_ms: [f64; 3],
    cpu_share: f64,
    /// Times that a reader waited for the decoder.
    decoder_stalls: u64,
    /// Share of all processors' time that the host took; absent where it does not say.
    stolen_share: Option<f64>,
    /// Gaps in seconds while the host took nothing, in the order of the arrivals.
    calm_gaps: Vec<f64>,
    /// How long that was, nanoseconds.
    calm_ns: u64,
    /// How evenly the bare timer got its due times right after; absent where it was not run.
    timer_cv: Option<f64>,
}

/// The gaps of a part of a run against their law.
struct Shape {
    /// CV, or the distance of all gaps.
    whole: f64,
    /// The distance of those above [`SEND_S`], and how many those are.
    above: (f64, usize),
    gaps: usize,
}

impl Figures {
    /// What the law is judged by.
    fn shape(&self, law: Law) -> f64 {
        match law {
            Law::Constant => self.cv,
            Law::Poisson => self.distance,
        }
    }

    /// What the law is judged by, of the calm part alone; absent where that is too short.
    fn while_calm(&self, law: Law, rate: f64) -> Option<Shape> {
        let gaps = self.calm_gaps.len();
        if self.calm_ns < CALM_NS || gaps < 3 {
            return None;
        }
        let mut sorted = self.calm_gaps.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let whole = match law {
            Law::Constant => variation(&sorted),
            Law::Poisson => exponential_distance(&sorted, rate),
        };
        Some(Shape { whole, above: distance_above(&sorted, rate), gaps })
    }

    /// One run in a line.
    fn line(&self) -> String {
        let [_, p99, largest] = self.late_ms;
        let timer = self.timer_cv.map(|cv| format!(", bare timer's CV {cv:.4}"));
        format!(
            "late p99 {p99:.3} ms, largest {largest:.3} ms, {} waits, CV {:.4}, KS {:.4} and {:.4} \
             of the times{}, stolen {}, calm {:.1} s",
            self.decoder_stalls,
            self.cv,
            self.distance,
            self.distance_times,
            timer.unwrap_or_default(),
            percent(self.stolen_share),
            self.calm_ns as f64 / NS_PER_S
        )
    }
}

/// A share in percent; a dash where it is not known.
fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "—".to_owned(), |share| format!("{:.2} %", share * 100.0))
}

/// Runs the benchmark as the client runs if nothing is said.
///
/// # Errors
/// When a run fails, or client and server differ in the number of requests.
pub fn plain(lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<Vec<Table>> {
    run(lab, Manner::Plain, say)
}

/// Runs the benchmark with readers before all else, on a processor that is kept awake.
///
/// # Errors
/// When a run fails, or client and server differ in the number of requests.
pub fn precise(lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<Vec<Table>> {
    run(lab, Manner::Precise, say)
}

fn run(lab: &Lab, manner: Manner, say: &mut dyn FnMut(&str)) -> Result<Vec<Table>> {
    let columns = [
        "asked",
        "arrivals",
        "rate/s",
        "off the schedule's rate",
        "CV of gaps, or KS (limit)",
        "the same while calm (share of the time)",
        "bare timer, or KS above 30 µs",
        "KS of the times",
        "late p50, ms",
        "p99",
        "largest",
        "waits for the decoder",
        "CPU share of the client",
        "host took",
    ];
    let mut table = Table::new("Open loop", NOTE, &columns);
    for law in [Law::Constant, Law::Poisson] {
        for rate in RATES {
            let asked = match manner {
                Manner::Plain => format!("{law} {rate}/s"),
                Manner::Precise => format!("{law} {rate}/s, precise"),
            };
            let mut runs: Vec<Figures> = Vec::new();
            for _ in 0..lab.repeats {
                let figures = measure(lab, law, rate, manner)?;
                say(&format!("{asked}: {}", figures.line()));
                runs.push(figures);
            }
            table.push(row(law, asked, f64::from(rate), runs)?);
        }
    }
    Ok(vec![table])
}

fn measure(lab: &Lab, law: Law, rate: u32, manner: Manner) -> Result<Figures> {
    let server = lab.serve_with(true, &["--rest-us".to_owned(), SERVER_RESTS_US.to_string()])?;
    let mut flags = vec![
        format!("--workload={PROMPT_TOKENS}/{TOKENS}"),
        format!("--rate={rate}"),
        format!("--arrivals={law}"),
        format!("--duration={SECONDS}s"),
        "--warmup=0".to_owned(),
    ];
    if manner == Manner::Precise {
        flags.extend(["--precise".to_owned(), format!("--cpus={}", lab.client_cpu())]);
    }
    let before = CpuTicks::read();
    let start_ns = ifm_sys::mono_ns();
    let watch = HostWatch::start();
    let loaded = lab.run_with(&server, PACE, &flags)?;
    let calm = watch.stop()?;
    let wall_ns = ifm_sys::mono_ns() - start_ns;
    let after = CpuTicks::read();
    let health = loaded.run.manifest.health.as_ref().context("the run has no health")?;
    anyhow::ensure!(
        health.readers_first == (manner == Manner::Precise).then_some(true),
        "the system does not let the client run before others"
    );
    let (log, server_cpu_ns) = server.stop_with_cost()?;
    let mut figures = figures(&loaded.run, &log, &calm, f64::from(rate))?;
    figures.decoder_stalls = health.decoder_stalls;
    figures.cpu_share = loaded.cost.cpu_ns as f64 / NS_PER_S / f64::from(SECONDS);
    figures.stolen_share = before.zip(after).and_then(|(a, b)| b.steal_share_since(a));
    if law == Law::Constant {
        let busy = server_cpu_ns as f64 / wall_ns as f64;
        figures.timer_cv = Some(bare_timer(lab, rate, manner, busy.min(1.0))?);
    }
    Ok(figures)
}

/// Times between reads of the host's counter in which it did not change, in their order.
struct Calm(Vec<(u64, u64)>);

impl Calm {
    /// The gaps in seconds between neighbours of sorted `times` that lie within one stretch, and how long
    /// the stretches are from the first to the last of the times, nanoseconds.
    fn gaps(&self, times: &[u64]) -> (Vec<f64>, u64) {
        let (Some(first), Some(last)) = (times.first(), times.last()) else {
            return (Vec::new(), 0);
        };
        let mut gaps = Vec::new();
        let mut calm_ns = 0;
        for (from_ns, to_ns) in &self.0 {
            calm_ns += to_ns.min(last).saturating_sub(*from_ns.max(first));
            let from = times.partition_point(|time| time < from_ns);
            let to = times.partition_point(|time| time <= to_ns);
            let within = times[from..to.max(from)].windows(2);
            gaps.extend(within.map(|pair| (pair[1] - pair[0]) as f64 / NS_PER_S));
        }
        (gaps, calm_ns)
    }
}

/// A thread that reads the host's counter while a run is on.
struct HostWatch {
    is_over: Arc<AtomicBool>,
    looks: std::thread::JoinHandle<Vec<(u64, Option<u64>)>>,
}

impl HostWatch {
    fn start() -> HostWatch {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let looks = std::thread::spawn(move || {
            let look = || (ifm_sys::mono_ns(), CpuTicks::read().map(|ticks| ticks.stolen));
            let mut looks = vec![look()];
            while !over.load(Ordering::Relaxed) {
                std::thread::sleep(std::time::Duration::from_nanos(LOOK_NS));
                looks.push(look());
            }
            looks
        });
        HostWatch { is_over, looks }
    }

    /// Ends, with the periods in which the counter did not change; none where there is no counter.
    fn stop(self) -> Result<Calm> {
        self.is_over.store(true, Ordering::Relaxed);
        let looks =
            self.looks.join().map_err(|_| anyhow::anyhow!("the watch over the host broke"))?;
        Ok(calm(&looks))
    }
}

/// The stretches between looks (when, ticks taken so far) in which the count stood still.
fn calm(looks: &[(u64, Option<u64>)]) -> Calm {
    let mut stretches: Vec<(u64, u64)> = Vec::new();
    for pair in looks.windows(2) {
        let [(from_ns, before), (to_ns, after)] = pair else { continue };
        if before.is_none() || before != after {
            continue;
        }
        match stretches.last_mut().filter(|last| last.1 == *from_ns) {
            Some(last) => last.1 = *to_ns,
            None => stretches.push((*from_ns, *to_ns)),
        }
    }
    Calm(stretches)
}

/// Standard deviation of gaps over their mean.
fn variation(gaps: &[f64]) -> f64 {
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    variance.sqrt() / mean
}

fn figures(run: &RunData, log: &[Served], calm: &Calm, rate: f64) -> Result<Figures> {
    let origin_ns = run.manifest.clock.origin_monotonic_ns.context("the run has no origin")?;
    // What the level ended before its turn was never sent.
    let sent = run.requests.iter().filter(|record| record.outcome != ifm_core::Outcome::Dropped);
    let mut due: Vec<u64> = sent.map(|record| origin_ns + record.due_ns).collect();
    let mut arrivals: Vec<u64> = log.iter().map(|served| served.first_byte_ns).collect();
    anyhow::ensure!(
        due.len() == arrivals.len() && due.len() > 2,
        "{} requests were stored and {} arrived",
        due.len(),
        arrivals.len()
    );
    due.sort_unstable();
    arrivals.sort_unstable();
    let mut late_ms: Vec<f64> =
        arrivals.iter().zip(&due).map(|(at, due)| (*at as f64 - *due as f64) / NS_PER_MS).collect();
    late_ms.sort_unstable_by(f64::total_cmp);
    let place = |share: f64| late_ms[((late_ms.len() - 1) as f64 * share).round() as usize];
    let rate_of = |times: &[u64]| {
        let span_ns = times[times.len() - 1] - times[0];
        (times.len() - 1) as f64 / (span_ns as f64 / NS_PER_S)
    };
    let gaps_of = |times: &[u64]| -> Vec<f64> {
        times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / NS_PER_S).collect()
    };
    let mut gaps = gaps_of(&arrivals);
    let mut gaps_due = gaps_of(&due);
    gaps_due.sort_unstable_by(f64::total_cmp);
    let cv = variation(&gaps);
    let (calm_gaps, calm_ns) = calm.gaps(&arrivals);
    gaps.sort_unstable_by(f64::total_cmp);
    Ok(Figures {
        arrivals: arrivals.len(),
        rate_per_s: rate_of(&arrivals),
        rate_error: (rate_of(&arrivals) / rate_of(&due) - 1.0).abs(),
        cv,
        distance: exponential_distance(&gaps, rate),
        distance_due: exponential_distance(&gaps_due, rate),
        distance_above: distance_above(&gaps, rate),
        distance_times: even_distance(&arrivals),
        late_ms: [place(0.5), place(0.99), place(1.0)],
        cpu_share: 0.0,
        decoder_stalls: 0,
        stolen_share: None,
        calm_gaps,
        calm_ns,
        timer_cv: None,
    })
}

/// Largest difference between the distribution of sorted gaps, seconds, and the exponential law of
/// a rate (Kolmogorov and Smirnov).
fn exponential_distance(gaps: &[f64], rate: f64) -> f64 {
    let n = gaps.len() as f64;
    let at = gaps.iter().enumerate().map(|(place, gap)| {
        let law = 1.0 - (-gap * rate).exp();
        (law - place as f64 / n).max((place + 1) as f64 / n - law)
    });
    at.fold(0.0, f64::max)
}

/// The same between sorted times and the even law from the first to the last of them.
fn even_distance(times: &[u64]) -> f64 {
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return 0.0 };
    // The two ends span the range, so the law is that of the times in between.
    let inner = &times[1..times.len().saturating_sub(1).max(1)];
    let (n, span) = (inner.len() as f64, (last - first) as f64);
    let at = inner.iter().enumerate().map(|(place, time)| {
        let law = (time - first) as f64 / span;
        (law - place as f64 / n).max((place + 1) as f64 / n - law)
    });
    at.fold(0.0, f64::max)
}

/// The same as [`exponential_distance`] for the gaps above [`SEND_S`], and how many those are.
fn distance_above(gaps: &[f64], rate: f64) -> (f64, usize) {
    let above: Vec<f64> =
        gaps.iter().filter(|gap| **gap > SEND_S).map(|gap| gap - SEND_S).collect();
    (exponential_distance(&above, rate), above.len())
}

/// Variation of the gaps of a thread that only waits for due times, while another one
/// keeps the server's processor busy for a share of the time.
fn bare_timer(lab: &Lab, rate: u32, manner: Manner, busy: f64) -> Result<f64> {
    let cpu = lab.client_cpu();
    let server_cpu = lab.server_cpu();
    let server_over = Arc::new(AtomicBool::new(false));
    let over = server_over.clone();
    let server = std::thread::spawn(move || -> std::io::Result<()> {
        thread::pin_to(&[server_cpu])?;
        let round_ns = u64::from(SERVER_RESTS_US) * 1_000;
        let busy_ns = (round_ns as f64 * busy) as u64;
        while !over.load(Ordering::Relaxed) {
            let until_ns = ifm_sys::mono_ns() + busy_ns;
            while ifm_sys::mono_ns() < until_ns {
                std::hint::spin_loop();
            }
            std::thread::sleep(std::time::Duration::from_nanos(round_ns - busy_ns));
        }
        Ok(())
    });
    let is_over = Arc::new(AtomicBool::new(manner == Manner::Plain));
    let over = is_over.clone();
    let keeper = std::thread::spawn(move || -> std::io::Result<()> {
        thread::pin_to(&[cpu])?;
        thread::run_last()?;
        while !over.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        Ok(())
    });
    let watcher = std::thread::spawn(move || -> std::io::Result<Vec<u64>> {
        thread::pin_to(&[cpu])?;
        thread::sharpen_timers();
        if manner == Manner::Precise {
            thread::run_first()?;
        }
        let start_ns = ifm_sys::mono_ns() + 10_000_000;
        let due = |index: u64| start_ns + index * 1_000_000_000 / u64::from(rate);
        let wait = |due_ns: u64| {
            let ahead = due_ns.saturating_sub(ifm_sys::mono_ns() + AWAKE_NS);
            if ahead > 0 {
                std::thread::sleep(std::time::Duration::from_nanos(ahead));
            }
            loop {
                let now_ns = ifm_sys::mono_ns();
                if now_ns >= due_ns {
                    return now_ns;
                }
                std::hint::spin_loop();
            }
        };
        Ok((0..u64::from(rate * SECONDS)).map(|index| wait(due(index))).collect())
    });
    let stamps = watcher.join().map_err(|_| anyhow::anyhow!("the bare timer broke"))??;
    is_over.store(true, Ordering::Relaxed);
    server_over.store(true, Ordering::Relaxed);
    server.join().map_err(|_| anyhow::anyhow!("the bare timer's server broke"))??;
    keeper.join().map_err(|_| anyhow::anyhow!("the bare timer's keeper broke"))??;
    let gaps: Vec<f64> = stamps.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    Ok(variation(&gaps))
}

/// The row of the run with the median shape, the spread of all, and what they were while the host took
/// nothing.
fn row(law: Law, asked: String, rate: f64, mut runs: Vec<Figures>) -> Result<Vec<String>> {
    let calm_ns: u64 = runs.iter().map(|run| run.calm_ns).sum();
    let mut calm: Vec<Shape> = runs.iter().filter_map(|run| run.while_calm(law, rate)).collect();
    calm.sort_by(|a, b| a.whole.total_cmp(&b.whole));
    let calm_share = calm_ns as f64 / (NS_PER_S * f64::from(SECONDS) * runs.len() as f64);
    let stolen: Vec<Option<f64>> = runs.iter().map(|run| run.stolen_share).collect();
    let told = stolen.into_iter().map(percent).collect::<Vec<_>>().join(", ");
    runs.sort_by(|a, b| a.shape(law).total_cmp(&b.shape(law)));
    let figures = runs.get(runs.len() / 2).context("a row needs a run")?;
    let span = |of: &dyn Fn(&Figures) -> f64| {
        let all = runs.iter().map(of);
        let (min, max) =
            all.fold((f64::MAX, f64::MIN), |(min, max), value| (min.min(value), max.max(value)));
        if runs.len() > 1 { format!(" [{min:.4}, {max:.4}]") } else { String::new() }
    };
    let limit_of = |gaps: usize| 1.358 / (gaps as f64).sqrt();
    let limit = limit_of(figures.arrivals.saturating_sub(1));
    let (above, gaps_above) = figures.distance_above;
    let control = match figures.timer_cv {
        Some(cv) => format!("{cv:.4}{}", span(&|run| run.timer_cv.unwrap_or(f64::NAN))),
        None => {
            let limit = limit_of(gaps_above);
            let text = format!("KS {above:.4}{} ({limit:.4})", span(&|run| run.distance_above.0));
            verdict(Some(above), limit, &text)
        }
    };
    let shape = figures.shape(law);
    let all = span(&|run| run.shape(law));
    let (target, mut whole) = match law {
        Law::Constant => (CV_TARGET, format!("{shape:.4}{all}")),
        Law::Poisson => {
            let scheduled = figures.distance_due;
            (limit, format!("KS {shape:.4}{all} ({limit:.4}; the schedule's own {scheduled:.4})"))
        }
    };
    let share = format!("{:.0} % of the time", calm_share * 100.0);
    let middle = calm.get(calm.len() / 2);
    if middle.is_none() {
        whole = verdict(Some(shape), target, &whole);
    }
    let ends = calm.first().zip(calm.last()).filter(|_| calm.len() > 1);
    let ends = ends
        .map_or(String::new(), |(first, last)| format!(" [{:.4}, {:.4}]", first.whole, last.whole));
    let while_calm = match (middle, law) {
        (None, _) => format!("— ({share})"),
        (Some(at), Law::Constant) => {
            verdict(Some(at.whole), CV_TARGET, &format!("{:.4}{ends} ({share})", at.whole))
        }
        (Some(at), Law::Poisson) => {
            let limit = limit_of(at.gaps);
            let text = format!("KS {:.4}{ends} ({limit:.4}, {share})", at.whole);
            let (above, gaps_above) = at.above;
            let limit_above = limit_of(gaps_above);
            let text_above = format!("{above:.4} ({limit_above:.4})");
            format!(
                "{}; above 30 µs {}",
                verdict(Some(at.whole), limit, &text),
                verdict(Some(above), limit_above, &text_above)
            )
        }
    };
    let times = match law {
        Law::Constant => "—".to_owned(),
        Law::Poisson => {
            let (distance, all) = (figures.distance_times, span(&|run| run.distance_times));
            verdict(Some(distance), limit, &format!("KS {distance:.4}{all} ({limit:.4})"))
        }
    };
    let off = format!("{:.4} %", figures.rate_error * 100.0);
    let late = format!("{:.3}", figures.late_ms[1]);
    Ok(vec![
        asked,
        figures.arrivals.to_string(),
        number(Some(figures.rate_per_s), 2),
        verdict(Some(figures.rate_error), RATE_ERROR_TARGET, &off),
        whole,
        while_calm,
        control,
        times,
        number(Some(figures.late_ms[0]), 3),
        verdict(Some(figures.late_ms[1]), LATE_P99_TARGET_MS, &late),
        number(Some(figures.late_ms[2]), 3),
        figures.decoder_stalls.to_string(),
        format!("{:.0} %", figures.cpu_share * 100.0),
        told,
    ])
}

#[cfg(test)]
mod tests {
    use super::{calm, distance_above, even_distance, exponential_distance, variation};

    #[test]
    fn gaps_count_where_the_host_took_nothing() {
        let looks = [(0, Some(5)), (10, Some(5)), (20, Some(5)), (30, Some(6)), (40, Some(6))];
        let calm_times = calm(&looks);
        assert_eq!(calm_times.0, [(0, 20), (30, 40)]);
        // 19 to 31 is not a gap of either stretch.
        let (gaps, calm_ns) = calm_times.gaps(&[2, 11, 19, 31, 33]);
        let nanos: Vec<u64> = gaps.iter().map(|gap| (gap * 1e9).round() as u64).collect();
        assert_eq!((nanos, calm_ns), (vec![9, 8, 2], 18 + 3));
        assert!(calm(&[(0, None), (10, None)]).0.is_empty());
        assert!((variation(&[1.0, 3.0]) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_distance_of_a_sample_from_its_law() {
        // Quantiles of the law itself are half a step away; constant gaps are far away.
        let quantiles: Vec<f64> =
            (0..1000).map(|k| -(1.0 - (f64::from(k) + 0.5) / 1000.0).ln() / 50.0).collect();
        assert!((exponential_distance(&quantiles, 50.0) - 0.0005).abs() < 1e-9);
        assert!(exponential_distance(&[0.02; 1000], 50.0) > 0.6);
    }

    #[test]
    fn the_distance_of_times_from_the_even_law() {
        let even: Vec<u64> = (0..=1001).map(|k| k * 1_000).collect();
        assert!(even_distance(&even) <= 0.001 + 1e-9);
        // Twice as many in the first half as in the second: 2/3 where the law has 1/2.
        let bent: Vec<u64> =
            (0..1000).map(|k| if k < 667 { k * 3 } else { 2001 + (k - 667) * 6 }).collect();
        let distance = even_distance(&bent);
        assert!((distance - 1.0 / 6.0).abs() < 0.01, "{distance}");
        assert!((even_distance(&[5]), even_distance(&[])) == (0.0, 0.0));
    }

    #[test]
    fn what_is_above_a_gap_follows_the_same_law() {
        let rate = 5_000.0;
        let mut gaps: Vec<f64> =
            (0..20_000).map(|k| -(1.0 - (f64::from(k) + 0.5) / 20_000.0).ln() / rate).collect();
        // A thread that needs 5 µs for each has no gap below.
        gaps.iter_mut().for_each(|gap| *gap = gap.max(5e-6));
        assert!(exponential_distance(&gaps, rate) > 0.02);
        let (distance, n) = distance_above(&gaps, rate);
        assert!(distance < 0.001 && n > 17_000, "{distance} {n}");
    }
}
