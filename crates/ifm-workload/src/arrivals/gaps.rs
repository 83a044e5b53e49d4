//! Arrivals at a rate of one per unit of time.

use ifm_core::spec::ArrivalLaw;
use ifm_made::Draws;

/// The positions of arrivals on an axis on which one comes per unit in the mean.
#[derive(Debug)]
pub(super) struct Gaps {
    law: ArrivalLaw,
    draws: Draws,
    arrivals: u64,
    sum: f64,
}

impl Gaps {
    pub(super) fn new(law: ArrivalLaw, draws: Draws) -> Gaps {
        Gaps { law, draws, arrivals: 0, sum: 0.0 }
    }

    /// The position of the next arrival. Constant ones and bursts begin at 0; random ones with
    /// their first gap.
    pub(super) fn next_position(&mut self) -> f64 {
        let before = self.arrivals;
        self.arrivals += 1;
        match self.law {
            // A replay has times of its own; without them it is even.
            ArrivalLaw::Constant | ArrivalLaw::Replay(_) => before as f64,
            ArrivalLaw::Burst(size) => (before - before % u64::from(size.max(1))) as f64,
            ArrivalLaw::Poisson => {
                self.sum += exponential(&mut self.draws);
                self.sum
            }
            ArrivalLaw::Gamma(shape) => {
                self.sum += gamma(shape, &mut self.draws) / shape;
                self.sum
            }
        }
    }
}

/// A draw of the exponential law of mean 1: −ln(1 − u).
fn exponential(draws: &mut Draws) -> f64 {
    -(-draws.unit()).ln_1p()
}

/// A draw of the standard normal law (G. E. P. Box and M. E. Muller, 1958).
fn normal(draws: &mut Draws) -> f64 {
    let radius = (2.0 * exponential(draws)).sqrt();
    radius * (std::f64::consts::TAU * draws.unit()).cos()
}

/// A draw of the gamma law of a shape and scale 1 (G. Marsaglia and W. W. Tsang, "A simple method
/// for generating gamma variables", 2000); for shapes below 1 by their boost with a power of a
/// uniform draw.
fn gamma(shape: f64, draws: &mut Draws) -> f64 {
    if shape < 1.0 {
        // 1 − u is in (0, 1]: its logarithm is finite.
        let boost = ((1.0 - draws.unit()).ln() / shape).exp();
        return gamma(shape + 1.0, draws) * boost;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(draws);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && (1.0 - draws.unit()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}
