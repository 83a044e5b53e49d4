//! Which media an item carries: its own, or some of those that all share.
//!
//! Not here: making them (`made`), reading them (`file`), putting them into prompts (`dress`).

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use ifm_core::{Carried, Medium};
use ifm_made::{Draws, Rng, Stream};

use super::{KEPT_BYTES_MAX, made::Recipe};
use crate::{
    count::map_parallel, error::WorkloadError, item::FAR_ITEM, lengths::Lengths, request::Carry,
};

/// Media of a shared pool at most.
pub(super) const POOL_MAX: u32 = 1 << 20;

/// How often each medium of a pool comes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reuse {
    /// One after the other, and from the first again.
    InOrder,
    /// Each as often as any other.
    Uniform,
    /// The one at place k as often as 1 / k to this power.
    Zipf(f64),
}

impl Reuse {
    /// How to write one.
    pub(super) const USAGE: &'static str =
        "order, uniform, or zipf with an exponent from 0 to 16 as zipf:1.1";

    /// Reads what is written.
    pub(super) fn read(text: &str) -> Option<Self> {
        match (text, text.strip_prefix("zipf:")) {
            ("order", _) => Some(Self::InOrder),
            ("uniform", _) => Some(Self::Uniform),
            ("zipf", _) => Some(Self::Zipf(1.0)),
            (_, Some(power)) => {
                let power = power.parse::<f64>().ok()?;
                (power.is_finite() && (0.0..=16.0).contains(&power)).then_some(Self::Zipf(power))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Reuse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InOrder => out.write_str("one after the other"),
            Self::Uniform => out.write_str("each as often as any other"),
            Self::Zipf(power) => write!(out, "by Zipf's law with the exponent {power}"),
        }
    }
}

/// A pool and the law by which it is used.
pub(super) struct Pool {
    pub media: Vec<Arc<Medium>>,
    reuse: Reuse,
    /// Sums of the weights, where they differ.
    sums: Vec<f64>,
    /// Which item carries each medium first, as far as that was looked for.
    first: Mutex<First>,
}

#[derive(Default)]
struct First {
    next: u32,
    items: Vec<Option<u32>>,
    /// Media that no item was found for so far.
    left: usize,
}

impl Pool {
    /// A pool that is not empty.
    pub(super) fn new(media: Vec<Arc<Medium>>, reuse: Reuse) -> Self {
        let mut sum = 0.0;
        let sums = match reuse {
            Reuse::Zipf(power) => (1..=media.len())
                .map(|place| {
                    sum += libm::pow(place as f64, -power);
                    sum
                })
                .collect(),
            Reuse::InOrder | Reuse::Uniform => Vec::new(),
        };
        let first = First { next: 0, items: vec![None; media.len()], left: media.len() };
        Self { media, reuse, sums, first: Mutex::new(first) }
    }

    /// Makes the pool of a recipe, on all processors.
    ///
    /// # Errors
    /// What making says, and more than memory should hold.
    pub(super) fn make(
        recipe: &Recipe,
        count: u32,
        reuse: Reuse,
        stream: &Stream,
        carry: Carry,
    ) -> Result<Self, WorkloadError> {
        /// Media that are made before memory is looked at.
        const BATCH: usize = 64;
        let numbers: Vec<u64> = (0..u64::from(count)).collect();
        let (mut media, mut bytes) = (Vec::new(), 0);
        for batch in numbers.chunks(BATCH) {
            for made in map_parallel(batch, |number| recipe.make(stream, *number, carry)) {
                let made = made?;
                bytes += made.carried.bytes().map_or(0, |bytes| bytes.len() as u64);
                media.push(Arc::new(made));
            }
            if bytes > KEPT_BYTES_MAX {
                return Err(WorkloadError::Shape {
                    text: format!("media_pool={count}"),
                    reason: format!(
                        "{} of them fill {} GiB of memory; ask for fewer or smaller ones",
                        media.len(),
                        KEPT_BYTES_MAX >> 30
                    ),
                });
            }
        }
        Ok(Self::new(media, reuse))
    }

