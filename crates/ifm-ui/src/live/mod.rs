//! A run while it goes on, read from its journal as another process writes it.
//!
//! Each run that somebody looks at has a follower, which reads what was added since the last look,
//! and tallies of bounded size. Nothing is locked and nothing is written: the run does not notice.
//! The journal holds finished requests, so what is on its way is not seen yet; the view says so.
//!
//! Not here: how a view looks (`page::live`).

mod past;

use crate::failure::Failure;
use ifm_core::spec::LoadSpec;
use ifm_core::{Manifest, Outcome, Phase, RequestRecord};
use ifm_metrics::level::GapLabel;
use ifm_metrics::tally::{Percentiles, Tally};
use ifm_store::{RunEntry, RunFollower};
pub(crate) use past::Past;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Runs that are followed at the same time; the one that was not asked for longest goes.
const WATCHES_MAX: usize = 8;
/// Requests that are read at a time.
const BATCH: usize = 4_096;
/// Batches of one look: a long run that is opened late is caught up with over several looks.
const BATCHES_MAX: usize = 16;
/// Over how many seconds the present speed is taken.
const RECENT_S: f64 = 10.0;
/// Answers of the last seconds that are kept for the present speed.
const RECENT_MAX: usize = 50_000;
const NS_PER_S: f64 = 1e9;

/// The runs that are followed, by id.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    known: Vec<(String, Arc<Mutex<Watch>>)>,
}

impl Watches {
    /// What follows a run, begun where nobody has asked for it.
    ///
    /// # Errors
    /// The journal cannot be opened.
    pub(crate) fn watch(&mut self, entry: &RunEntry) -> Result<Arc<Mutex<Watch>>, Failure> {
        let found = match self.known.iter().position(|(id, _)| *id == entry.id) {
            Some(place) => self.known.remove(place),
            None => {
                let watch = Watch::begin(RunFollower::open(entry)?);
                (entry.id.clone(), Arc::new(Mutex::new(watch)))
            }
        };
        let watch = Arc::clone(&found.1);
        self.known.push(found);
        if self.known.len() > WATCHES_MAX {
            self.known.remove(0);
        }
        Ok(watch)
    }

    /// Forgets a run that has ended.
    pub(crate) fn forget(&mut self, id: &str) {
        self.known.retain(|(known, _)| known != id);
    }
}

/// What is known of one run so far.
pub(crate) struct Watch {
    follower: RunFollower,
    levels: Vec<Level>,
    past: Past,
    /// End and tokens of the last answers.
    recent: VecDeque<(u64, u64)>,
    last_ns: u64,
    is_behind: bool,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("levels", &self.levels.len()).finish_non_exhaustive()
    }
}

/// What is known of one level so far.
#[derive(Debug)]
struct Level {
    index: u16,
    tally: Tally,
    ok: u64,
    tokens: u64,
    is_estimate: bool,
    first_ns: u64,
    last_ns: u64,
}

/// A level as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LevelView {
    pub(crate) load: String,
    pub(crate) warmup: u64,
    pub(crate) finished: u64,
    pub(crate) failures: Vec<(&'static str, u64)>,
    /// Output over the whole level so far, tokens per second.
    pub(crate) tok_per_s: Option<f64>,
    pub(crate) ttft: Option<Percentiles>,
    pub(crate) gap: Option<Percentiles>,
    pub(crate) gap_label: GapLabel,
    /// How much of it is done, 0 to 1, where its number of requests or its duration is set.
    pub(crate) done_share: Option<f64>,
}

/// A run as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct View {
    pub(crate) elapsed_s: f64,
    pub(crate) levels: Vec<LevelView>,
    pub(crate) levels_planned: usize,
    /// Tokens per second of the answers that ended in the last seconds.
    pub(crate) recent_tok_per_s: Option<f64>,
    pub(crate) recent_s: f64,
    /// Seconds and tokens per second.
    pub(crate) points: Vec<(f64, f64)>,
    /// Whether tokens are estimated from events at any level.
    pub(crate) is_estimate: bool,
    /// Whether what was finished before has not all been read yet.
    pub(crate) is_behind: bool,
}

