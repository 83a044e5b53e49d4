//! A rate of images says how large they are, and is of a run.
//!
//! An image of 4k costs a model about forty times what one of 360p does. AIPerf's image throughput is of
//! one request: the images of a run come faster by the number of requests in flight.

use super::super::images::{has_size, images_of_a_request};
use super::super::{Cell, Finding, Level, Looked, Rule, Spot, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{RowRole, meaning};

pub(super) const RULE: Rule = Rule {
    id: "image_rate",
    title: "image rates are of a run, and the image size is stated",
    look,
};

/// Names of rates of images that no reader knows.
const NAMES: [&str; 4] = ["images/s", "images per s", "image throughput", "image rate"];
/// Reported from this factor on: the rate of one request below the rate of the run.
const TIMES_MIN: f64 = 1.2;

fn look(subject: &Subject) -> Looked {
    let roles = [RowRole::Measured, RowRole::Summary, RowRole::Stated];
    let (mut seen, mut found, mut unsized_rows) = (0, Vec::new(), Vec::new());
    for cell in roles.into_iter().flat_map(|role| subject.cells(role)) {
        if let Some(of_request) = of_a_request(cell) {
            seen += 1;
            found.extend(below_the_run(cell, of_request));
        } else if let Some((rate, spot)) = rate(cell) {
            seen += 1;
            unsized_rows.extend((!has_size(cell)).then_some((cell, rate, spot)));
        }
    }
    if seen == 0 {
        return Looked::Needs("images per second");
    }
    found.extend(without_sizes(&unsized_rows));
    Looked::Found(found)
}

/// Images per second of a run, and where the figure is.
fn rate(cell: &Cell) -> Option<(f64, Spot)> {
    let figure = cell.central(Metric::ImageRate);
    let known = figure.and_then(|figure| Some((figure.canonical()?, cell.spot_of_figure(figure))));
    let named = || {
        let others = cell.others();
        let other = others.iter().find(|it| NAMES.iter().any(|name| it.name.contains(name)))?;
        Some((other.value, other.spot.clone()))
    };
    known.or_else(named).filter(|(rate, _)| *rate > 0.0)
}

/// AIPerf's rate of one request.
fn of_a_request(cell: &Cell) -> Option<f64> {
    let rate = cell.central(Metric::other(meaning::IMAGES_OF_A_REQUEST))?;
    rate.canonical().filter(|rate| *rate > 0.0 && cell.measured_by() == Some("aiperf"))
}

fn below_the_run(cell: &Cell, of_request: f64) -> Option<Finding> {
    let requests = cell.central(Metric::RequestRate)?.canonical()?;
    let of_run = requests * images_of_a_request(cell)?;
    (of_run > of_request * TIMES_MIN).then(|| {
        let text = format!(
            "{}: the image throughput of {of_request:.2} images/s is of one request, its images over its \
             time: the run had {of_run:.2} images/s, requests per second times the images of a request",
            cell.name()
        );
        Finding::new(RULE.id, Level::Hint, text)
            .at(cell.spot())
            .with("of one request", of_request, "images/s")
            .with("of the run", of_run, "images/s")
            .remedy("state the rate of the run")
    })
}

fn without_sizes(rows: &[(&Cell, f64, Spot)]) -> Option<Finding> {
    let (cell, rate, _) = rows.first()?;
    let text = format!(
        "{} {} of images does not say how large they are, such as {}: {rate:.2} images/s",
        rows.len(),
        if rows.len() == 1 { "rate" } else { "rates" },
        cell.name()
    );
    let text = if rows.len() == 1 { text } else { text.replace(" does not say", " do not say") };
    let finding = Finding::new(RULE.id, Level::Hint, text)
        .at_all(rows.iter().map(|(_, _, spot)| spot.clone()))
        .with("images per second", *rate, "images/s")
        .remedy("state the width and height of the images, or also state megapixels per second");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Statistic, Unit};

    #[test]
    fn reports_a_rate_without_a_size() {
        let document = |size: &str| {
            let mut row = row(3, &[(Metric::ImageRate, Statistic::Value, "12.5", Unit::PerS)]);
            row.factors = row.factors.with("image_resolution", size);
            sheet(PartKind::Serving, vec![row])
        };
        let corrupt = |sheet: &mut Sheet| *sheet = document("mixed");
        check("image_rate", &document("720p"), corrupt, Level::Hint, "12.50 images/s");
        let with_pixels = |pixels: &str| {
            let name = Metric::other("images/s");
            let mut figures = vec![(name, Statistic::Value, "12.5", Unit::PerS)];
            if !pixels.is_empty() {
                figures.push((Metric::PixelRate, Statistic::Value, pixels, Unit::PerS));
            }
            sheet(PartKind::Serving, vec![row(3, &figures)])
        };
        let corrupt = |sheet: &mut Sheet| *sheet = with_pixels("");
        check("image_rate", &with_pixels("11520000"), corrupt, Level::Hint, "how large they are");
    }

    #[test]
    fn reports_a_rate_of_one_request_with_that_of_the_run() {
        // 6 requests/s with 2 images each: 12 images/s, whatever one request had.
        let document = |of_request: &str| {
            let name = Metric::other(meaning::IMAGES_OF_A_REQUEST);
            let figures = [
                (Metric::RequestRate, Statistic::Value, "6.0", Unit::PerS),
                (Metric::Images, Statistic::Mean, "2.0", Unit::Count),
                (name, Statistic::Mean, of_request, Unit::PerS),
            ];
            let mut sheet = sheet(PartKind::Serving, vec![row(3, &figures)]);
            sheet.source.tool = Some("aiperf".to_owned());
            sheet
        };
        let corrupt = |sheet: &mut Sheet| *sheet = document("4.0");
        check("image_rate", &document("11.8"), corrupt, Level::Hint, "had 12.00 images/s");
    }
}
