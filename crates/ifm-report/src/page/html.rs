//! A page as one HTML file: no network, light and dark, screen, phone and paper.
//!
//! The file may load nothing: its content security policy names its own style sheet and script by
//! hash. Everything that came from a server or a user is escaped by the template engine. Each
//! chart is in the page as a picture; where scripts run the same chart becomes interactive.

use super::{Block, Cell, Check, Figure, Page, Remark, Section, Table, Tile, Trust, sign};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ifm_chart::{Chart, Theme};
use ifm_rules::insight::Tone;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// Colours first, then the page.
static STYLE: LazyLock<String> = LazyLock::new(|| {
    let face = |weight: u32, font: &[u8]| {
        format!(
            "@font-face{{font-family:Inter;font-weight:{weight};font-display:swap;src:url(data:font/woff2;base64,{}) format('woff2')}}\n",
            BASE64.encode(font)
        )
    };
    let fonts = face(400, ifm_chart::font_woff2()) + &face(600, ifm_chart::font_bold_woff2());
    fonts + ifm_chart::css() + include_str!("style.css")
});
/// Digits of a number of a chart that are shown.
const READ_DIGITS: i32 = 5;
/// Width of a bar inside a cell, pixels.
const BAR_WIDTH: f64 = 56.0;
/// Columns from which on a table is set narrower, so that its last one is seen on a small window.
const WIDE_COLUMNS: usize = 11;

/// The whole page.
pub fn html(page: &Page) -> String {
    let page = page.clone().with_unique_ids();
    let has_charts = !page.charts().is_empty();
    let hash = |text: &str| BASE64.encode(Sha256::digest(text.as_bytes()));
    let scripts = match has_charts {
        true => format!("script-src 'sha256-{}'; ", hash(ifm_chart::script())),
        false => String::new(),
    };
    let images = match page.has_sheet() {
        true => "img-src data:; ",
        false => "",
    };
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; {scripts}{images}font-src data:; base-uri 'none'; \
         form-action 'none'",
        hash(&STYLE)
    );
    let whole = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (page.title) " – inferometer" }
                style { (PreEscaped(STYLE.as_str())) }
            }
            body {
                (head(&page))
                main {
                    (tiles(&page.tiles))
                    @if !page.remarks.is_empty() {
                        section aria-labelledby="in-short" {
                            h2 id="in-short" { "In short" }
                            (remarks(&page.remarks))
                        }
                    }
                    @if let Some(checks) = &page.trust { (trust(checks)) }
                    @if let Some(notes) = &page.notes { (super::notes::html(notes)) }
                    @for section in &page.sections { (chapter(section)) }
                }
                footer { (page.footer.join(" · ")) }
                @if has_charts { script { (PreEscaped(ifm_chart::script())) } }
            }
        }
    };
    whole.into_string()
}

fn head(page: &Page) -> Markup {
    html! {
        header {
            h1 { (page.title) }
            @if !page.facts.is_empty() { p class="what" { (page.facts.join(" · ")) } }
            @if !page.conditions.is_empty() {
                p class="conditions" { (page.conditions.join(" · ")) }
            }
            @if let Some(lead) = &page.lead { p class="lead" { (joined(lead)) } }
            @for banner in &page.banners { p class="banner" { strong { (banner) } } }
        }
    }
}

fn tiles(tiles: &[Tile]) -> Markup {
    html! {
        @if !tiles.is_empty() {
            section aria-labelledby="answers" {
                h2 id="answers" { "Answers" }
                div class="tiles" {
                    @for tile in tiles {
                        div class={ "tile " (tile.tone.map_or("plain", Tone::word)) } {
                            h3 { (tile.question) }
                            @if let Some(who) = &tile.who { p class="who" { (who) } }
                            (big(tile))
                            @if let Some(why) = tile.why_not() { p class="why" { (why) } }
                            p class="detail" { (joined(&tile.detail)) }
                        }
                    }
                }
            }
        }
    }
}

/// The number of a tile; a long one in smaller letters, one that is not valid struck out.
fn big(tile: &Tile) -> Markup {
    const LONG: usize = 9;
    let is_long = tile.value.chars().count() > LONG;
    let value = html! { (joined(&tile.value)) " " small { (tile.unit) } };
    html! {
        p class={ "big" @if is_long { " long" } } {
            @if tile.not_valid.is_some() { s { (value) } } @else { (value) }
        }
    }
}