impl Watch {
    fn begin(follower: RunFollower) -> Watch {
        Watch {
            follower,
            levels: Vec::new(),
            past: Past::default(),
            recent: VecDeque::new(),
            last_ns: 0,
            is_behind: false,
        }
    }

    /// Reads what was added.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(crate) fn look(&mut self) -> Result<(), Failure> {
        for _ in 0..BATCHES_MAX {
            let found = self.follower.next_requests(BATCH)?;
            found.iter().for_each(|record| self.add(record));
            self.is_behind = found.len() == BATCH;
            if !self.is_behind {
                break;
            }
        }
        Ok(())
    }

    fn add(&mut self, record: &RequestRecord) {
        self.last_ns = self.last_ns.max(record.end_ns);
        let (tokens, is_estimate) = match record.output_tokens {
            Some(counted) => (u64::from(counted.tokens), counted.from.is_estimate()),
            None => (record.events.len() as u64, !record.events.is_empty()),
        };
        self.past.add(record, tokens);
        self.recent.push_back((record.end_ns, tokens));
        let oldest = record.end_ns.saturating_sub((RECENT_S * NS_PER_S) as u64);
        while self.recent.front().is_some_and(|(end_ns, _)| *end_ns < oldest)
            || self.recent.len() > RECENT_MAX
        {
            self.recent.pop_front();
        }
        let level = match self.levels.iter_mut().position(|level| level.index == record.level) {
            Some(place) => self.levels.get_mut(place),
            None => {
                self.levels.push(Level {
                    index: record.level,
                    tally: Tally::default(),
                    ok: 0,
                    tokens: 0,
                    is_estimate: false,
                    first_ns: u64::MAX,
                    last_ns: 0,
                });
                self.levels.last_mut()
            }
        };
        let Some(level) = level else { return };
        level.tally.add(record);
        if record.phase == Phase::Measure && record.outcome != Outcome::Dropped {
            level.ok += u64::from(record.outcome.is_ok());
            level.tokens += tokens;
            level.is_estimate |= is_estimate;
            level.first_ns = level.first_ns.min(record.start_ns);
            level.last_ns = level.last_ns.max(record.end_ns);
        }
    }

    /// What there is to show. `manifest` is the head as it is now, `now_unix_ns` the time.
    pub(crate) fn view(&self, manifest: &Manifest, now_unix_ns: u64) -> View {
        // Another host's clock may be behind ours: nothing ended after now.
        let now_ns = now_unix_ns.saturating_sub(manifest.clock.origin_unix_ns).max(self.last_ns);
        let from_ns = now_ns.saturating_sub((RECENT_S * NS_PER_S) as u64);
        let tokens: u64 =
            self.recent.iter().filter(|(end, _)| *end >= from_ns).map(|(_, tokens)| tokens).sum();
        let recent_s = (now_ns as f64 / NS_PER_S).min(RECENT_S);
        View {
            elapsed_s: now_ns as f64 / NS_PER_S,
            levels: self.levels.iter().map(|level| level.view(manifest, now_ns)).collect(),
            levels_planned: manifest.spec.levels.len(),
            recent_tok_per_s: (recent_s > 0.0 && !self.recent.is_empty())
                .then(|| tokens as f64 / recent_s),
            recent_s,
            points: self.past.points(self.last_ns),
            is_estimate: self.levels.iter().any(|level| level.is_estimate),
            is_behind: self.is_behind,
        }
    }
}

