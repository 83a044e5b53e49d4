//! How long servers took to start, over the starts that stored runs know.
//!
//! Several runs share one start; it counts once. Repeats of a start have a mean with its 95 % interval
//! (Student) from three on. Not here: starting servers.

use ifm_core::{Manifest, StartUp};
use ifm_metrics::stat::Estimate;
use ifm_metrics::stat::{Scale, center, center_interval};
use ifm_results::{CONFIDENCE, REPEATS_MIN, factor_words};
use std::collections::BTreeMap;

/// Seconds until something, over the starts that reached it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Until {
    /// Mean, seconds.
    pub mean_s: f64,
    /// Its interval; absent for fewer than three starts.
    pub interval: Option<Estimate>,
    /// Shortest and longest, seconds.
    pub range_s: (f64, f64),
}

/// The starts of one server.
#[derive(Debug, Clone, PartialEq)]
pub struct Starts {
    /// What sets it apart from the others: server, parameters, cold or warm.
    pub name: String,
    /// How many starts.
    pub n: usize,
    /// Until its port took a connection.
    pub listening: Option<Until>,
    /// Until it called itself ready.
    pub ready: Option<Until>,
    /// Until the first token of its first answer.
    pub first_token: Option<Until>,
}

/// The starts that runs know, in the order of their first runs; empty where no run knows one.
pub fn starts<'a>(runs: impl IntoIterator<Item = &'a Manifest>) -> Vec<Starts> {
    let mut known: Vec<(&str, Option<u32>)> = Vec::new();
    let mut all: Vec<(&Manifest, StartUp)> = Vec::new();
    for run in runs {
        let server = run.facts.as_ref().and_then(|facts| facts.server.as_ref());
        let Some((server, start)) = server.and_then(|server| Some((server, server.start_up?)))
        else {
            continue;
        };
        let identity = (server.log_file.as_deref().unwrap_or_default(), server.pid);
        if !known.contains(&identity) {
            known.push(identity);
            all.push((run, start));
        }
    }
    let differs = |name: &str| {
        let value = |run: &Manifest| run.tags.get(name).cloned();
        all.iter().any(|(run, _)| value(run) != all.first().and_then(|(run, _)| value(run)))
    };
    let name = |run: &Manifest| {
        let tags = run.tags.iter().filter(|(name, _)| differs(name));
        let words: Vec<String> = tags.map(|(name, value)| factor_words(name, value)).collect();
        let model = || run.spec.target.model.clone();
        if words.is_empty() { model() } else { words.join(" · ") }
    };
    let mut order = Vec::new();
    let mut groups: BTreeMap<String, Vec<StartUp>> = BTreeMap::new();
    for (run, start) in &all {
        let name = name(run);
        if !order.contains(&name) {
            order.push(name.clone());
        }
        groups.entry(name).or_default().push(*start);
    }
    let group = |name: String| {
        let starts = groups.remove(&name).unwrap_or_default();
        let of =
            |read: fn(&StartUp) -> Option<f64>| until(starts.iter().filter_map(read).collect());
        Starts {
            n: starts.len(),
            listening: of(|start| start.listening_s),
            ready: of(|start| start.ready_s),
            first_token: of(|start| start.first_token_s),
            name,
        }
    };
    order.into_iter().map(group).collect()
}

fn until(seconds: Vec<f64>) -> Option<Until> {
    let (low, high) =
        (seconds.iter().copied().reduce(f64::min)?, seconds.iter().copied().reduce(f64::max)?);
    let mean_s = center(&seconds, Scale::Ratio)?;
    let interval =
        (seconds.len() >= REPEATS_MIN).then(|| center_interval(&seconds, Scale::Ratio, CONFIDENCE));
    Some(Until { mean_s, interval: interval.flatten(), range_s: (low, high) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::Facts;
    use ifm_core::facts::ServerProcess;
    use ifm_metrics::testing;

    fn manifest() -> Manifest {
        testing::run(&[1], Vec::new()).manifest
    }

    fn run(kind: &str, pid: u32, ready_s: Option<f64>) -> Manifest {
        let mut run = manifest();
        run.tags.insert("start".to_owned(), kind.to_owned());
        run.tags.insert("gpu".to_owned(), "L40S".to_owned());
        let start_up = Some(StartUp { ready_s, ..StartUp::default() });
        let server = ServerProcess { pid: Some(pid), start_up, ..ServerProcess::default() };
        run.facts = Some(Facts { server: Some(server), ..Facts::default() });
        run
    }

    #[test]
    fn a_start_counts_once_and_repeats_have_an_interval() {
        let runs = [
            run("cold", 1, Some(10.0)),
            run("cold", 1, Some(10.0)),
            run("warm", 2, Some(4.0)),
            run("cold", 3, Some(12.0)),
            run("cold", 4, Some(11.0)),
            run("cold", 5, None),
            manifest(),
        ];
        let [cold, warm] = &starts(&runs)[..] else { panic!("two kinds of starts") };
        assert_eq!((cold.name.as_str(), cold.n), ("cold", 4));
        let ready = cold.ready.unwrap();
        assert_eq!(ready.range_s, (10.0, 12.0));
        assert!((ready.mean_s - 1_320.0_f64.cbrt()).abs() < 1e-9, "the geometric mean");
        // Student's 97.5 % quantile of two degrees of freedom is 4.303; the logarithms' deviation is
        // 0.091192.
        let reach = 4.302_653 * 0.091_192_25 / 3.0_f64.sqrt();
        assert!((ready.interval.unwrap().high / ready.mean_s - reach.exp()).abs() < 1e-6);
        assert_eq!(cold.listening, None);
        assert_eq!((warm.name.as_str(), warm.ready.unwrap().interval), ("warm", None));
    }
}
