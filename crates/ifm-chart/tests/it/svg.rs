//! The still picture: strict, self-contained, the same every time.

use crate::sample;
use ifm_chart::{Chart, Theme, svg, svg_sized};
use roxmltree::{Document, Node};
use std::collections::HashSet;

const THEMES: [Theme; 3] = [Theme::Light, Theme::Dark, Theme::Page];

fn charts() -> Vec<Chart> {
    sample::all().into_iter().chain(sample::hostile()).collect()
}

#[test]
fn every_chart_is_strict_xml_that_names_itself_and_needs_nothing_else() {
    for chart in charts() {
        for theme in THEMES {
            let text = svg(&chart, theme).unwrap();
            let document = Document::parse(&text).unwrap_or_else(|error| {
                panic!("{} {theme:?}: {error}", chart.id);
            });
            let root = document.root_element();
            assert_eq!(root.attribute("role"), Some("img"));
            let child = |name| root.children().find(|node: &Node<'_, '_>| node.has_tag_name(name));
            let svg_name = |name: &'static str| ("http://www.w3.org/2000/svg", name);
            assert!(child(svg_name("title")).is_some() && child(svg_name("desc")).is_some());
            check_nodes(&chart, theme, &document);
        }
    }
}

fn check_nodes(chart: &Chart, theme: Theme, document: &Document<'_>) {
    let mut ids = HashSet::new();
    let mut references = HashSet::new();
    for node in document.descendants().filter(Node::is_element) {
        let name = node.tag_name().name();
        assert!(!matches!(name, "script" | "style" | "image" | "foreignObject"), "{name}");
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(name != "style" && !name.starts_with("on"), "{name}");
            assert!(!value.contains("NaN") && !value.contains("Infinity"), "{}: {value}", chart.id);
            assert!(!value.contains("#fe01"), "a placeholder color is left: {value}");
            if name == "id" {
                assert!(ids.insert(value.to_owned()), "{value} twice");
            }
            if let Some(id) = value.strip_prefix("url(#") {
                references.insert(id.trim_end_matches(')').to_owned());
            }
            let is_colour = matches!(name, "fill" | "stroke") && value != "none";
            let is_variable = value.starts_with("var(--chart-");
            if is_colour && theme == Theme::Page && value != "transparent" {
                assert!(is_variable, "{}: {name} is {value}", chart.id);
            } else {
                assert!(!is_variable || theme == Theme::Page);
            }
        }
    }
    assert!(references.is_subset(&ids), "{references:?} {ids:?}");
}

#[test]
fn the_same_chart_gives_the_same_bytes_whatever_was_drawn_before() {
    let first: Vec<String> =
        charts().iter().map(|chart| svg(chart, Theme::Page).unwrap()).collect();
    let backwards: Vec<String> =
        charts().iter().rev().map(|chart| svg(chart, Theme::Page).unwrap()).collect();
    assert!(first.iter().eq(backwards.iter().rev()));
    let elsewhere = std::thread::spawn(|| svg(&sample::pareto(), Theme::Page).unwrap());
    assert_eq!(elsewhere.join().unwrap(), svg(&sample::pareto(), Theme::Page).unwrap());
}

#[test]
fn a_small_chart_as_it_was() {
    let mut chart = sample::served();
    let ifm_chart::Plot::Cartesian(plot) = &mut chart.plot else { panic!("not cartesian") };
    plot.series.truncate(1);
    plot.guides.clear();
    insta::assert_snapshot!(svg_sized(&chart, Theme::Page, 320, Some(200)).unwrap());
}

#[test]
fn sizes_are_kept_within_bounds() {
    for (asked, width) in [(0, 160), (320, 320), (1_000_000, 8_000)] {
        let text = svg_sized(&sample::heatmap(), Theme::Light, asked, None).unwrap();
        let document = Document::parse(&text).unwrap();
        let found = document.root_element().attribute("width").unwrap();
        assert_eq!(found, width.to_string());
    }
}

#[test]
fn what_a_name_says_stays_a_name() {
    let text = svg(&sample::hostile()[6], Theme::Page).unwrap();
    assert!(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(text.contains("נ") || text.contains("מודל"));
}

/// A drawing has the short names, its data and its table the names in full.
#[test]
fn short_names_are_drawn_and_full_ones_are_told() {
    let full = "Llama-3.1-8B-Instruct-quantized.w8a8";
    let mut line = sample::decode_speed();
    let mut rows = sample::dumbbell();
    let mut cells = sample::heatmap();
    for chart in [&mut line, &mut rows, &mut cells] {
        match &mut chart.plot {
            ifm_chart::Plot::Cartesian(plot) => {
                plot.series[0].name = full.to_owned();
                plot.series[0].short = Some("w8a8".to_owned());
                if let ifm_chart::Scale::Category(names) = &mut plot.x.scale {
                    plot.x.short_names = names.iter().map(|name| name.replace("70B", "")).collect();
                    plot.x.short_names[0] = "first".to_owned();
                    names[0] = full.to_owned();
                }
            }
            ifm_chart::Plot::Heatmap(plot) => {
                plot.columns[0].name = full.to_owned();
                plot.columns[0].short = Some("w8a8".to_owned());
            }
            ifm_chart::Plot::Mask(_) => panic!("has no names"),
        }
    }
    for (chart, drawn) in [(&line, "w8a8"), (&rows, "first"), (&cells, "w8a8")] {
        let still = svg(chart, Theme::Light).unwrap();
        assert!(still.contains(&format!(">{drawn}<")) && !still.contains("quantized"), "{drawn}");
        assert!(ifm_chart::figure(chart).unwrap().contains(full), "told to the live chart");
        assert!(ifm_chart::csv(chart).contains(full));
    }
}

#[test]
fn long_names_are_written_whole_where_there_is_room_for_two_lines() {
    let mut chart = sample::decode_speed();
    let ifm_chart::Plot::Cartesian(plot) = &mut chart.plot else { panic!("not cartesian") };
    plot.series[0].name = "Llama-3.1-8B-Instruct-quantized.w8a8".to_owned();
    let still = svg(&chart, Theme::Light).unwrap();
    assert!(still.contains("w8a8<") && !still.contains('…'), "{still}");
}
