//! The Mersenne Twister (M. Matsumoto and T. Nishimura, "Mersenne Twister", 1998),
//! with the two ways of seeding that its authors published in 2002.
//!
//! Not here: what Python and numpy make of its 32-bit words.

/// Words of state.
const WORDS: usize = 624;
/// Distance between the words that are mixed.
const SHIFT: usize = 397;

/// The generator of 32-bit words.
#[derive(Clone)]
pub(crate) struct Mt19937 {
    state: [u32; WORDS],
    next: usize,
}

impl Mt19937 {
    /// `init_genrand` of the reference code.
    pub(crate) fn from_word(seed: u32) -> Self {
        let mut state = [0_u32; WORDS];
        let mut word = seed;
        for (index, place) in (1..).zip(state.iter_mut()) {
            *place = word;
            word = (word ^ (word >> 30)).wrapping_mul(1_812_433_253).wrapping_add(index);
        }
        Self { state, next: WORDS }
    }

    /// `init_by_array` of the reference code. An empty key counts as one zero.
    pub(crate) fn from_key(key: &[u32]) -> Self {
        let key = if key.is_empty() { &[0] } else { key };
        let mut state = Self::from_word(19_650_218).state;
        let mut place = 1;
        let mut last = state[0];
        for (index, word) in (0_u32..).zip(key).cycle().take(WORDS.max(key.len())) {
            let mixed = state[place] ^ (last ^ (last >> 30)).wrapping_mul(1_664_525);
            last = mixed.wrapping_add(*word).wrapping_add(index);
            place = store(&mut state, place, last);
        }
        for _ in 1..WORDS {
            let mixed = state[place] ^ (last ^ (last >> 30)).wrapping_mul(1_566_083_941);
            last = mixed.wrapping_sub(place as u32);
            place = store(&mut state, place, last);
        }
        state[0] = 0x8000_0000;
        Self { state, next: WORDS }
    }

    /// The next word.
    pub(crate) fn next_u32(&mut self) -> u32 {
        if self.next >= WORDS {
            self.refill();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    fn refill(&mut self) {
        for place in 0..WORDS {
            let upper = self.state[place] & 0x8000_0000;
            let lower = self.state[(place + 1) % WORDS] & 0x7fff_ffff;
            let mixed = upper | lower;
            let twist = if mixed & 1 == 0 { 0 } else { 0x9908_b0df };
            self.state[place] = self.state[(place + SHIFT) % WORDS] ^ (mixed >> 1) ^ twist;
        }
        self.next = 0;
    }
}

/// Stores a word and gives the next place; after the last place, the first word is
/// the last one and the second place comes next.
fn store(state: &mut [u32; WORDS], place: usize, word: u32) -> usize {
    state[place] = word;
    if place + 1 < WORDS {
        return place + 1;
    }
    state[0] = word;
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first and last lines of `mt19937ar.out`, which the authors give with their code.
    #[test]
    fn the_published_words_come_out() {
        let mut generator = Mt19937::from_key(&[0x123, 0x234, 0x345, 0x456]);
        let words = (0..1000).map(|_| generator.next_u32()).collect::<Vec<_>>();
        assert_eq!(
            words[..5],
            [1_067_595_299, 955_945_823, 477_289_528, 4_107_218_783, 4_228_976_476]
        );
        assert_eq!(words[999], 3_460_025_646);
    }
}
