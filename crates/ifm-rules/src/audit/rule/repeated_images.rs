//! A TTFT of images is of images that the server had not seen.
//!
//! Servers keep processed images, what their encoders made of them, and the prefixes that they begin: the
//! same image again takes a tenth of the time (865 ms and then 67 to 88 ms in SGLang's pull request
//! 21899). A handful of images measures that cache.

use super::super::images::images_of_a_request;
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{RowRole, Statistic, key};

pub(super) const RULE: Rule = Rule {
    id: "repeated_images",
    title: "times to first token are of images that the server had not seen",
    look,
};

/// Reported from this share of image tokens out of a cache on.
const CACHED_MIN: f64 = 0.05;
/// From this share of repeats, or of tokens out of a cache, on it is what was measured.
const MOST: f64 = 0.5;
/// Words of settings that say how many different images, or prompts with them, there were.
const POOLS: [&str; 6] = [
    "unique images",
    "different images",
    "distinct images",
    "image pool",
    "num dataset entries",
    "number of images",
];

fn look(subject: &Subject) -> Looked {
    let roles = [RowRole::Measured, RowRole::Summary];
    let cells =
        || roles.into_iter().flat_map(|role| subject.cells(role)).filter(|cell| has_ttft(cell));
    let cached: Vec<(&Cell, Cached)> =
        cells().filter_map(|cell| Some((cell, cached(cell)?))).collect();
    let pooled: Vec<(&Cell, Pool)> = cells().filter_map(|cell| Some((cell, pool(cell)?))).collect();
    if cached.is_empty() && pooled.is_empty() {
        return Looked::Needs(
            "times to first token of images, with the number of different images or the number of \
             prompt tokens that came from a cache",
        );
    }
    Looked::Found(from_cache(&cached).into_iter().chain(from_pool(&pooled)).collect())
}

fn has_ttft(cell: &Cell) -> bool {
    cell.central(Metric::Ttft).is_some()
}

/// Prompt tokens of a request that a cache had, and of what they were.
struct Cached {
    tokens: f64,
    others: f64,
    images: f64,
}

impl Cached {
    /// The least of the image tokens that came from the cache, as a share.
    fn share(&self) -> f64 {
        ((self.tokens - self.others) / self.images).clamp(0.0, 1.0)
    }
}

fn cached(cell: &Cell) -> Option<Cached> {
    let mean = |quantity: Metric| cell.mean_tokens(quantity);
    let (tokens, images) = (mean(Metric::CachedTokens)?, mean(Metric::ImageTokens)?);
    let others = mean(Metric::InputTokens)? - images;
    (images > 0.0 && others >= 0.0).then_some(Cached { tokens, others, images })
}

fn from_cache(rows: &[(&Cell, Cached)]) -> Option<Finding> {
    let high = || rows.iter().filter(|(_, cached)| cached.share() > CACHED_MIN);
    let (cell, most) = high().max_by(|a, b| a.1.share().total_cmp(&b.1.share()))?;
    let text = format!(
        "of {} levels with images {} had them from a cache, such as {}: {:.0} tokens of a prompt came from \
         it and {:.0} are no image's, so that at least {:.0} % of the image tokens were not computed",
        rows.len(),
        high().count(),
        cell.name(),
        most.tokens,
        most.others,
        most.share() * 100.0
    );
    let level = if most.share() > MOST { Level::Strong } else { Level::Hint };
    let finding = Finding::new(RULE.id, level, text)
        .at_all(high().map(|(cell, _)| cell.spot()))
        .with("cached tokens of a request", most.tokens, "tokens")
        .with("image tokens of a request", most.images, "tokens")
        .remedy("send every image once, or state that a cache was measured");
    Some(finding)
}

/// Different images, or prompts with them, and how many of them were sent.
struct Pool {
    name: String,
    different: f64,
    sent: f64,
}

