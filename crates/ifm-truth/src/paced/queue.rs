//! A queue before a number of stations: a server whose capacity is known.
//!
//! A request takes the station that is free first, in the order in which requests came, and holds
//! it for its whole answer, `S = TTFT + (tokens - 1) · ITL` of its pace. The wait for a station comes
//! on top of the pace. With answers of one length this is the textbook's queue with c stations and
//! constant service times, and what a load does to it is known:
//!
//! - **N users without a pause** (a closed network, N above c): N − c requests wait. A user whose
//!   answer ended queues behind all of them, so it is served when the (N − c)-th station after its
//!   own falls free. Each station falls free once in S. With `N − c = kc` these are k whole rounds:
//!   every wait is `k · S` exactly, however the stations are out of step. With r users more, the r-th
//!   station after that is waited for; the c steps from station to station add up to S, so at least
//!   one request in c waits `k · S + S/c` or longer. A limit between `k · S` and `k · S + S/c` on a
//!   percentile of the wait above `1 − 1/c` thus holds for `c + kc` users and for no more: see
//!   [`users_inside`]. A user's own time between two requests shortens the wait by just that time.
//! - **A constant rate** λ: no request waits while `λ ≤ c / S`; above it each request waits longer than
//!   the one before, by `S/c − 1/λ` in the mean, without end.
//! - **Random arrivals** (Poisson; M/D/c): for one station the law of the wait is
//!   `P(W ≤ x) = (1 − ρ) · sum over k = 0..floor(x/S) of (λ(kS − x))^k / k! · exp(−λ(kS − x))` (A. K.
//!   Erlang, 1909). For more stations there is no short form (C. D. Crommelin, 1932), and
//!   [`rate_inside`] plays the queue itself, request by request.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Requests that are played before waits are recorded: a queue begins empty.
const PLAYED_BEFORE: usize = 20_000;
/// Halvings of the interval in which a rate lies: to a millionth of it.
const HALVINGS: u32 = 20;

/// When each station is free next.
#[derive(Debug, Clone)]
pub struct Stations {
    free_ns: BinaryHeap<Reverse<u64>>,
}

impl Stations {
    /// `count` stations, all free; at least one.
    pub fn new(count: u32) -> Stations {
        Stations { free_ns: (0..count.max(1)).map(|_| Reverse(0)).collect() }
    }

    /// Takes the station that is free first for `service_ns`; when that begins.
    pub fn take(&mut self, arrival_ns: u64, service_ns: u64) -> u64 {
        let free_ns = self.free_ns.pop().map_or(0, |Reverse(free)| free);
        let begin_ns = free_ns.max(arrival_ns);
        self.free_ns.push(Reverse(begin_ns.saturating_add(service_ns)));
        begin_ns
    }
}

/// The largest number of users whose waits stay below `wait_ns` with `stations` stations and
/// answers that take `service_ns`: `c + c · floor(wait / S)`. It is the truth where the limit lies
/// less than `S/c` above a multiple of S, and for percentiles above `1 − 1/c`; the page of the module
/// says why.
pub fn users_inside(stations: u32, service_ns: u64, wait_ns: u64) -> u32 {
    let rounds = wait_ns.checked_div(service_ns).unwrap_or(0);
    stations.saturating_add(stations.saturating_mul(u32::try_from(rounds).unwrap_or(u32::MAX)))
}

/// The waits of requests that come at random, nanoseconds, sorted: `requests` of them after the
/// queue has settled. `req_per_s` is their rate, `seed` that of their times.
pub fn poisson_waits_ns(
    stations: u32,
    service_ns: u64,
    req_per_s: f64,
    requests: usize,
    seed: u64,
) -> Vec<u64> {
    let mut stations = Stations::new(stations);
    let mut state = seed;
    let mut at_s = 0.0;
    let mut wait = || {
        at_s -= uniform(&mut state).ln() / req_per_s;
        let arrival_ns = (at_s * 1e9) as u64;
        stations.take(arrival_ns, service_ns) - arrival_ns
    };
    for _ in 0..PLAYED_BEFORE {
        wait();
    }
    let mut waits: Vec<u64> = (0..requests).map(|_| wait()).collect();
    waits.sort_unstable();
    waits
}

/// The highest rate of random arrivals, requests per second, of which the given percentile of the
/// waits is at most `wait_ns`; plays `requests` requests at each of some rates.
pub fn rate_inside(
    stations: u32,
    service_ns: u64,
    (percentile, wait_ns): (f64, u64),
    requests: usize,
    seed: u64,
) -> f64 {
    let full = f64::from(stations) / (service_ns as f64 / 1e9);
    let (mut low, mut high) = (0.0, full);
    for _ in 0..HALVINGS {
        let rate = (low + high) / 2.0;
        let waits = poisson_waits_ns(stations, service_ns, rate, requests, seed);
        let rank = (waits.len().saturating_sub(1) as f64 * percentile / 100.0).round() as usize;
        let is_inside = waits.get(rank).is_none_or(|wait| *wait <= wait_ns);
        *(if is_inside { &mut low } else { &mut high }) = rate;
    }
    low
}

