//! Tokens of images fit their model, their size, each other, and the prompts that they are part of.
//!
//! Clients that count these tokens themselves can be wrong without failing: SGLang's reported 2 a
//! request where the server read 326 (its pull request 38035). GuideLLM adds the image tokens that
//! the server reports separately to a sum that already includes them.

use super::super::images::{images_of_a_request, pixels_of_an_image, tokens_of_a_request};
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{Definition, RowRole, Statistic, key, meaning};
use ifm_metrics::image_tokens::{PIXELS_LARGE, TOKENS_MIN, of_model};

pub(super) const RULE: Rule = Rule {
    id: "image_tokens",
    title: "tokens of images fit their model, their size and their prompts",
    look,
};

/// Known models make at least this many tokens of the smallest image that they accept, 56 x 56
/// pixels.
const EACH_MIN: f64 = 4.0;
/// Counts of images of one size and model differ by up to this ratio where only their sides do.
const RATIO_MAX: f64 = 1.5;
/// Share by which parts may be more than the whole, beyond what rounding explains.
const BEYOND: f64 = 0.01;
/// Prompt tokens by kind.
const PARTS: [Metric; 4] =
    [Metric::TextTokens, Metric::ImageTokens, Metric::AudioTokens, Metric::VideoTokens];
/// What holds prompt tokens.
const WHOLE: [Metric; 2] = [Metric::InputTokens, Metric::TotalTokens];

/// A row whose images were counted in tokens.
struct Counted<'s, 'c> {
    cell: &'s Cell<'c>,
    /// Tokens of the images of a request.
    tokens: f64,
    /// Tokens of one image, where the number of images is known.
    each: Option<f64>,
    pixels: Option<f64>,
}

fn look(subject: &Subject) -> Looked {
    let roles = [RowRole::Measured, RowRole::Summary, RowRole::Stated];
    let cells: Vec<&Cell> = roles.into_iter().flat_map(|role| subject.cells(role)).collect();
    let counted: Vec<Counted> = cells.iter().filter_map(|cell| counted(cell)).collect();
    let parts: Vec<(&Cell, f64, f64)> = cells.iter().filter_map(|cell| parts(cell)).collect();
    let twice: Vec<&Cell> = cells.iter().copied().filter(|cell| is_twice(cell)).collect();
    if counted.is_empty() && parts.is_empty() && twice.is_empty() {
        return Looked::Needs("tokens of images");
    }
    let mut found: Vec<Finding> =
        counted.iter().filter_map(|row| alone(subject, row, &counted)).collect();
    found.extend(unlike(subject, &counted));
    found.extend(parts.iter().filter_map(|(cell, parts, whole)| more(cell, *parts, *whole)));
    found.extend(doubled(&twice));
    Looked::Found(found)
}

fn counted<'s, 'c>(cell: &'s &'s Cell<'c>) -> Option<Counted<'s, 'c>> {
    let tokens = tokens_of_a_request(cell)?;
    let each = images_of_a_request(cell).map(|images| tokens / images);
    Some(Counted { cell, tokens, each, pixels: pixels_of_an_image(cell) })
}

/// The name of the model of a row.
fn model<'s>(subject: &'s Subject, cell: &'s Cell) -> Option<&'s str> {
    cell.factors.get(key::MODEL).or_else(|| subject.model())
}

/// What is wrong with a row by itself: too few tokens, or a number that does not follow the model's
/// rule.
fn alone(subject: &Subject, row: &Counted, all: &[Counted]) -> Option<Finding> {
    let Counted { cell, tokens, each, pixels } = row;
    let (name, remedy) = (
        cell.name(),
        "use the server's count, or the difference of a prompt with and without its image",
    );
    let told = |level, text: String| {
        Finding::new(RULE.id, level, text)
            .at(cell.spot())
            .with("tokens of the images of a request", *tokens, "tokens")
            .remedy(remedy)
    };
    let each_at_most = each.unwrap_or(*tokens);
    let large = pixels.filter(|pixels| *pixels >= PIXELS_LARGE && each_at_most < TOKENS_MIN);
    if each_at_most < EACH_MIN || large.is_some() {
        let of = match large {
            Some(pixels) => {
                format!("an image of {pixels:.0} pixels takes at least {TOKENS_MIN:.0}")
            }
            None => format!("the smallest image takes {EACH_MIN:.0}"),
        };
        let text = format!(
            "{name}: images are {tokens:.1} tokens a request, and {of}: they were not counted as \
             the model reads them"
        );
        return Some(told(Level::Strong, text));
    }
    let (each, pixels, model) = ((*each)?, (*pixels)?, model(subject, cell)?);
    let rule = of_model(model)?;
    let same_model = |other: &&Counted| self::model(subject, other.cell) == Some(model);
    let most = all.iter().filter(same_model).filter_map(|other| other.each).fold(0.0, f64::max);
    rule.contradicts(pixels, each, most).then(|| {
        let text = format!(
            "{name}: an image of {pixels:.0} pixels is {each:.0} tokens, by the rule of {model} it is {}",
            rule.words(pixels)
        );
        told(Level::Strong, text).with("pixels of an image", pixels, "pixels")
    })
}

