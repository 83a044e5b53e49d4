//! Charts on a page: the still picture, the live chart that takes its place, and what both need.
//!
//! Without JavaScript, in print, and while it loads, a reader sees the SVG. Where scripts run, the
//! same drawing becomes a live chart: figures under the pointer or the arrow keys, labels set for
//! the width at hand, light and dark as the reader changes them. All of it works under a content
//! policy that allows one script and one style sheet by their hashes and nothing else.
//! What is not here: captions, findings and tables around a chart.

use crate::ChartError;
use crate::description::{Cartesian, Chart, Plot, Scale};
use crate::drawing::{DRAWING, drawing, escape, slug};
use crate::packed::LIBRARY;
use crate::still::svg;
use crate::theme::{Theme, palette, variables};
use std::fmt::Write as _;
use std::sync::LazyLock;

/// The placeholder of a chart until the page draws it, where the program draws none itself.
const UNDRAWN: &str = "<p>The chart appears here if scripts may run; its numbers are below.</p>";

static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let (library, live) = (LIBRARY.as_str(), include_str!("../assets/page/live.js"));
    format!(
        "(() => {{\n{library}\n{DRAWING}\nconst THEMES = {{ light: {}, dark: {} }};\n{live}}})();\n",
        palette(Theme::Light),
        palette(Theme::Dark),
    )
});

static CSS: LazyLock<String> =
    LazyLock::new(|| variables() + include_str!("../assets/page/chart.css"));

/// The script of a page with charts: once, before `</body>`. It needs no other and starts itself.
pub fn script() -> &'static str {
    &SCRIPT
}

/// The style sheet of a page with charts: the colours as variables, light and dark, and the places
/// of still and live charts. The font is left to the page ([`crate::font_woff2`]).
pub fn css() -> &'static str {
    &CSS
}

/// The markup of a chart for a page: everything inside `<figure>` but caption, findings and table.
/// It begins with a switch where the values may be read on two axes.
///
/// # Errors
/// [`ChartError`] if the drawing code fails; no chart is known to make it.
pub fn figure(chart: &Chart) -> Result<String, ChartError> {
    let views = views(chart);
    let mut html = String::new();
    if views.len() > 1 {
        let group = slug(&chart.id);
        for (index, (name, view)) in views.iter().enumerate() {
            let id = slug(&view.id);
            let checked = if index == 0 { " checked" } else { "" };
            let _ = write!(
                html,
                "<input class=\"chart-pick chart-pick-{index}\" type=\"radio\" \
                 name=\"{group}-axis\" id=\"{id}-pick\"{checked}><label for=\"{id}-pick\">{name}\
                 </label>"
            );
        }
    }
    for (index, (_, view)) in views.iter().enumerate() {
        let (still, only_live) = match svg(view, Theme::Page) {
            Ok(still) => (still, ""),
            Err(ChartError::NotBuilt) => (UNDRAWN.to_owned(), " chart-only-live"),
            Err(error) => return Err(error),
        };
        let class = if views.len() > 1 { format!(" chart-view-{index}") } else { String::new() };
        let _ = write!(
            html,
            "<div class=\"chart{class}{only_live}\" data-chart=\"{id}\"><div class=\"chart-still\" tabindex=\"0\">{still}\
             </div><script type=\"application/json\">{data}</script></div>",
            id = escape(&slug(&view.id)),
            data = embedded(&drawing(view)),
        );
    }
    Ok(html)
}

/// The views of a chart, its preferred one first.
fn views(chart: &Chart) -> Vec<(&'static str, Chart)> {
    let Plot::Cartesian(plot) = &chart.plot else { return vec![("", chart.clone())] };
    let is_logarithmic = match plot.y.scale {
        Scale::Linear { .. } => false,
        Scale::Log10 => true,
        Scale::Log2 | Scale::Category(_) => return vec![("", chart.clone())],
    };
    if !plot.has_switch || !has_logarithms(plot) {
        return vec![("", chart.clone())];
    }
    let other = if is_logarithmic { Scale::Linear { from_zero: true } } else { Scale::Log10 };
    let y = crate::Axis { scale: other, range: None, ..plot.y.clone() };
    let turned = Chart {
        id: format!("{}-other", slug(&chart.id)),
        plot: Plot::Cartesian(Cartesian { y, ..plot.clone() }),
        ..chart.clone()
    };
    let (own, others) = if is_logarithmic { ("log", "linear") } else { ("linear", "log") };
    vec![(own, chart.clone()), (others, turned)]
}

/// Whether all values have a logarithm, and at least two differ.
fn has_logarithms(plot: &Cartesian) -> bool {
    let mut values = plot
        .series
        .iter()
        .flat_map(|series| &series.points)
        .flat_map(|point| [point.y, point.low, point.high])
        .flatten();
    let first = values.clone().next();
    values.clone().all(|value| value > 0.0) && values.any(|value| Some(value) != first)
}

/// JSON that cannot end its enclosing element.
fn embedded(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}