impl Pool {
    /// Share of what was sent that had been sent before.
    fn repeats(&self) -> f64 {
        1.0 - self.different / self.sent
    }
}

fn pool(cell: &Cell) -> Option<Pool> {
    let of_images = images_of_a_request(cell).is_some()
        || cell.row.value(Metric::ImageTokens, Statistic::Value).is_some();
    let requests = cell.requests()?;
    let (name, different) = cell.factors.iter().find_map(|(name, value)| {
        let plain = name.to_lowercase().replace(['_', '-'], " ");
        // Blank images are one and the same.
        if plain.contains("image content") && value == "blank" {
            return Some((format!("{plain} {value}"), 1.0));
        }
        let is_pool = POOLS.iter().any(|pool| plain.contains(pool));
        let number = value.trim().parse::<f64>().ok().filter(|number| *number >= 1.0)?;
        (is_pool && name != key::REQUESTS).then_some((plain, number))
    })?;
    // Prompts of a data set are counted whole, images one by one.
    let is_of_prompts = name.contains("entries");
    let images = if is_of_prompts { 1.0 } else { images_of_a_request(cell).unwrap_or(1.0) };
    let is_of_it = of_images || name.contains("image");
    let sent = requests * images;
    (is_of_it && sent > 0.0).then_some(Pool { name, different, sent })
}

fn from_pool(rows: &[(&Cell, Pool)]) -> Option<Finding> {
    let few = || rows.iter().filter(|(_, pool)| pool.repeats() > CACHED_MIN);
    let (cell, most) = few().max_by(|a, b| a.1.repeats().total_cmp(&b.1.repeats()))?;
    let text = format!(
        "{}: of {:.0} images, or prompts with them, {:.0} are different ({}), so that {:.0} % \
         had been sent before: a server that caches processed images was measured with its cache",
        cell.name(),
        most.sent,
        most.different,
        most.name,
        most.repeats() * 100.0
    );
    let level = if most.repeats() > MOST { Level::Strong } else { Level::Hint };
    let finding = Finding::new(RULE.id, level, text)
        .at_all(few().map(|(cell, _)| cell.spot()))
        .with("sent", most.sent, "")
        .with("different", most.different, "")
        .remedy(
            "send every image once, or state the TTFT of new and of repeated images \
                 separately",
        );
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Factors, PartKind, Unit};

    const VALUE: Statistic = Statistic::Value;

    /// 100 requests of 120 tokens of text and 299 of an image.
    fn document(cached: &str, different: u32) -> Sheet {
        let figures = [
            (Metric::Ttft, Statistic::Mean, "80.0", Unit::Ms),
            (Metric::RequestsOk, VALUE, "100", Unit::Count),
            (Metric::InputTokens, VALUE, "41900", Unit::Count),
            (Metric::ImageTokens, VALUE, "29900", Unit::Count),
            (Metric::CachedTokens, VALUE, cached, Unit::Count),
        ];
        let mut row = row(3, &figures);
        row.factors = row.factors.with("unique_images", different);
        sheet(PartKind::Serving, vec![row])
    }

    #[test]
    fn more_cached_tokens_than_text_has_are_those_of_images() {
        // 389 cached tokens of a prompt, of which 120 may be text: 269 of 299 are an image's.
        let corrupt = |sheet: &mut Sheet| *sheet = document("38900", 100);
        check("repeated_images", &document("12000", 100), corrupt, Level::Strong, "least 90 %");
    }

    #[test]
    fn reports_a_small_pool_of_images() {
        let corrupt = |sheet: &mut Sheet| *sheet = document("0", 8);
        check("repeated_images", &document("0", 100), corrupt, Level::Strong, "92 % had been sent");
        let corrupt = |sheet: &mut Sheet| {
            let factors = &mut sheet.parts[0].rows[0].factors;
            *factors = Factors::default().with("image_content", "blank");
        };
        check("repeated_images", &document("0", 100), corrupt, Level::Strong, "99 % had been sent");
    }
}
