//! What a row says about images: how many a request carries, how large one is, how many tokens it
//! became.
//!
//! Several rules ask for it. Not here: what may be wrong with it (`rule`).

use super::subject::Cell;
use ifm_core::Metric;
use ifm_core::sheet::{Statistic, key};

/// Names of tokens of images that no reader knows.
const TOKENS: [&str; 3] = ["vision tokens", "image tokens", "multimodal tokens"];
/// Width and height of a picture by its name or number of lines.
const LINES: [(&str, f64, f64); 7] = [
    ("240p", 426.0, 240.0),
    ("360p", 640.0, 360.0),
    ("480p", 854.0, 480.0),
    ("720p", 1280.0, 720.0),
    ("1080p", 1920.0, 1080.0),
    ("1440p", 2560.0, 1440.0),
    ("4k", 3840.0, 2160.0),
];
/// The least and the most that is taken for a side, pixels.
const SIDES: std::ops::RangeInclusive<f64> = 16.0..=20_000.0;

/// Images in a request, as counted or as set.
pub(super) fn images_of_a_request(cell: &Cell) -> Option<f64> {
    let counted = cell.mean_tokens(Metric::Images);
    let is_number = |name: &str| {
        let name = name.to_lowercase().replace(['_', '-'], " ");
        name.contains("image")
            && ["count", "per request", "number"].iter().any(|it| name.contains(it))
    };
    let set = || cell.factors.iter().find(|(name, _)| is_number(name))?.1.trim().parse().ok();
    counted.or_else(set).filter(|images| *images > 0.0)
}

/// Tokens of the images of a request: as a figure, or as a number of that name.
pub(super) fn tokens_of_a_request(cell: &Cell) -> Option<f64> {
    let of_figure = cell.mean_tokens(Metric::ImageTokens);
    let named = || {
        let others = cell.others();
        let is_of_it = |name: &str| TOKENS.iter().any(|token| name.contains(token));
        let other = others.iter().find(|other| is_of_it(&other.name) && !other.is_share)?;
        let is_sum = other.name.contains("total") && !other.name.contains("mean");
        let requests = if is_sum { cell.tokens(Metric::RequestsOk)? } else { 1.0 };
        Some(other.value / requests.max(1.0))
    };
    of_figure.or_else(named).filter(|tokens| *tokens > 0.0)
}

/// Pixels of one image: as counted, or by the one size that the row is named or set by.
pub(super) fn pixels_of_an_image(cell: &Cell) -> Option<f64> {
    let counted = cell.mean_tokens(Metric::Pixels).zip(images_of_a_request(cell));
    let counted = counted.map(|(pixels, images)| pixels / images).filter(|pixels| *pixels > 0.0);
    counted.or_else(|| match sizes(cell).as_slice() {
        [(width, height)] => Some(width * height),
        _ => None,
    })
}

/// Whether anything says how large the images are.
pub(super) fn has_size(cell: &Cell) -> bool {
    let told = [Metric::Pixels, Metric::PixelRate];
    told.iter().any(|quantity| cell.central(*quantity).is_some())
        || cell.row.value(Metric::Pixels, Statistic::Sum).is_some()
        || !sizes(cell).is_empty()
        || texts(cell).any(|text| text.to_lowercase().contains("pixel"))
}

/// Texts that name a row or say what was set.
fn texts<'c>(cell: &'c Cell) -> impl Iterator<Item = &'c str> {
    let headings = cell.part.headings.iter().map(String::as_str);
    let own = cell.row.label.as_deref().into_iter().chain(cell.row.text.as_deref());
    let is_of_images = |name: &str| {
        let name = name.to_lowercase();
        name == key::WORKLOAD
            || ["image", "picture", "resolution", "dataset"].iter().any(|it| name.contains(it))
    };
    let set = cell.factors.iter().filter(move |(name, _)| is_of_images(name));
    headings.chain(own).chain(set.map(|(_, value)| value))
}

/// The different sizes that these texts tell: `640x360`, `720p`, `4k`.
fn sizes(cell: &Cell) -> Vec<(f64, f64)> {
    let mut found: Vec<(f64, f64)> = Vec::new();
    for text in texts(cell) {
        let text = text.to_lowercase().replace('×', "x");
        for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
            let lines = LINES.iter().find(|(name, ..)| *name == word);
            let size = lines.map(|(_, width, height)| (*width, *height)).or_else(|| sides(word));
            found.extend(size.filter(|size| !found.contains(size)));
        }
    }
    found
}

/// `640x360`, optionally followed by frames: `640x360x16`.
fn sides(word: &str) -> Option<(f64, f64)> {
    let mut parts = word.split('x').map(|part| part.parse::<f64>().ok());
    let (width, height) = (parts.next()??, parts.next()??);
    (SIDES.contains(&width) && SIDES.contains(&height)).then_some((width, height))
}

#[cfg(test)]
mod tests {
    use super::super::Subject;
    use super::super::testing::{row, sheet};
    use super::*;
    use ifm_core::sheet::{Factors, PartKind, RowRole, Unit};

    fn sizes_of(factors: Factors) -> Vec<(f64, f64)> {
        let mut row = row(3, &[(Metric::ImageRate, Statistic::Value, "4", Unit::PerS)]);
        row.factors = factors;
        let sheets = [sheet(PartKind::Serving, vec![row])];
        let subject = Subject::new(&sheets);
        subject.cells(RowRole::Measured).flat_map(sizes).collect()
    }

    #[test]
    fn sizes_are_read_where_images_are_spoken_of() {
        let of = |name: &str, value: &str| sizes_of(Factors::default().with(name, value));
        assert_eq!(of("image_resolution", "1080p"), [(1920.0, 1080.0)]);
        assert_eq!(of(key::WORKLOAD, "512/128?image=640x360"), [(640.0, 360.0)]);
        assert_eq!(of("image sizes", "640 × 360, 720p").len(), 1, "a sign apart is no size");
        assert_eq!(of("image sizes", "640×360, 720p, 720p").len(), 2);
        assert_eq!(of("tensor_parallel", "8x16"), []);
        assert_eq!(of(key::WORKLOAD, "8x1024/128"), [], "batches are no sizes");
    }
}