/// Words in which no line ends between a number and its unit, or its sign.
fn joined(text: &str) -> String {
    const UNITS: [&str; 16] = [
        "ms", "s", "%", "tok/s", "req/s", "users", "user", "W", "J", "GB", "GiB", "TFLOPS", "✓",
        "⚠", "✗", "·",
    ];
    let mut joined = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(space) = rest.find(' ') {
        let (before, behind) = (&rest[..space], &rest[space + 1..]);
        let unit = behind.split([' ', ',', ';', ')', ':', '.']).next().unwrap_or_default();
        let is_unit = before.ends_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&unit);
        joined.push_str(before);
        joined.push(if is_unit { '\u{A0}' } else { ' ' });
        rest = behind;
    }
    joined + rest
}

fn remarks(remarks: &[Remark]) -> Markup {
    html! {
        ul class="remarks" {
            @for remark in remarks {
                li class=(remark.tone.word()) {
                    span class="sign" title=(remark.tone.word()) { (sign(remark.tone)) } " "
                    (joined(&remark.text))
                }
            }
        }
    }
}

/// The checks as one strip: everything invalid is spelled out, of cautions as many as fit, and the
/// rest is folded.
fn trust(trust: &Trust) -> Markup {
    const CAUTIONS_MAX: usize = 3;
    let (bad, cautions): (Vec<_>, Vec<_>) =
        trust.loud.iter().partition(|(tone, _)| *tone == Tone::Bad);
    let few = cautions.len() <= CAUTIONS_MAX;
    html! {
        section class={ "strip " (trust.worst().map_or("plain", Tone::word)) } aria-labelledby="checks" {
            div class="trust" { h2 id="checks" { "Checks" } " " span { (joined(&trust.line)) } }
            (loud(&bad))
            @if few { (loud(&cautions)) } @else {
                details class="cautions" {
                    summary { (cautions.len()) " cautions and hints" }
                    (loud(&cautions))
                }
            }
            @if !trust.all.is_empty() {
                details { summary { "All checks" } (checks(&trust.all)) }
            }
        }
    }
}

fn loud(all: &[&(Tone, String)]) -> Markup {
    html! {
        @if !all.is_empty() {
            ul class="remarks" {
                @for (tone, text) in all {
                    li class=(tone.word()) {
                        span class="sign" title=(tone.word()) { (sign(*tone)) } " " (joined(text))
                    }
                }
            }
        }
    }
}

fn checks(checks: &[Check]) -> Markup {
    html! {
        ul class="checks" {
            @for check in checks {
                li {
                    (check.state) ": " (check.title)
                    @if !check.lines.is_empty() {
                        ul { @for line in &check.lines { li { (line) } } }
                    }
                }
            }
        }
    }
}

fn chapter(section: &Section) -> Markup {
    html! {
        section aria-labelledby=(section.id) {
            @if section.depth <= 2 {
                h2 id=(section.id) { (section.heading) }
            } @else {
                h3 id=(section.id) { (section.heading) }
            }
            @for block in &section.blocks { (piece(block, &section.id)) }
        }
    }
}

fn piece(block: &Block, within: &str) -> Markup {
    match block {
        Block::Prose(text) => html! { p { (joined(text)) } },
        Block::Figures(figures) => html! {
            div class="charts" { @for figure in figures { (drawn(figure)) } }
        },
        Block::Table(table) => html! {
            div class="scroll" tabindex="0" role="region" aria-labelledby=(within) { (tabled(table)) }
        },
        Block::Remarks(all) => remarks(all),
        Block::Pre(text) => html! { pre { (text) } },
        Block::List(points) => html! { ul { @for point in points { li { (point) } } } },
        Block::Sheet(sheet) => html! {
            ul class="sheet" {
                @for (picture, label) in sheet.pictures.iter().zip(&sheet.labels) {
                    li {
                        img src=(picture) alt="";
                        small {
                            @for part in label.split_inclusive(',') { span { (part.trim()) } " " }
                        }
                    }
                }
            }
        },
        Block::Details(summary, blocks) => html! {
            details {
                summary { (summary) }
                @for block in blocks { (piece(block, within)) }
            }
        },
    }
}