    /// Places of the media that a part of the workload takes: the `count` ones at a running number.
    fn places(&self, running: u64, count: u32, draws: &mut Draws) -> Vec<usize> {
        let all = self.media.len().max(1);
        let place = |number: u32| match self.reuse {
            Reuse::InOrder => {
                let number = running.wrapping_mul(u64::from(count)).wrapping_add(number.into());
                (number % all as u64) as usize
            }
            Reuse::Uniform => draws.below(all as u32) as usize,
            Reuse::Zipf(_) => {
                let drawn = draws.unit() * self.sums.last().copied().unwrap_or(0.0);
                self.sums.partition_point(|sum| *sum <= drawn).min(all - 1)
            }
        };
        (0..count).map(place).collect()
    }
}

/// Where media of one kind come from.
pub(super) enum Stock {
    /// Each is made for its item.
    Own(Recipe),
    Shared(Pool),
}

/// The media of one kind in each item.
pub(super) struct Part {
    counts: Lengths,
    stock: Stock,
    number_draws: Stream,
    picks: Stream,
    made: Stream,
    carry: Carry,
    has_names: bool,
    /// Whether a server is told the name alone of what it has.
    is_name_alone: bool,
}

impl Part {
    /// A part with streams of its own.
    pub(super) fn new(counts: Lengths, stock: Stock, seed: u64, word: &str, carry: Carry) -> Self {
        let rng = Rng::new(seed);
        Self {
            counts,
            stock,
            number_draws: rng.stream(&format!("media_count_{word}")),
            picks: rng.stream(&format!("media_pick_{word}")),
            made: made_stream(seed, word),
            carry,
            has_names: false,
            is_name_alone: false,
        }
    }

    /// Gives every medium a name, which stands alone where a server has it.
    pub(super) fn name(&mut self, has_names: bool, is_name_alone: bool) {
        self.has_names = has_names;
        self.is_name_alone = is_name_alone;
    }

    /// Whether media are made while the load runs.
    pub(super) fn is_made_ahead(&self) -> bool {
        matches!(self.stock, Stock::Own(_))
    }

    /// The media of a turn.
    ///
    /// # Errors
    /// What making says.
    pub(super) fn media(&self, item: u32, turn: u16) -> Result<Vec<Arc<Medium>>, WorkloadError> {
        let place = u64::from(item) << 16 | u64::from(turn);
        let media = match &self.stock {
            Stock::Own(recipe) => {
                let count = self.count(place);
                let made = |number| {
                    let number = place << 16 | u64::from(number);
                    recipe.make(&self.made, number, self.carry)
                };
                (0..count)
                    .map(|number| made(number).map(Arc::new))
                    .collect::<Result<Vec<_>, _>>()?
            }
            Stock::Shared(pool) => {
                let places = self.places(pool, item, turn);
                let is_known = self.known(pool, item, &places);
                let found = places.iter().zip(is_known).filter_map(|(place, is_known)| {
                    let medium = pool.media.get(*place)?;
                    Some(if is_known { name_of(medium) } else { medium.clone() })
                });
                return Ok(found.map(|medium| self.named(medium)).collect());
            }
        };
        Ok(media.into_iter().map(|medium| self.named(medium)).collect())
    }

    fn count(&self, place: u64) -> u32 {
        self.counts.draw(&mut self.number_draws.item(place))
    }

    fn places(&self, pool: &Pool, item: u32, turn: u16) -> Vec<usize> {
        let place = u64::from(item) << 16 | u64::from(turn);
        let running = u64::from(item) + u64::from(turn);
        pool.places(running, self.count(place), &mut self.picks.item(place))
    }

    /// Which of the media an earlier item carried, or this one before; all new where that is of no
    /// use.
    fn known(&self, pool: &Pool, item: u32, places: &[usize]) -> Vec<bool> {
        if !self.is_name_alone || item >= FAR_ITEM {
            return vec![false; places.len()];
        }
        let mut first = pool.first.lock().unwrap_or_else(PoisonError::into_inner);
        while first.next <= item && first.left > 0 {
            let number = first.next;
            for place in self.places(pool, number, 0) {
                if let Some(none @ None) = first.items.get_mut(place) {
                    *none = Some(number);
                    first.left -= 1;
                }
            }
            first.next += 1;
        }
        let known = places.iter().enumerate().map(|(number, place)| {
            let earlier = first.items.get(*place).copied().flatten().is_some_and(|it| it < item);
            earlier || places.iter().take(number).any(|other| other == place)
        });
        known.collect()
    }

    fn named(&self, medium: Arc<Medium>) -> Arc<Medium> {
        if !self.has_names || medium.uuid.is_some() {
            return medium;
        }
        let name = crate::source::hex(medium.sha256.get(..16).unwrap_or_default());
        Arc::new(Medium { uuid: Some(name), ..Medium::clone(&medium) })
    }
}

/// The draws of everything that is made of a kind.
pub(super) fn made_stream(seed: u64, word: &str) -> Stream {
    Rng::new(seed).stream(&format!("media_{word}"))
}

/// The same medium, of which a request carries the name alone.
fn name_of(medium: &Medium) -> Arc<Medium> {
    Arc::new(Medium { carried: Carried::Name, ..medium.clone() })
}