/// A number above 0 and at most 1. Source: S. Vigna's SplitMix64.
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    ((mixed >> 11) + 1) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Plays a closed network by the clock, station by station, without [`Stations`]: the waits of
    /// all requests except the first rounds. `offsets_ns` puts the stations out of step.
    fn closed_waits_ns(users: usize, service_ns: u64, offsets_ns: &[u64]) -> Vec<u64> {
        let mut busy_until: Vec<Option<u64>> =
            offsets_ns.iter().map(|offset| Some(service_ns + offset)).collect();
        let mut queue: std::collections::VecDeque<u64> =
            (offsets_ns.len()..users).map(|_| 0).collect();
        let mut waits = Vec::new();
        for _ in 0..100 * users {
            let (station, now) = busy_until
                .iter()
                .enumerate()
                .filter_map(|(station, until)| Some((station, (*until)?)))
                .min_by_key(|(_, until)| *until)
                .expect("some station serves");
            queue.push_back(now);
            let came = queue.pop_front().expect("the one that came just now at least");
            waits.push(now - came);
            busy_until[station] = Some(now + service_ns);
        }
        waits.split_off(10 * users)
    }

    #[test]
    fn a_closed_network_waits_whole_rounds_and_one_user_more_is_too_many() {
        for offsets_ns in [vec![0], vec![0, 0], vec![0, 3 * MS], vec![0, MS, 2 * MS, 9 * MS]] {
            let stations = offsets_ns.len();
            let service_ns = 10 * MS;
            for rounds in 1..4u64 {
                // Half of what one user more adds.
                let limit_ns = rounds * service_ns + service_ns / (2 * stations as u64);
                let users = users_inside(stations as u32, service_ns, limit_ns) as usize;
                assert_eq!(users, stations * (1 + rounds as usize));
                let waits = closed_waits_ns(users, service_ns, &offsets_ns);
                assert!(waits.iter().all(|wait| *wait == rounds * service_ns), "{offsets_ns:?}");
                let waits = closed_waits_ns(users + 1, service_ns, &offsets_ns);
                let above = waits.iter().filter(|wait| **wait > limit_ns).count();
                assert!(above * stations >= waits.len() * 99 / 100, "{offsets_ns:?} {above}");
            }
        }
        assert_eq!(users_inside(3, 10 * MS, 0), 3, "no user waits for a free station");
    }

    /// Erlang's law of the wait for one station, by the formula of the module's page.
    fn waits_at_most(x: f64, load: f64) -> f64 {
        let terms = (0..=x.floor() as i32).map(|k| {
            let ahead = load * (f64::from(k) - x);
            let factorial: f64 = (1..=k).map(f64::from).product();
            ahead.powi(k) / factorial * (-ahead).exp()
        });
        (1.0 - load) * terms.sum::<f64>()
    }

    #[test]
    fn the_played_queue_follows_erlangs_law() {
        let service_ns = 10 * MS;
        for load in [0.5, 0.7, 0.8] {
            let waits = poisson_waits_ns(1, service_ns, load * 100.0, 1_000_000, 7);
            for x in [0.0, 0.5, 1.0, 2.5, 6.0] {
                let limit_ns = (x * service_ns as f64) as u64;
                let share = waits.partition_point(|wait| *wait <= limit_ns) as f64 / 1e6;
                let truth = waits_at_most(x, load);
                assert!((share - truth).abs() < 0.004, "{load} {x}: {share} and {truth}");
            }
        }
    }

    #[test]
    fn the_rate_inside_is_where_erlangs_law_meets_the_limit() {
        let service_ns = 10 * MS;
        let rate = rate_inside(1, service_ns, (90.0, 25 * MS), 400_000, 3);
        assert!((waits_at_most(2.5, rate / 100.0) - 0.9).abs() < 0.005, "{rate}");
        let many = rate_inside(8, service_ns, (90.0, 25 * MS), 50_000, 3);
        assert!(many > 8.0 * rate && many < 800.0, "eight stations lose less than one: {many}");
    }

    #[test]
    fn a_station_that_is_free_serves_at_once() {
        let mut stations = Stations::new(2);
        let begins: Vec<u64> = [5, 6, 7, 30].map(|at| stations.take(at, 10)).to_vec();
        assert_eq!(begins, [5, 6, 15, 30]);
        assert_eq!(Stations::new(0).take(3, 1), 3, "there is always one");
    }
}