/// Rows of one model and one size whose counts do not go together.
fn unlike(subject: &Subject, all: &[Counted]) -> Option<Finding> {
    /// The row, its model, the pixels of an image and its tokens.
    type Known<'a, 's, 'c> = (&'a Counted<'s, 'c>, String, f64, f64);
    let known = |row| {
        let row: &Counted = row;
        Some((row, model(subject, row.cell)?.to_owned(), row.pixels?, row.each?))
    };
    let rows: Vec<Known> = all.iter().filter_map(known).collect();
    let pairs = rows.iter().flat_map(|low| rows.iter().map(move |high| (low, high)));
    let is_unlike = |(low, high): &(&Known, &Known)| {
        let is_same_size = (low.2 / high.2 - 1.0).abs() < BEYOND;
        low.1 == high.1 && is_same_size && high.3 > low.3 * RATIO_MAX && low.3 >= EACH_MIN
    };
    let ratio = |(low, high): &(&Known, &Known)| high.3 / low.3;
    let ((low, model, pixels, fewest), (high, _, _, most)) =
        pairs.filter(is_unlike).max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
    let text = format!(
        "images of {:.0} pixels are {:.0} tokens in {} and {:.0} in {}, for the same model ({}): one of \
         the counts is wrong",
        pixels,
        fewest,
        low.cell.name(),
        most,
        high.cell.name(),
        model
    );
    let finding = Finding::new(RULE.id, Level::Strong, text)
        .at_all([low.cell.spot(), high.cell.spot()])
        .with("fewest tokens of an image", *fewest, "tokens")
        .with("most tokens of an image", *most, "tokens")
        .remedy("use the server's count, or compare a prompt with and without its image");
    Some(finding)
}

/// Tokens by kind, with at least two kinds given, and all prompt tokens: all totals, or all per
/// request.
fn parts<'s, 'c>(cell: &'s &'s Cell<'c>) -> Option<(&'s Cell<'c>, f64, f64)> {
    if is_twice(cell) {
        return None;
    }
    let sum = |of: &dyn Fn(Metric) -> Option<f64>| {
        let told: Vec<f64> = PARTS.into_iter().filter_map(of).collect();
        (told.len() > 1).then(|| told.iter().sum::<f64>()).zip(of(Metric::InputTokens))
    };
    let totals = sum(&|quantity: Metric| cell.tokens(quantity));
    let means = || sum(&|quantity: Metric| cell.row.value(quantity, Statistic::Mean));
    totals.or_else(means).map(|(parts, whole)| (*cell, parts, whole))
}

fn more(cell: &Cell, parts: f64, whole: f64) -> Option<Finding> {
    (parts > whole * (1.0 + BEYOND)).then(|| {
        let text = format!(
            "{}: tokens of text, images, audio and videos are {parts:.0} together, and the prompts that \
             they are part of have {whole:.0}",
            cell.name()
        );
        Finding::new(RULE.id, Level::Proof, text)
            .at(cell.spot())
            .with("parts", parts, "tokens")
            .with("prompts", whole, "tokens")
    })
}

fn is_twice(cell: &Cell) -> bool {
    let twice = Definition::Different(meaning::MEDIA_TWICE.to_owned());
    cell.row.figures.iter().any(|figure| {
        WHOLE.contains(&figure.quantity) && figure.definition == twice && figure.value.is_some()
    })
}