fn drawn(figure: &Figure) -> Markup {
    let chart = &figure.chart;
    html! {
        figure {
            figcaption { (chart.title) }
            @match ifm_chart::figure(chart) {
                Ok(markup) => (PreEscaped(markup)),
                Err(error) => p class="detail" { (error) },
            }
            @if let Some(caption) = &figure.caption { p class="detail" { (caption) } }
            @if !figure.remarks.is_empty() { (remarks(&figure.remarks)) }
            details {
                summary { "Numbers" }
                (numbers(chart))
            }
        }
    }
}

/// The table of exactly what is drawn, and the chart as files.
fn numbers(chart: &Chart) -> Markup {
    let table = ifm_chart::table(chart);
    let link = |kind: &str, text: &str| format!("data:{kind};base64,{}", BASE64.encode(text));
    html! {
        p {
            a href=(link("text/csv", &ifm_chart::csv(chart))) download=(format!("{}.csv", chart.id)) {
                "CSV"
            }
            @if let Ok(drawing) = ifm_chart::svg(chart, Theme::Light) {
                " · "
                a href=(link("image/svg+xml", &drawing)) download=(format!("{}.svg", chart.id)) {
                    "SVG"
                }
            }
        }
        div class="scroll" tabindex="0" role="region" aria-label={ "Numbers of: " (chart.title) } {
            table {
                caption { span { (chart.description) } }
                thead { tr { @for head in &table.head { th scope="col" { (head) } } } }
                tbody {
                    @for row in &table.rows { tr { @for cell in row { td { (digits(cell)) } } } }
                }
            }
        }
    }
}

/// A number of a chart as a person reads it; the underlying value keeps every digit, as the CSV does.
fn digits(cell: &str) -> Markup {
    let rounded = cell.parse::<f64>().ok().map(|value| {
        let places =
            READ_DIGITS - 1 - value.abs().max(1e-9).log10().floor().clamp(-3.0, 5.0) as i32;
        format!("{value:.*}", usize::try_from(places).unwrap_or(0))
    });
    match rounded.filter(|rounded| rounded.len() < cell.len()) {
        Some(rounded) => html! { data value=(cell) { (rounded) } },
        None => html! { (cell) },
    }
}

fn tabled(table: &Table) -> Markup {
    html! {
        table class=[(table.heads.len() >= WIDE_COLUMNS).then_some("wide")] {
            caption { span { (table.caption) } }
            @if table.heads.iter().any(|head| !head.name.is_empty()) {
                thead {
                    tr {
                        @for head in &table.heads {
                            th scope="col" class=[head.is_text.then_some("text")] {
                                @match &head.explained {
                                    Some(long) => abbr title=(long) { (head.name) },
                                    None => (head.name),
                                }
                            }
                        }
                    }
                }
            }
            tbody {
                @for row in &table.rows {
                    tr {
                        @for (index, cell) in row.iter().enumerate() {
                            @let is_text = table.heads.get(index).is_some_and(|head| head.is_text);
                            (cell_of(cell, is_text))
                        }
                    }
                }
            }
        }
    }
}

