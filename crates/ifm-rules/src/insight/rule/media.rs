//! What images, audio and videos did to prompts and to the time to first token.
//!
//! Not here: whether their numbers can be right, which checks and audit say.

use super::{at_load, told_by};
use crate::insight::{Insight, InsightRule, Question, Sentence, Tone, Topic};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Definition, PartKind, Statistic, meaning};
use ifm_metrics::media_figures::{NEW_TTFT, SEEN_RATIO, SEEN_SHARE, SEEN_TTFT, UPLOAD_SHARE};
use ifm_results::say;
use ifm_results::{Pooled, Stat, factor_words};

pub(super) const SHARE: InsightRule = InsightRule {
    id: "media_share",
    title: "share of images, audio and videos in the prompt tokens",
    look: share,
};
pub(super) const UPLOAD: InsightRule = InsightRule {
    id: "upload_share",
    title: "the load at which the upload is the largest share of the time to first token",
    look: upload,
};
pub(super) const CACHE: InsightRule = InsightRule {
    id: "media_cache",
    title: "images, audio and videos that a cache served, where times or counts of tokens show it",
    look: cache,
};

/// A smaller share of the prompt tokens is not reported.
const SHARE_MIN: f64 = 0.05;
/// From this share on there is nothing else in the prompts.
const SHARE_ALL: f64 = 0.99;
/// Shares of two levels that differ by less than this are reported as one.
const SHARE_APART: f64 = 0.01;
/// A smaller share of the TTFT is a negligible upload.
const UPLOAD_MIN: f64 = 0.1;
/// From this share on the TTFT is not the server's alone.
const UPLOAD_MUCH: f64 = 0.25;
/// A cache is reported from this share of the image tokens on.
const CACHED_MIN: f64 = 0.05;

/// What is carried, as a sentence begins.
const KINDS: [(&str, Metric); 3] = [
    ("Images are", Metric::ImageTokens),
    ("Audio is", Metric::AudioTokens),
    ("Videos are", Metric::VideoTokens),
];

fn other(name: &str) -> Metric {
    Metric::other(name)
}

/// Tokens of two kinds by the same statistic, of a request where the number of requests is known: the
/// part, and the whole.
fn part_of(cell: &Pooled, part: Metric, whole: Metric) -> Option<(f64, f64)> {
    let both = |statistic| {
        let reading = |quantity: Metric| cell.stat(quantity, statistic);
        let whole = reading(whole)?;
        // Of a tool that counts them twice.
        let twice = Definition::Different(meaning::MEDIA_TWICE.to_owned());
        let is_twice = whole.definition == twice;
        let media = KINDS.iter().filter_map(|(_, kind)| Some(reading(*kind)?.value));
        let more = if is_twice { media.sum() } else { 0.0 };
        Some((reading(part)?.value, whole.value - more))
    };
    let totals = || both(Statistic::Value).or_else(|| both(Statistic::Sum));
    let requests = || cell.requests_ok().filter(|requests| *requests > 0.0);
    let of_requests = || Some((totals()?, requests()?));
    both(Statistic::Mean)
        .or_else(|| of_requests().map(|((part, whole), n)| (part / n, whole / n)))
        .or_else(totals)
        .filter(|(part, whole)| *part > 0.0 && part <= whole)
}

fn share(question: &Question) -> Vec<Insight> {
    let pool = question.results.pool(PartKind::Serving);
    let of_kind = |(words, kind): &(&str, Metric)| {
        let parts = pool.cells.iter().filter_map(|cell| part_of(cell, *kind, Metric::InputTokens));
        let mut parts: Vec<(f64, f64)> = parts.collect();
        parts.order_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        let ((least, of_least), (most, of_most)) = (*parts.first()?, *parts.last()?);
        let (low, high) = (least / of_least, most / of_most);
        if high < SHARE_MIN || low > SHARE_ALL {
            return None;
        }
        let sentence = match high - low < SHARE_APART {
            true => say!(
                "{} {} of the prompt tokens: {} of {} in a request."; *words, high => Share,
                most => Plain, of_most => Plain
            ),
            false => say!(
                "{} {} to {} of the prompt tokens."; *words, low => Share, high => Share
            ),
        };
        Some(Insight::new(SHARE.id, Topic::Ttft, Tone::Note, sentence).weighing(high))
    };
    KINDS.iter().filter_map(of_kind).collect()
}

/// A level: its load, and what distinguishes it.
fn at(question: &Question, cell: &Pooled) -> Sentence {
    let by = told_by(question);
    let words: Vec<String> =
        by.iter().filter_map(|name| Some(factor_words(name, &cell.factor(name)?))).collect();
    let name = if words.is_empty() { String::new() } else { format!(" ({})", words.join(" · ")) };
    match cell.load() {
        Some(load) => say!(" at {}{}"; at_load(load), name),
        None => Sentence::from(&name),
    }
}

fn upload(question: &Question) -> Vec<Insight> {
    let pool = question.results.pool(PartKind::Serving);
    let told = |cell: &Pooled| Some(cell.stat(other(UPLOAD_SHARE), Statistic::Value)?.value);
    let all = pool.cells.iter().filter_map(|cell| Some((cell, told(cell)?)));
    let most = all.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, share)| *share >= UPLOAD_MIN);
    let Some((cell, share)) = most else { return Vec::new() };
    let tone = if share >= UPLOAD_MUCH { Tone::Warn } else { Tone::Note };
    let sentence = say!(
        "{} of the TTFT{} is the upload of the request, which is the client's and the wire's time and \
         not the model's.";
        share => Share, at(question, cell)
    );
    vec![Insight::new(UPLOAD.id, Topic::Ttft, tone, sentence).weighing(share)]
}

