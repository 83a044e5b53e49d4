//! Sorting of short lists, compiled once.
//!
//! The standard library's sort is compiled separately for every type and every comparison, at a cost of
//! 5 kB and a tenth of a second each. This program sorts in some two hundred places: 1.2 MB. Here one
//! sort for all types sorts the positions of the items, and only a loop of swaps is compiled per type. A
//! comparison goes through a pointer, so a long list takes about twice as long: code that sorts
//! populations of requests or tokens uses the standard sort and says so. So do plain numbers, as `sort`
//! and `f64::total_cmp`.

use std::cmp::Ordering;

/// Sorts lists by a comparison, stably: equal items stay in their order.
pub trait Order<T> {
    /// Sorts by a comparison, which must be a total order.
    fn order_by(&mut self, compare: impl Fn(&T, &T) -> Ordering);

    /// Sorts by the key of each item.
    fn order_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }
}

impl<T> Order<T> for [T] {
    fn order_by(&mut self, compare: impl Fn(&T, &T) -> Ordering) {
        let mut place_of = places(self.len(), &|a, b| compare(&self[a], &self[b]));
        for place in 0..self.len() {
            while place_of[place] != place {
                let home = place_of[place];
                self.swap(place, home);
                place_of.swap(place, home);
            }
        }
    }
}

/// The place of each item in the order.
fn places(len: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut items: Vec<usize> = (0..len).collect();
    items.sort_by(|a, b| compare(*a, *b));
    let mut place_of = vec![0; len];
    for (place, item) in items.into_iter().enumerate() {
        place_of[item] = place;
    }
    place_of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_orders_as_the_standard_sort_does() {
        let mut drawn = 1_u64;
        for len in [0_usize, 1, 2, 3, 20, 21, 33, 500] {
            for kinds in [1, 2, 7, 1000] {
                let items: Vec<(u64, usize)> = (0..len)
                    .map(|index| {
                        drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        ((drawn >> 33) % kinds, index)
                    })
                    .collect();
                let (mut ours, mut standard) = (items.clone(), items.clone());
                ours.order_by_key(|item| item.0);
                standard.sort_by_key(|item| item.0);
                assert_eq!(ours, standard, "{len} items of {kinds} kinds");
                ours.order_by(|a, b| b.0.cmp(&a.0));
                standard.sort_by_key(|item| std::cmp::Reverse(item.0));
                assert_eq!(ours, standard, "{len} items of {kinds} kinds, turned");
            }
        }
    }
}
