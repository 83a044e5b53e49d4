//! Laws of a request's time, and the percentiles that they have.

use std::f64::consts::TAU;

/// Standard deviation of the logarithm of a lognormal time.
const SIGMA: f64 = 0.4;
/// Smallest time and exponent of the heavy tail: its variance is infinite.
const PARETO: (f64, f64) = (0.4, 1.8);
/// Share of slow requests of two modes, and how many times as slow they are.
const SLOW: (f64, f64) = (0.1, 3.0);
/// Correlation of neighbors in the order of their starts.
const MEMORY: f64 = 0.95;
/// Standard deviation of the logarithm of a run's own speed.
const DRIFT: f64 = 0.03;
/// Draws by which a percentile of a law is computed.
const DRAWS: u32 = 400_000;

/// The law of a request's time to first token, as a multiple of its median or nearly so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Law {
    /// Lognormal and independent.
    Lognormal,
    /// Exponential and independent.
    Exponential,
    /// One request in ten is three times as slow.
    Bimodal,
    /// Pareto with an infinite variance.
    HeavyTail,
    /// Lognormal, and each request resembles the one before with a correlation of 0.95.
    Autocorrelated,
    /// Lognormal, and each run has its own speed: runs differ by 3 %.
    Drifting,
}

impl Law {
    /// Every law.
    pub const ALL: [Law; 6] = [
        Law::Lognormal,
        Law::Exponential,
        Law::Bimodal,
        Law::HeavyTail,
        Law::Autocorrelated,
        Law::Drifting,
    ];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Law::Lognormal => "lognormal",
            Law::Exponential => "exponential",
            Law::Bimodal => "bimodal",
            Law::HeavyTail => "heavy tail",
            Law::Autocorrelated => "autocorrelated",
            Law::Drifting => "drifting runs",
        }
    }

    /// Percentile `p` (0 to 100) of one request of any run, from `DRAWS` draws.
    pub fn percentile(self, p: f64) -> f64 {
        let mut random = Random::new(0x7275_7468);
        let mut values: Vec<f64> = (0..DRAWS)
            .map(|_| {
                let speed =
                    if self == Law::Drifting { (DRIFT * random.normal()).exp() } else { 1.0 };
                let state = random.normal();
                speed * self.time(state, &mut random)
            })
            .collect();
        values.sort_unstable_by(f64::total_cmp);
        let rank = (f64::from(DRAWS - 1) * p / 100.0).round() as usize;
        values.get(rank).copied().unwrap_or(f64::NAN)
    }

    /// The time of a request; `state` is a standard normal number that neighbors may share.
    fn time(self, state: f64, random: &mut Random) -> f64 {
        match self {
            Law::Lognormal | Law::Autocorrelated | Law::Drifting => (SIGMA * state).exp(),
            Law::Exponential => random.exponential(),
            Law::Bimodal => {
                let slow = if random.uniform() < SLOW.0 { SLOW.1 } else { 1.0 };
                slow * (SIGMA / 2.0 * state).exp()
            }
            Law::HeavyTail => PARETO.0 * random.uniform().powf(-PARETO.1.recip()),
        }
    }
}

/// The requests of one run: how slow each is to its first token and after it.
#[derive(Debug)]
pub(super) struct Requests {
    law: Law,
    pub random: Random,
    state: f64,
    speed: f64,
}

impl Requests {
    pub fn new(law: Law, seed: u64) -> Requests {
        let mut random = Random::new(seed);
        let speed = if law == Law::Drifting { (DRIFT * random.normal()).exp() } else { 1.0 };
        let state = random.normal();
        Requests { law, random, state, speed }
    }

    /// The next request: its time to first token, and the speed of its gaps, each as a factor.
    pub fn next(&mut self) -> (f64, f64) {
        let fresh = self.random.normal();
        self.state = match self.law {
            Law::Autocorrelated => MEMORY * self.state + (1.0 - MEMORY * MEMORY).sqrt() * fresh,
            _ => fresh,
        };
        let first = self.law.time(self.state, &mut self.random);
        let own = if self.law == Law::Autocorrelated { self.state } else { self.random.normal() };
        (self.speed * first, self.speed * (0.15 * own).exp())
    }
}

/// Random numbers from a seed: the same on every machine. Source: S. Vigna's SplitMix64.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0xd134_2543_de82_ef95));
        random.bits();
        random
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Above 0 and at most 1.
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Standard normal. Source: Box and Muller (1958).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()
    }

    /// The sum of four exponential numbers, with mean 1.
    pub fn gamma(&mut self) -> f64 {
        (0..4).map(|_| self.exponential()).sum::<f64>() / 4.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_law() {
        for (law, p, expect) in [
            (Law::Lognormal, 50.0, 1.0),
            (Law::Lognormal, 99.0, (SIGMA * 2.326_348).exp()),
            (Law::Exponential, 99.0, 100f64.ln()),
            (Law::HeavyTail, 50.0, PARETO.0 * 2f64.powf(PARETO.1.recip())),
            (Law::Drifting, 99.0, (SIGMA.hypot(DRIFT) * 2.326_348).exp()),
        ] {
            let found = law.percentile(p);
            assert!((found / expect - 1.0).abs() < 0.015, "{law:?} p{p}: {found} and {expect}");
        }
    }

    #[test]
    fn neighbors_resemble_each_other_only_where_the_law_says_so() {
        let correlation = |law| {
            let mut requests = Requests::new(law, 3);
            let logs: Vec<f64> = (0..4_000).map(|_| requests.next().0.ln()).collect();
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            let variance: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
            let pairs = logs.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean));
            pairs.sum::<f64>() / variance
        };
        assert!(correlation(Law::Lognormal).abs() < 0.05);
        assert!((correlation(Law::Autocorrelated) - MEMORY).abs() < 0.03);
    }
}
