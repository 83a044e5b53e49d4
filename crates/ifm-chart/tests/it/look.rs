//! The picture: colours where they belong, words that do not run into each other.

use crate::sample;
use ifm_chart::{Chart, Theme, font_bold_ttf, font_ttf, png, svg};
use resvg::tiny_skia::Pixmap;
use roxmltree::{Document, Node};

/// A word's box in pixels: left, top, right, bottom, and the word.
type Word = (f64, f64, f64, f64, String);

fn number(node: Node<'_, '_>, name: &str) -> Option<f64> {
    node.attribute(name)?.parse().ok()
}

/// Boxes of all upright words, by the widths of the bundled font.
fn words(text: &str) -> Vec<Word> {
    let regular = ttf_parser::Face::parse(font_ttf(), 0).unwrap();
    let bold = ttf_parser::Face::parse(font_bold_ttf(), 0).unwrap();
    let document = Document::parse(text).unwrap();
    let word = |node: Node<'_, '_>| {
        let transform = node.attribute("transform").unwrap_or_default();
        if transform.contains("rotate") || transform.contains("matrix") {
            return None;
        }
        let shift: Vec<f64> = transform
            .trim_start_matches("translate(")
            .trim_end_matches(')')
            .split([' ', ','])
            .filter_map(|part| part.parse().ok())
            .collect();
        let size: f64 = node.attribute("font-size")?.trim_end_matches("px").parse().ok()?;
        let face = if node.attribute("font-weight") == Some("600") { &bold } else { &regular };
        let words = node.text()?;
        let units: f64 = words
            .chars()
            .filter_map(|letter| face.glyph_hor_advance(face.glyph_index(letter)?))
            .map(f64::from)
            .sum();
        let width = units / f64::from(face.units_per_em()) * size;
        let x = number(node, "x").unwrap_or(0.0) + shift.first().unwrap_or(&0.0);
        let left = match node.attribute("text-anchor") {
            Some("end") => x - width,
            Some("middle") => x - width / 2.0,
            _ => x,
        };
        let baseline = number(node, "y").unwrap_or(0.0) + shift.get(1).unwrap_or(&0.0);
        // From the height of capitals to the baseline: what the eye takes for the word.
        Some((left, baseline - 0.73 * size, left + width, baseline, words.to_owned()))
    };
    document
        .descendants()
        .filter(|node| node.tag_name().name() == "text")
        .filter_map(word)
        .collect()
}

fn overlaps(a: &Word, b: &Word) -> bool {
    a.0 < b.2 && b.0 < a.2 && a.1 < b.3 && b.1 < a.3
}

fn check_words(chart: &Chart, theme: Theme) {
    let text = svg(chart, theme).unwrap();
    let document = Document::parse(&text).unwrap();
    let size = |name| document.root_element().attribute(name).unwrap().parse::<f64>().unwrap();
    let (width, height) = (size("width"), size("height"));
    let words = words(&text);
    for (index, word) in words.iter().enumerate() {
        for other in &words[index + 1..] {
            assert!(!overlaps(word, other), "{}: {word:?} {other:?}", chart.id);
        }
        let is_inside =
            word.0 >= -0.5 && word.1 >= 0.0 && word.2 <= width + 0.5 && word.3 <= height;
        assert!(is_inside, "{}: {word:?} leaves {width} × {height}", chart.id);
    }
}

#[test]
fn words_neither_touch_nor_leave_the_picture() {
    for chart in sample::all() {
        check_words(&chart, Theme::Light);
        check_words(&chart, Theme::Page);
    }
    // Equal ends, fifty ends, long names.
    for chart in sample::hostile().iter().take(6) {
        check_words(chart, Theme::Light);
    }
}

#[test]
fn the_boxes_see_an_overlap() {
    let a = (0.0, 0.0, 10.0, 10.0, String::new());
    assert!(overlaps(&a, &(9.0, 9.0, 20.0, 20.0, String::new())));
    assert!(!overlaps(&a, &(10.0, 0.0, 20.0, 10.0, String::new())));
    assert!(words(&svg(&sample::itl(), Theme::Light).unwrap()).len() > 20);
}

#[test]
fn a_picture_has_the_colours_of_its_lines() {
    for (theme, background, blue) in [
        (Theme::Light, [255, 255, 255], [0, 105, 180]),
        (Theme::Dark, [21, 24, 29], [77, 166, 232]),
    ] {
        let picture =
            Pixmap::decode_png(&png(&sample::decode_speed(), theme, 2.0).unwrap()).unwrap();
        let of = |pixel: &resvg::tiny_skia::PremultipliedColorU8| {
            [pixel.red(), pixel.green(), pixel.blue()]
        };
        assert_eq!(picture.width(), 2 * ifm_chart::WIDTH_PX);
        assert_eq!(of(&picture.pixel(0, 0).unwrap()), background);
        let count = picture.pixels().iter().filter(|pixel| of(pixel) == blue).count();
        assert!(count > 500, "{theme:?}: {count} pixels of the first line");
    }
}