/// What shows at a level that a cache served media.
enum Shown {
    /// TTFT of what had been sent before over that of new, with both medians, ms, and the share of the
    /// media that had been sent before.
    Times(Box<Stat>, [f64; 2], f64),
    /// At least this much of the image tokens came from it, as a share.
    Tokens(f64),
}

impl Shown {
    /// How much faster or fuller it is, for the order of levels.
    fn weight(&self) -> f64 {
        match self {
            Shown::Times(ratio, ..) => 1.0 + ratio.value.max(f64::MIN_POSITIVE).ln().abs(),
            Shown::Tokens(share) => *share,
        }
    }
}

fn shown(cell: &Pooled) -> Option<Shown> {
    let median = |name: &str| Some(cell.stat(other(name), Statistic::Median)?.value);
    let ratio = cell.stat(other(SEEN_RATIO), Statistic::Value);
    let ratio = ratio.filter(|ratio| ratio.high.is_some_and(|high| high < 1.0));
    let times = || {
        let share = cell.stat(other(SEEN_SHARE), Statistic::Value)?.value;
        Some(Shown::Times(Box::new(ratio?), [median(SEEN_TTFT)?, median(NEW_TTFT)?], share))
    };
    let tokens = || {
        let (image, whole) = part_of(cell, Metric::ImageTokens, Metric::InputTokens)?;
        let (cached, _) = part_of(cell, Metric::CachedTokens, Metric::InputTokens)?;
        let share = (cached - (whole - image)) / image;
        (share > CACHED_MIN).then_some(Shown::Tokens(share))
    };
    times().or_else(tokens)
}

fn cache(question: &Question) -> Vec<Insight> {
    let pool = question.results.pool(PartKind::Serving);
    let all: Vec<(&Pooled, Shown)> =
        pool.cells.iter().filter_map(|cell| Some((cell, shown(cell)?))).collect();
    let most = all.iter().max_by(|a, b| a.1.weight().total_cmp(&b.1.weight()));
    let Some((cell, found)) = most else { return Vec::new() };
    let at = at(question, cell);
    let sentence = match found {
        Shown::Times(ratio, [seen, new], share) => {
            let interval = ratio
                .low
                .zip(ratio.high)
                .map(|(low, high)| say!(", 95 % interval {} to {}"; low => Times, high => Times));
            say!(
                "A cache served media that had been sent before, {} of all{}: their TTFT is {}, that of \
                 new media {} ({}{}).";
                *share => Share, at, *seen => Ms, *new => Ms, ratio.value => Times,
                interval.unwrap_or_default()
            )
        }
        Shown::Tokens(share) => say!(
            "A cache served images: at least {} of their tokens{}, since more of the prompts came from \
             it than is text.";
            *share => Share, at
        ),
    };
    vec![Insight::new(CACHE.id, Topic::Ttft, Tone::Warn, sentence).weighing(found.weight())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::insights;
    use ifm_core::RunData;
    use ifm_metrics::testing::{MS, images, sound_images};
    use ifm_results::Results;

    fn numbers(run: &RunData, rule: &str) -> Option<Vec<f64>> {
        let results = Results::of_run(&run.manifest, &ifm_metrics::summarize(run));
        let all = insights(&Question::new(&results));
        let found = all.iter().find(|insight| insight.rule == rule)?;
        Some(found.sentence.numbers().map(|(number, _)| number).collect())
    }

    #[test]
    fn reports_the_share_of_images_if_all_were_counted() {
        let found = numbers(&sound_images(), "media_share").expect("299 of 419 tokens");
        assert_eq!(found, [299.0 / 419.0, 299.0, 419.0]);
        let mut run = sound_images();
        run.requests[7].image_tokens = None;
        assert_eq!(numbers(&run, "media_share"), None);
        assert_eq!(numbers(&ifm_metrics::testing::run(&[2], Vec::new()), "media_share"), None);
    }

    #[test]
    fn reports_an_upload_that_is_much_of_the_ttft() {
        let sent =
            |ms: u64| images(move |_, record| record.sent_ns = Some(record.start_ns + ms * MS));
        let found = numbers(&sent(40), "upload_share").expect("40 of 100 ms");
        assert!((found[0] - 0.4).abs() < 1e-9 && found[1] == 2.0, "{found:?}");
        assert_eq!(numbers(&sent(2), "upload_share"), None);
    }

    #[test]
    fn reports_a_cache_that_times_or_tokens_show() {
        let again = images(|number, record| {
            if number >= 60 {
                record.media.as_mut().expect("an image").seen = 1;
                record.events.at_ns[0] -= (record.events.at_ns[0] - record.start_ns) * 9 / 10;
            }
        });
        let found = numbers(&again, "media_cache").expect("a tenth of the time");
        assert_eq!((found[0], found[1], found[2], found[3]), (0.5, 2.0, 10.0, 100.0));
        assert!((found[4] - 0.1).abs() < 1e-9, "{found:?}");
        assert_eq!(numbers(&sound_images(), "media_cache"), None);
        // 389 of 419 tokens came from the cache, of which 120 are text: 269 of 299 are the image's.
        let cached = images(|_, record| record.cached_tokens = Some(389));
        let found = numbers(&cached, "media_cache").expect("more than text");
        assert!((found[0] - 269.0 / 299.0).abs() < 1e-9, "{found:?}");
        let text = images(|_, record| record.cached_tokens = Some(120));
        assert_eq!(numbers(&text, "media_cache"), None, "text alone may be what was cached");
    }
}
