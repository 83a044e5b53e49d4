//! Random numbers from a seed: the same seed and name give the same numbers on every machine.
//!
//! A counter is mixed into a number, so that the stream needs no state but its place. Good enough
//! for resampling and made for nothing else. Source: Steele, Lea and Flood, "Fast splittable
//! pseudorandom number generators" (2014), the generator SplitMix64. Not here: a source of
//! seeds.

/// The step of the counter: 2^64 divided by the golden ratio, odd.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct RandomStream {
    place: u64,
}

fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

impl RandomStream {
    /// The stream of a seed.
    pub fn new(seed: u64) -> RandomStream {
        RandomStream { place: mix(seed.wrapping_add(STEP)) }
    }

    /// A stream of the same seed that has a name of its own: streams with different names do not
    /// repeat each other.
    pub fn named(seed: u64, name: &str) -> RandomStream {
        let fold = |state: u64, byte: &u8| mix(state ^ u64::from(*byte)).wrapping_add(STEP);
        RandomStream { place: name.as_bytes().iter().fold(mix(seed.wrapping_add(STEP)), fold) }
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.place = self.place.wrapping_add(STEP);
        mix(self.place)
    }

    /// A number from 0 up to, but not including, `n`; 0 for n = 0. The chance of each differs from
    /// 1/n by at most 2^-64.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// A number above 0 and below 1.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// A value of the exponential law with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    /// A value of the standard normal law. Source: Box and Muller (1958).
    pub fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (2.0 * std::f64::consts::PI * self.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_the_same_for_ever_and_differ_by_name() {
        // The first numbers of the seed 0 of the published SplitMix64 begin one mixing later.
        let mut raw = RandomStream { place: 0 };
        assert_eq!(raw.bits(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(raw.bits(), 0x6E78_9E6A_A1B9_65F4);
        let first = |mut stream: RandomStream| stream.bits();
        assert_eq!(first(RandomStream::new(7)), first(RandomStream::new(7)));
        assert_ne!(first(RandomStream::new(7)), first(RandomStream::new(8)));
        let named = |name| first(RandomStream::named(7, name));
        assert_eq!(named("a"), named("a"));
        assert_ne!(named("a"), named("b"));
        assert_ne!(named("ab"), named("ba"));
    }

    #[test]
    fn the_laws_have_their_moments() {
        const N: usize = 100_000;
        let mut stream = RandomStream::new(3);
        let mut counts = [0usize; 10];
        let (mut normal, mut squares, mut exponential) = (0.0, 0.0, 0.0);
        for _ in 0..N {
            counts[stream.below(10)] += 1;
            let value = stream.normal();
            normal += value;
            squares += value * value;
            exponential += stream.exponential();
        }
        // Five standard errors each.
        assert!(counts.iter().all(|count| count.abs_diff(N / 10) < 475), "{counts:?}");
        assert!((normal / N as f64).abs() < 0.016);
        assert!((squares / N as f64 - 1.0).abs() < 0.023);
        assert!((exponential / N as f64 - 1.0).abs() < 0.016);
        assert_eq!(stream.below(0), 0);
    }
}