impl Level {
    fn view(&self, manifest: &Manifest, now_ns: u64) -> LevelView {
        let asked = manifest.spec.levels.get(usize::from(self.index));
        let ended = manifest.levels.iter().find(|info| info.level == self.index);
        let span_s = self.last_ns.saturating_sub(self.first_ns) as f64 / NS_PER_S;
        let finished = self.tally.finished();
        let begun = self.first_ns != u64::MAX;
        let sending_s = || now_ns.saturating_sub(self.first_ns) as f64 / NS_PER_S;
        let done_share = match (ended, asked) {
            (Some(_), _) => Some(1.0),
            // Where the evidence decides, nobody knows the end.
            (None, Some(asked)) if asked.early_end.is_none() => {
                let by_count = asked.requests.map(|all| finished as f64 / f64::from(all.max(1)));
                let by_time = asked.duration_s.filter(|_| begun).map(|all| sending_s() / all);
                by_count.into_iter().chain(by_time).reduce(f64::max).map(|share| share.min(1.0))
            }
            _ => None,
        };
        LevelView {
            load: asked.map_or_else(|| format!("level {}", self.index + 1), load_words),
            warmup: self.tally.warmup_ended(),
            finished,
            failures: self.tally.failures(),
            tok_per_s: (span_s > 0.0 && self.ok > 0).then(|| self.tokens as f64 / span_s),
            ttft: self.tally.ttft(),
            gap: self.tally.gap(),
            gap_label: self.tally.gap_label(),
            done_share,
        }
    }
}

/// The load of a level in words.
fn load_words(load: &LoadSpec) -> String {
    match load.arrivals.as_ref().and_then(|arrivals| arrivals.mean_req_per_s()) {
        Some(rate) => format!("{} req/s", ifm_report::number(rate)),
        None if load.concurrency == 1 => "1 user".to_owned(),
        None => format!("{} users", load.concurrency),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_metrics::testing::{closed_loop, failed, run};
    use ifm_store::Store;

    #[test]
    fn a_run_is_seen_as_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        let mut requests = closed_loop((0, 0), (2, 10), 0.0, (100.0, 10.0, 11));
        let start_ms = 2000.0;
        requests.extend(closed_loop((20, 1), (4, 5), start_ms, (200.0, 10.0, 11)));
        requests.push(failed(40, 1, 0, start_ms, 50.0));
        let data = run(&[2, 4], requests);
        let mut manifest = data.manifest.clone();
        manifest.levels.truncate(1);
        let mut writer = store.create(&manifest).unwrap();
        let entry = store.entry(&manifest.run_id).unwrap().unwrap();
        let head = entry.manifest.as_ref().unwrap();
        let mut watch = Watch::begin(RunFollower::open(&entry).unwrap());
        watch.look().unwrap();
        let nothing = watch.view(head, 0);
        assert_eq!((nothing.levels.len(), nothing.recent_tok_per_s), (0, None));

        for record in &data.requests {
            writer.append(record).unwrap();
        }
        writer.tick(0).unwrap();
        watch.look().unwrap();
        let now = head.clock.origin_unix_ns + 4_000_000_000;
        let view = watch.view(head, now);
        assert_eq!((view.elapsed_s, view.levels_planned), (4.0, 2));
        let [first, second] = view.levels.as_slice() else { panic!("{view:?}") };
        assert_eq!(
            (first.load.as_str(), first.finished, first.done_share),
            ("2 users", 20, Some(1.0))
        );
        assert_eq!(
            (second.finished, second.failures.as_slice()),
            (21, [("http_error", 1)].as_slice())
        );
        let ttft = second.ttft.unwrap();
        assert!(ttft.n == 20 && (200_000_000..212_500_000).contains(&ttft.p50));
        // 20 + 20 answers of 11 tokens in 4 seconds.
        assert_eq!(view.recent_tok_per_s, Some(110.0));
        let drawn: f64 = view.points.iter().map(|(_, rate)| rate).sum();
        // 220 in the first two seconds, 132 in the third; the fourth is not whole yet.
        assert!((drawn - 352.0).abs() < 1e-6, "a token is drawn once: {drawn}");
    }
}