fn cell_of(cell: &Cell, is_text: bool) -> Markup {
    let class = match (is_text, cell.tone) {
        (true, Some(tone)) => Some(format!("text {}", tone.word())),
        (true, None) => Some("text".to_owned()),
        (false, tone) => tone.map(|tone| tone.word().to_owned()),
    };
    let words = html! {
        (cell.text)
        @if let Some(note) = &cell.note { " " small { (note) } }
    };
    // The bars of a column begin at one place, whatever the length of the numbers next to them.
    let inside = match cell.bar {
        Some(share) => html! {
            div class="barred" {
                svg class="bar" width=(BAR_WIDTH) height="8" aria-hidden="true" {
                    rect width=(format!("{:.1}", share * BAR_WIDTH)) height="8" {}
                }
                " "
                span { (words) }
            }
        },
        None => words,
    };
    html! {
        @if cell.is_head {
            th scope="row" class=[class] { (inside) }
        } @else {
            td class=[class] { (inside) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::page;
    use super::*;

    #[test]
    fn no_line_ends_between_a_number_and_its_unit() {
        let check = |text: &str, expect: &str| assert_eq!(joined(text), expect);
        check("p99 667 ms > 500 ms;", "p99 667\u{A0}ms > 500\u{A0}ms;");
        check("at 32 users (1.2 s)", "at 32\u{A0}users (1.2\u{A0}s)");
        check("run 1 msgs, w8 a8 s", "run 1 msgs, w8 a8\u{A0}s");
        check(" 5 ", " 5 ");
    }

    #[test]
    fn the_bars_of_a_column_begin_at_one_place() {
        let cell = Cell { bar: Some(0.6), ..Cell::text("60%".to_owned()) };
        let text = cell_of(&cell, false).into_string();
        // A flex box puts the bar at the left edge of the cell, and the number at its right edge.
        assert!(text.starts_with("<td><div class=\"barred\"><svg class=\"bar\""), "{text}");
        assert!(text.ends_with("<span>60%</span></div></td>"), "{text}");
        assert!(!cell_of(&Cell::text("60%".to_owned()), false).into_string().contains("barred"));
    }

    #[test]
    fn an_answer_that_is_not_valid_is_struck() {
        let mut page = page();
        page.tiles =
            page.tiles.into_iter().map(|tile| tile.struck(Some("requests <failed>"))).collect();
        let text = html(&page);
        assert!(text.contains("<s>"), "struck");
        assert!(text.contains("✗ not valid because requests &lt;failed&gt;"));
        assert!(super::super::json(&page).contains("\"not_valid\": \"requests <failed>\""));
        let text = super::super::markdown(&page, super::super::Pictures::None);
        assert!(text.contains("~~") && text.contains("not valid because"), "{text}");
    }

    #[test]
    fn pictures_stand_in_the_page_and_are_named_elsewhere() {
        use super::super::{Block, Pictures, Section, Sheet, json, markdown};
        let mut page = page();
        assert!(!html(&page).contains("img-src"), "a page without pictures may load none");
        let pictures = vec!["data:image/jpeg;base64,AAAA".to_owned()];
        let sheet = Sheet { pictures, labels: vec!["image 8 x 8 <b>".to_owned()] };
        page.sections.push(Section::new("Media", vec![Block::Sheet(sheet)]));
        let text = html(&page);
        assert!(text.contains("img-src data:;") && text.contains("src=\"data:image/jpeg;base64,"));
        assert!(text.contains("image 8 x 8 &lt;b&gt;"));
        assert!(markdown(&page, Pictures::None).contains("- image 8 x 8"));
        assert!(json(&page).contains("image 8 x 8 <b>"));
    }

    #[test]
    fn a_page() {
        // The style sheet would hide the page in the snapshot.
        let page = html(&page());
        let page = page.replace(STYLE.as_str(), "…").replace(ifm_chart::script(), "…");
        let hashes =
            [STYLE.as_str(), ifm_chart::script()].map(|text| BASE64.encode(Sha256::digest(text)));
        let [style, script] = &hashes;
        assert!(page.contains(style) && page.contains(script), "the policy names what is there");
        let page = page.replace(style, "STYLE").replace(script, "SCRIPT");
        insta::assert_snapshot!(without_drawings(&page).replace("><", ">\n<"));
    }

    /// The page without what the chart crate tests.
    fn without_drawings(page: &str) -> String {
        let mut rest = page;
        let mut out = String::new();
        while let Some(start) = rest.find("<svg xmlns") {
            let end = rest[start..].find("</svg>").map_or(rest.len(), |end| start + end);
            out.push_str(&rest[..start]);
            out.push('…');
            rest = &rest[end..];
        }
        let whole = out + rest;
        let data = whole.find("<script type=\"application/json\">").expect("a live chart");
        let end = data + whole[data..].find("</script>").expect("its end");
        let kept = format!("{}…{}", &whole[..data], &whole[end..]);
        let links = kept.split("base64,");
        let parts: Vec<&str> = links
            .map(|part| {
                part.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "+/=".contains(c))
            })
            .collect();
        parts.join("base64,…")
    }
}
