//! SVG as files and pages want it, made from what ECharts writes.
//!
//! The drawing is read as strict XML and rewritten: ids begin with the chart's, styles become
//! attributes (a strict content policy forbids style attributes), the baseline of words is
//! computed (few programs know `dominant-baseline`), and title and description come first for
//! screen readers. The same chart gives the same bytes. What is not here: where anything lies.

use super::engine;
use crate::ChartError;
use crate::WIDTH_PX;
use crate::description::Chart;
use crate::drawing::{clean, drawing, escape, slug};
use crate::theme::{self, Theme};
use roxmltree::{Document, Node};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Widths that a drawing may have, CSS pixels.
const WIDTHS_PX: (u32, u32) = (160, 8_000);
/// The middle of a line of words lies this far above its baseline, em: half the height of Inter's
/// capitals (1490 of 2048 units).
const MIDDLE_EM: f64 = 0.364;
const SVG: &str = "http://www.w3.org/2000/svg";
/// Fonts in the order in which they are tried.
const FONTS: &str = "Inter, system-ui, Helvetica, Arial, sans-serif";

/// Draws a chart as SVG, [`WIDTH_PX`] wide and as high as it needs.
///
/// # Errors
/// [`ChartError`] if the drawing code fails; no chart is known to make it.
pub fn svg(chart: &Chart, theme: Theme) -> Result<String, ChartError> {
    svg_sized(chart, theme, WIDTH_PX, None)
}

/// Draws a chart as SVG of a width, and a height if one is given, in CSS pixels. Widths below 160
/// and above 8000 are taken for these.
///
/// # Errors
/// [`ChartError`] if the drawing code fails; no chart is known to make it.
pub fn svg_sized(
    chart: &Chart,
    theme: Theme,
    width_px: u32,
    height_px: Option<u32>,
) -> Result<String, ChartError> {
    let clamped = |value: u32| value.clamp(WIDTHS_PX.0, WIDTHS_PX.1);
    let raw = engine::draw(&drawing(chart), theme, clamped(width_px), height_px.map(clamped))?;
    rewrite(&raw, chart, theme)
}

fn rewrite(raw: &str, chart: &Chart, theme: Theme) -> Result<String, ChartError> {
    let document = Document::parse(raw).map_err(|error| ChartError::Svg(error.to_string()))?;
    let mut id = slug(&chart.id);
    // Two drawings of one chart on one page, as for a switch of axes, need different ids.
    if theme == Theme::Page {
        id.insert_str(0, "still-");
    }
    let mut writer = Writer { out: String::with_capacity(raw.len()), id, ids: HashMap::new() };
    writer.root(document.root_element(), chart);
    Ok(writer.out)
}

struct Writer {
    out: String,
    /// Prefix of all ids.
    id: String,
    /// New names of ids, in the order in which they appear.
    ids: HashMap<String, usize>,
}

impl Writer {
    fn root(&mut self, root: Node<'_, '_>, chart: &Chart) {
        let size = |name| root.attribute(name).and_then(|v: &str| v.parse::<f64>().ok());
        let (width, height) = (size("width").unwrap_or(0.0), size("height").unwrap_or(0.0));
        let id = self.id.clone();
        let title = match chart.subject.as_str() {
            "" => chart.title.clone(),
            subject => format!("{} {subject}", chart.title),
        };
        let _ = write!(
            self.out,
            "<svg xmlns=\"{SVG}\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-labelledby=\"{id}-title {id}-desc\" font-family=\"{FONTS}\">\n\
             <title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-desc\">{}</desc>\n",
            escape(&clean(&title)),
            escape(&clean(&chart.description)),
        );
        for child in root.children() {
            self.node(child);
        }
        self.out.push_str("</svg>\n");
    }

    fn node(&mut self, node: Node<'_, '_>) {
        if node.is_text() {
            let text = node.text().unwrap_or_default();
            if !text.trim().is_empty() {
                self.out.push_str(&escape(text));
            }
            return;
        }
        let name = node.tag_name().name();
        if !node.is_element() || matches!(name, "style" | "script" | "metadata") {
            return;
        }
        let start = self.out.len();
        let _ = write!(self.out, "<{name}");
        self.attributes(node);
        if node.has_children() {
            self.out.push('>');
            let inner = self.out.len();
            for child in node.children() {
                self.node(child);
            }
            if self.out.len() == inner && matches!(name, "g" | "defs") {
                self.out.truncate(start);
                return;
            }
            let _ = write!(self.out, "</{name}>");
        } else if matches!(name, "g" | "defs") {
            self.out.truncate(start);
            return;
        } else {
            self.out.push_str("/>");
        }
        if name != "tspan" {
            self.out.push('\n');
        }
    }

    fn attributes(&mut self, node: Node<'_, '_>) {
        let size = font_size(node);
        let is_clip =
            node.parent_element().is_some_and(|parent| parent.has_tag_name((SVG, "clipPath")));
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            match name {
                "style" => self.style(value),
                "id" => {
                    let id = self.renamed(value);
                    let _ = write!(self.out, " id=\"{id}\"");
                }
                "y" if is_middle(node) => {
                    let y = value.parse::<f64>().unwrap_or(0.0) + size * MIDDLE_EM;
                    let _ = write!(self.out, " y=\"{}\"", (y * 100.0).round() / 100.0);
                }
                "dominant-baseline" | "class" | "space" | "pointer-events" => {}
                // A clip has no colour, and these are what is meant anyway.
                "fill" if is_clip => {}
                "text-anchor" if value == "start" => {}
                _ if name.starts_with("ecmeta") || name.starts_with("data-") => {}
                _ => self.attribute(name, value),
            }
        }
        if is_middle(node) && node.attribute("y").is_none() {
            let _ = write!(self.out, " y=\"{}\"", (size * MIDDLE_EM * 100.0).round() / 100.0);
        }
    }

    /// A style as attributes.
    fn style(&mut self, style: &str) {
        for (name, value) in style.split(';').filter_map(|part| part.split_once(':')) {
            let (name, value) = (name.trim(), value.trim());
            let is_usual = match name {
                "font-family" => true,
                "font-weight" => value == "400" || value == "normal",
                _ => false,
            };
            if !is_usual {
                self.attribute(name, value);
            }
        }
    }

    fn attribute(&mut self, name: &str, value: &str) {
        let value = if let Some(id) = value.strip_prefix("url(#").and_then(|v| v.strip_suffix(')'))
        {
            format!("url(#{})", self.renamed(id))
        } else if let Some(id) = value.strip_prefix('#').filter(|_| name == "href") {
            format!("#{}", self.renamed(id))
        } else {
            theme::variable(value).unwrap_or_else(|| escape(value))
        };
        let _ = write!(self.out, " {name}=\"{value}\"");
    }

    fn renamed(&mut self, id: &str) -> String {
        let next = self.ids.len();
        let number = *self.ids.entry(id.to_owned()).or_insert(next);
        format!("{}-{number}", self.id)
    }
}

/// Whether the y of words is the middle of their height.
fn is_middle(node: Node<'_, '_>) -> bool {
    node.attribute("dominant-baseline") == Some("central")
}

/// Size of the words of an element, px.
fn font_size(node: Node<'_, '_>) -> f64 {
    let style = node.attribute("style").unwrap_or_default();
    let size = style.split(';').find_map(|part| part.trim().strip_prefix("font-size:"));
    size.and_then(|size| size.trim().trim_end_matches("px").parse().ok()).unwrap_or(12.0)
}
