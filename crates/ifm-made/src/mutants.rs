//! Damaged copies of sound files, for tests of readers: bytes that a reader believes are changed, cut out, put in or
//! repeated. The same seed gives the same copies.

use std::time::{Duration, Instant};

/// Bytes that lengths, counts and tags are often damaged to.
const EXTREMES: [u8; 6] = [0, 1, 0x7f, 0x80, 0xfe, 0xff];
/// Longest run of bytes that is cut out, put in or repeated.
const RUN_BYTES_MAX: usize = 64;

/// Longest time for a copy, in times that the sound file takes. Every host stays below it, and a reader that believes a
/// damaged count does not.
const TIMES_MAX: u32 = 5_000;
/// Shortest time that counts for a sound file: a clock and a cache decide about less.
const SOUND_MIN: Duration = Duration::from_micros(200);
/// Times that a copy is read before it counts as slow: a busy host may stop any process once.
const ATTEMPTS: u32 = 3;

/// How long damaged copies take compared with the sound file, on a host of any speed.
#[derive(Debug)]
pub struct Pace {
    sound: Duration,
    slowest: Duration,
}

impl Pace {
    /// Reads the sound file.
    pub fn of_sound<T>(mut read: impl FnMut() -> T) -> Pace {
        let began = Instant::now();
        read();
        Pace { sound: began.elapsed().max(SOUND_MIN), slowest: Duration::ZERO }
    }

    /// Reads a copy. One that takes too long is read again, and its shortest time counts.
    pub fn read<T>(&mut self, mut read: impl FnMut() -> T) -> T {
        let (mut shortest, mut attempt) = (Duration::MAX, 1);
        loop {
            let began = Instant::now();
            let outcome = read();
            shortest = shortest.min(began.elapsed());
            if shortest < self.longest() || attempt == ATTEMPTS {
                self.slowest = self.slowest.max(shortest);
                return outcome;
            }
            attempt += 1;
        }
    }

    /// The slowest copy.
    pub fn slowest(&self) -> Duration {
        self.slowest
    }

    /// Whether a copy took too long.
    pub fn is_slow(&self) -> bool {
        self.slowest >= self.longest()
    }

    fn longest(&self) -> Duration {
        self.sound.saturating_mul(TIMES_MAX)
    }
}

/// Makes damaged copies.
#[derive(Debug, Clone)]
pub struct Mutants {
    state: u64,
}

impl Mutants {
    /// Copies from a seed.
    pub fn new(seed: u64) -> Mutants {
        Mutants { state: seed | 1 }
    }

    /// Number of copies of a test: `MUTANTS` in the environment, or a default.
    pub fn count(default: usize) -> usize {
        std::env::var("MUTANTS").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    }

    /// A damaged copy of a file. Half of the damage is at its beginning or end, where most formats have what their
    /// readers believe.
    pub fn damage(&mut self, sound: &[u8]) -> Vec<u8> {
        let mut bytes = sound.to_vec();
        for _ in 0..=self.below(4) {
            if bytes.is_empty() {
                break;
            }
            let quarter = bytes.len().div_ceil(4);
            let at = match self.below(4) {
                0 => self.below(quarter),
                1 => bytes.len() - 1 - self.below(quarter),
                _ => self.below(bytes.len()),
            };
            self.damage_at(&mut bytes, at);
        }
        bytes
    }

    fn damage_at(&mut self, bytes: &mut Vec<u8>, at: usize) {
        let end = bytes.len().min(at + 1 + self.below(RUN_BYTES_MAX));
        match self.below(10) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let run = bytes[at..end].to_vec();
                bytes.splice(at..at, run);
            }
            3 => {
                let run: Vec<u8> = (at..end).map(|_| self.below(256) as u8).collect();
                bytes.splice(at..at, run);
            }
            4 => bytes[at] ^= 1 << self.below(8),
            5 => {
                // A field of four or eight bytes.
                let byte = EXTREMES[self.below(EXTREMES.len())];
                let width = if self.below(2) == 0 { 4 } else { 8 };
                bytes.iter_mut().skip(at).take(width).for_each(|place| *place = byte);
            }
            6 if bytes[at].is_ascii_digit() => {
                let number = ["99999999999999999999", "-1", "1e999", "0"][self.below(4)];
                bytes.splice(at..=at, number.bytes());
            }
            6 | 7 => bytes[at] = self.below(256) as u8,
            _ => bytes[at] = EXTREMES[self.below(EXTREMES.len())],
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % bound.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_slow_only_if_it_is_slow_each_time() {
        let mut pace = Pace { sound: SOUND_MIN, slowest: Duration::ZERO };
        let (longest, mut times) = (pace.longest(), 0);
        pace.read(|| {
            times += 1;
            if times == 1 {
                std::thread::sleep(longest);
            }
        });
        assert!(!pace.is_slow() && times > 1, "{pace:?}");
        pace.sound = Duration::ZERO;
        pace.read(|| ());
        assert!(pace.is_slow());
    }

    #[test]
    fn copies_are_damaged_and_come_again_from_their_seed() {
        let sound: Vec<u8> = (0..200).collect();
        let copies = |seed| {
            let mut mutants = Mutants::new(seed);
            (0..100).map(|_| mutants.damage(&sound)).collect::<Vec<_>>()
        };
        assert_eq!(copies(7), copies(7));
        assert_ne!(copies(7), copies(9));
        assert!(copies(7).iter().filter(|copy| **copy != sound).count() > 95);
        assert!(Mutants::new(3).damage(b"").is_empty());
    }
}
