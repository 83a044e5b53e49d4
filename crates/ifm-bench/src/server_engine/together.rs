//! Whether the sequences of a batch ran together: a server with fewer places than sequences serves them
//! one after the other, and times that as if it were a batch.

use super::told::Heard;

/// Requests that begin within this time begin together, nanoseconds.
const BEGIN_NS: u64 = 5_000_000;

/// When a batch ran, by the client's clock, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// When the first request was begun to be sent, and when the first was sent.
    pub begun_ns: u64,
    /// See `begun_ns`.
    pub sent_ns: u64,
    /// From the first that was begun to the last.
    pub begin_spread_ns: u64,
    /// When the first sequence had its first token.
    pub first_ns: u64,
    /// When the last sequence had its first token.
    pub firsts_ns: u64,
    /// When the last token of all was here.
    pub last_ns: u64,
    /// Whether requests began further apart than a few milliseconds, though before any was answered.
    pub began_apart: bool,
}

/// Whether every request was under way before any had its first token.
///
/// # Errors
/// They were not, by this machine's doing: how, with the figures.
pub fn began_together(batch: &[Heard]) -> Result<(), String> {
    let begun = batch.iter().map(|heard| heard.begun_ns);
    let (Some(start), Some(last)) = (begun.clone().min(), begun.max()) else { return Ok(()) };
    let Some(first) = batch.iter().filter_map(Heard::first_ns).min() else { return Ok(()) };
    let ms = |ns: u64| ns.saturating_sub(start) as f64 / 1e6;
    match last > first {
        false => Ok(()),
        true => Err(format!(
            "the batch did not begin together: the last request was begun after {:.1} ms, when the \
             first had its first token after {:.1} ms",
            ms(last),
            ms(first)
        )),
    }
}

/// The span of sequences that ran together.
///
/// # Errors
/// They did not: how, with the figures.
pub fn together(batch: &[Heard]) -> Result<Span, String> {
    let of = |at: fn(&Heard) -> Option<u64>| -> Option<Vec<u64>> { batch.iter().map(at).collect() };
    let (Some(firsts), Some(lasts)) = (of(Heard::first_ns), of(Heard::last_ns)) else {
        return Err("an answer came without a token".to_owned());
    };
    let begun: Vec<u64> = batch.iter().map(|heard| heard.begun_ns).collect();
    let sent: Vec<u64> = batch.iter().map(|heard| heard.sent_ns).collect();
    let least = |all: &[u64]| all.iter().copied().min().unwrap_or_default();
    let most = |all: &[u64]| all.iter().copied().max().unwrap_or_default();
    let span = Span {
        begun_ns: least(&begun),
        sent_ns: least(&sent),
        begin_spread_ns: most(&begun) - least(&begun),
        first_ns: least(&firsts),
        firsts_ns: most(&firsts),
        last_ns: most(&lasts),
        began_apart: most(&begun) - least(&begun) > BEGIN_NS,
    };
    let ms = |ns: u64| format!("{:.1} ms", ns.saturating_sub(span.begun_ns) as f64 / 1e6);
    // Of answers of one token nothing overlaps but their prompts.
    let has_steps = firsts.iter().zip(&lasts).any(|(first, last)| last > first);
    let ended = least(&lasts);
    let late = firsts.iter().filter(|first| **first > ended).count();
    if has_steps && late > 0 {
        return Err(format!(
            "the batch did not run together: {late} of {} sequences had no token yet after {}, when \
             the first had its last; the last began its answer after {}",
            batch.len(),
            ms(ended),
            ms(span.firsts_ns)
        ));
    }
    Ok(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(begun_ns: u64, at_ns: &[u64]) -> Heard {
        Heard { begun_ns, sent_ns: begun_ns + 1, at_ns: at_ns.to_vec(), ..Heard::default() }
    }

    #[test]
    fn what_overlaps_ran_together() {
        const MS: u64 = 1_000_000;
        let batch = [heard(0, &[10 * MS, 30 * MS]), heard(2 * MS, &[20 * MS, 40 * MS])];
        let span = together(&batch).unwrap();
        assert_eq!((span.first_ns, span.firsts_ns, span.last_ns), (10 * MS, 20 * MS, 40 * MS));
        assert!(!span.began_apart);
        let apart = [heard(0, &[10 * MS, 30 * MS]), heard(8 * MS, &[20 * MS, 40 * MS])];
        assert!(together(&apart).unwrap().began_apart);
        let queued = [heard(0, &[10 * MS, 30 * MS]), heard(MS, &[31 * MS, 50 * MS])];
        let why = together(&queued).unwrap_err();
        assert!(why.contains("1 of 2 sequences had no token yet after 30.0 ms"), "{why}");
        assert!(why.ends_with("after 31.0 ms"), "{why}");
        let late = [heard(0, &[10 * MS]), heard(11 * MS, &[20 * MS])];
        assert!(began_together(&late).unwrap_err().contains("begun after 11.0 ms"));
        assert_eq!(began_together(&queued), Ok(()));
        // One token each: only their beginning can be seen.
        assert!(together(&[heard(0, &[10 * MS]), heard(MS, &[20 * MS])]).is_ok());
        assert!(together(&[heard(0, &[])]).is_err());
    }
}