/// Prompt tokens of a tool that counts media tokens twice, and what they are.
fn doubled(cells: &[&Cell]) -> Option<Finding> {
    let first = cells.first()?;
    let kinds = PARTS.iter().skip(1).filter_map(|quantity| first.mean_tokens(*quantity));
    let media: f64 = kinds.sum();
    let stated = first.mean_tokens(Metric::InputTokens)?;
    let text = format!(
        "{} prompt tokens of {} count image, audio and video tokens twice, such as {}: {stated:.0} a \
         request, where the server counted {:.0}",
        cells.len(),
        first.measured_by().unwrap_or("the tool"),
        first.name(),
        stated - media
    );
    let finding = Finding::new(RULE.id, Level::Strong, text)
        .at_all(cells.iter().map(|cell| cell.spot()))
        .with("prompt tokens of a request", stated, "tokens")
        .with("of media", media, "tokens")
        .remedy("subtract the media tokens from the prompt tokens and from their rates");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Row, Unit};

    const VALUE: Statistic = Statistic::Value;

    /// 100 requests of a model with this many tokens of one image each, 1280 x 720.
    fn of(model: &str, image: &str) -> Row {
        let figures = [
            (Metric::RequestsOk, VALUE, "100", Unit::Count),
            (Metric::Images, VALUE, "100", Unit::Count),
            (Metric::ImageTokens, VALUE, image, Unit::Count),
        ];
        let mut row = row(3, &figures);
        row.factors = row.factors.with(key::MODEL, model).with("image_resolution", "720p");
        row
    }

    fn told(model: &str, image: &str) -> Sheet {
        sheet(PartKind::Serving, vec![of(model, image)])
    }

    #[test]
    fn reports_too_few_tokens_for_an_image() {
        let name = || Metric::other("total_input_vision_tokens");
        let document = |tokens: &str| {
            let figures = [
                (Metric::RequestsOk, VALUE, "100", Unit::Count),
                (name(), VALUE, tokens, Unit::Count),
            ];
            sheet(PartKind::Serving, vec![row(3, &figures)])
        };
        let corrupt = |sheet: &mut Sheet| *sheet = document("200");
        check("image_tokens", &document("32600"), corrupt, Level::Strong, "2.0 tokens a request");
        let corrupt = |sheet: &mut Sheet| *sheet = told("x", "1000");
        check("image_tokens", &told("x", "120000"), corrupt, Level::Strong, "at least 16");
    }

    #[test]
    fn checks_counts_against_the_rule_of_the_model() {
        // 1280 x 720 is 46 x 26 squares of 28 pixels: 1,196.
        let corrupt = |sheet: &mut Sheet| *sheet = told("Qwen2-VL-2B", "180000");
        check("image_tokens", &told("Qwen2-VL-2B", "119600"), corrupt, Level::Strong, "28 x 28");
        let corrupt = |sheet: &mut Sheet| *sheet = told("gemma-3-4b-it", "8100");
        check(
            "image_tokens",
            &told("gemma-3-4b-it", "25600"),
            corrupt,
            Level::Strong,
            "is 81 tokens",
        );
    }

    #[test]
    fn counts_of_one_model_and_size_go_together() {
        let both = |image: &str| sheet(PartKind::Serving, vec![of("x", "120000"), of("x", image)]);
        let corrupt = |sheet: &mut Sheet| *sheet = both("30000");
        check("image_tokens", &both("119000"), corrupt, Level::Strong, "300 tokens in");
        let mut other = both("30000");
        other.parts[0].rows[1].factors.set(key::MODEL, "y");
        assert_eq!(super::super::super::testing::found("image_tokens", &[other]), []);
    }

    #[test]
    fn reports_parts_larger_than_the_whole() {
        let document = |whole: &str| {
            let figures = [
                (Metric::InputTokens, VALUE, whole, Unit::Count),
                (Metric::TextTokens, VALUE, "12000", Unit::Count),
                (Metric::ImageTokens, VALUE, "29900", Unit::Count),
            ];
            sheet(PartKind::Serving, vec![row(3, &figures)])
        };
        let corrupt = |sheet: &mut Sheet| *sheet = document("30000");
        check("image_tokens", &document("41900"), corrupt, Level::Proof, "41900 together");
    }

    #[test]
    fn reports_prompts_that_count_images_twice() {
        let document = |definition| {
            let figures = [
                (Metric::InputTokens, Statistic::Mean, "718", Unit::Count),
                (Metric::ImageTokens, Statistic::Mean, "299", Unit::Count),
            ];
            let mut sheet = sheet(PartKind::Serving, vec![row(3, &figures)]);
            sheet.parts[0].rows[0].figures[0].definition = definition;
            sheet
        };
        let twice = Definition::Different(meaning::MEDIA_TWICE.to_owned());
        let corrupt = |sheet: &mut Sheet| *sheet = document(twice);
        check("image_tokens", &document(Definition::Same), corrupt, Level::Strong, "counted 419");
    }
}
