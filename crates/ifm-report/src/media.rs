//! The images, recordings and videos of a run: a line, a section with tables, and its charts.
//!
//! Not here: whether the numbers can be right, which the checks say.

use crate::ReportModel;
use crate::format::{ABSENT, bytes, count, marked_span, number, percent, span};
use crate::model::{load, load_words};
use crate::page::{Block, Cell, Columns, Figure, Head, Section};
use ifm_chart::{Axis, Cartesian, Chart, Form, Point, Series};
use ifm_metrics::LevelSummary;
use ifm_metrics::level::{KindTokens, MediaRates, MediaSummary, Scatter, TokenKind, Upload};
use ifm_metrics::stat::Distribution;

const NS_PER_S: f64 = 1e9;
const PER_MEGA: f64 = 1e6;
/// Maximum number of levels in one chart of requests: more colors cannot be distinguished.
const LEVELS_MAX: usize = 6;

type Row<'a> = (&'a LevelSummary, &'a MediaSummary);

fn rows(model: &ReportModel) -> Vec<Row<'_>> {
    let levels = model.summary.levels_by_load().into_iter();
    levels.filter_map(|level| Some((level, level.media.as_deref()?))).collect()
}

fn rates(level: &LevelSummary) -> Option<MediaRates> {
    level.window()?.media
}

/// What there was, each with its number: `120 images`.
fn numbers(media: &MediaSummary) -> Vec<String> {
    let kinds = [
        (media.images, "image", "images"),
        (media.audios, "recording", "recordings"),
        (media.videos, "video", "videos"),
    ];
    let some = kinds.into_iter().filter(|(number, ..)| *number > 0);
    some.map(|(of, one, many)| format!("{} {}", count(of), if of == 1 { one } else { many }))
        .collect()
}

fn per_second(rates: &MediaRates) -> Vec<String> {
    let each = [
        (rates.images_per_s, "images/s"),
        (rates.megapixels_per_s, "megapixels/s"),
        (rates.frames_per_s, "frames/s"),
    ];
    each.into_iter().filter_map(|(rate, unit)| Some(format!("{} {unit}", number(rate?)))).collect()
}

/// `299 image tokens`, and the number of requests where not all reported it.
fn tokens(kind: &KindTokens) -> Option<String> {
    let mean = number(kind.mean()?);
    let some = format!(" (of {} of {} requests)", count(kind.told), count(kind.requests));
    let some = if kind.told == kind.requests { "" } else { some.as_str() };
    Some(format!("{mean} {} tokens{some}", kind.kind.word()))
}

/// Where an upload ends, and its times.
fn upload_of(upload: &Upload) -> (&'static str, &Distribution) {
    match &upload.acked_ns {
        Some(acked) if acked.n == upload.requests => ("acknowledged", acked),
        _ => ("sent", &upload.sent_ns),
    }
}

fn upload_words(upload: &Upload) -> String {
    let (end, times) = upload_of(upload);
    let time = |p| times.percentile(p).map_or_else(|| ABSENT.to_owned(), marked_span);
    let share = upload.ttft_share.map(|share| format!(", {} of TTFT", percent(share)));
    let speed = upload.bytes_per_s.map(|speed| format!(", {} MB/s", number(speed / PER_MEGA)));
    format!(
        "last byte {end} after {} (p99 {}){}{}",
        time(50.0),
        time(99.0),
        share.unwrap_or_default(),
        speed.unwrap_or_default()
    )
}

/// The media of one level in a line; absent for text alone.
pub(crate) fn line(level: &LevelSummary) -> Option<String> {
    let media = level.media.as_deref()?;
    let mut parts = vec![numbers(media).join(", ")];
    parts.extend(
        rates(level).map(|rates| per_second(&rates).join(", ")).filter(|it| !it.is_empty()),
    );
    parts.push(format!("{} seen before", percent(media.seen_share())));
    let told = media.tokens.iter().filter_map(tokens).collect::<Vec<String>>().join(" + ");
    parts.extend((!told.is_empty()).then(|| format!("{told} a request")));
    parts.extend(media.upload.as_ref().map(upload_words));
    Some(parts.join(" · "))
}

/// The media of every level; absent for text alone.
pub(crate) fn section(model: &ReportModel) -> Option<Section> {
    let rows = rows(model);
    if rows.is_empty() {
        return None;
    }
    let pixels = Sizes {
        id: "ttft_pixels",
        title: "Do larger images wait longer?",
        axes: ["megapixels of the request", "TTFT"],
        unit: "",
        of: |media| media.ttft_by_megapixels.as_ref(),
    };
    let audio = Sizes {
        id: "e2e_audio",
        title: "Do longer recordings take longer?",
        axes: ["audio of the request", "E2E"],
        unit: "s",
        of: |media| media.e2e_by_audio_s.as_ref(),
    };
    let charts = [
        tokens_chart(&rows),
        seen_chart(&rows),
        sizes_chart(&rows, &pixels),
        sizes_chart(&rows, &audio),
    ];
    let charts: Vec<Figure> = charts.into_iter().flatten().map(Figure::alone).collect();
    let mut blocks = vec![sent(model, &rows), became(model, &rows)];
    blocks.extend((!charts.is_empty()).then_some(Block::Figures(charts)));
    Some(Section::new("Media", blocks))
}

fn whole(value: f64) -> String {
    count(crate::format::whole(value))
}

/// What was sent.
fn sent(model: &ReportModel, rows: &[Row]) -> Block {
    let any = |of: fn(&Row) -> bool| rows.iter().any(of);
    let columns = Columns::<Row>::default()
        .name(model.load_unit(), |(level, _)| load(level.load()))
        .number("requests", |(_, media)| Some(media.requests as f64), whole)
        .number("images", |(_, media)| Some(media.images as f64), whole)
        .when(any(|(_, media)| media.images > 0))
        .number("images/s", |(level, _)| rates(level)?.images_per_s, number)
        .when(any(|(_, media)| media.images > 0))
        .number("recordings", |(_, media)| Some(media.audios as f64), whole)
        .when(any(|(_, media)| media.audios > 0))
        .number("audio s", |(_, media)| Some(media.audio_ns? as f64 / NS_PER_S), number)
        .when(any(|(_, media)| media.audios > 0))
        .number("videos", |(_, media)| Some(media.videos as f64), whole)
        .when(any(|(_, media)| media.videos > 0))
        .number("frames/s", |(level, _)| rates(level)?.frames_per_s, number)
        .when(any(|(_, media)| media.videos > 0))
        .number(
            "megapixels a request",
            |(_, media)| Some(media.per_request(media.pixels?) / PER_MEGA),
            number,
        )
        .when(any(|(_, media)| media.images + media.videos > 0))
        .number("megapixels/s", |(level, _)| rates(level)?.megapixels_per_s, number)
        .when(any(|(_, media)| media.images + media.videos > 0))
        .number(
            "files a request",
            |(_, media)| Some(media.per_request(media.file_bytes?)),
            |mean| bytes(crate::format::whole(mean)),
        )
        .number("seen before", |(_, media)| Some(media.seen_share()), percent);
    let caption = "Over complete answers whose prompt carried media; rates over the window of the \
                   level's other rates. Seen before: sent by an earlier request of the run, so that a \
                   cache could know it.";
    Block::Table(columns.table(caption, rows.iter().copied()))
}

/// Its outcome: tokens, and times of the upload.
fn became(model: &ReportModel, rows: &[Row]) -> Block {
    let has = |kind: TokenKind| {
        let told = |(_, media): &Row| media.tokens_of(kind).is_some_and(|kind| kind.told > 0);
        rows.iter().any(told)
    };
    let mean = |kind: TokenKind| {
        move |(_, media): &Row| {
            let found = media.tokens_of(kind);
            let cell = Cell::number(found.and_then(KindTokens::mean), number);
            match found.filter(|found| found.told < found.requests) {
                Some(found) => cell.noted(format!("of {} of {}", found.told, found.requests)),
                None => cell,
            }
        }
    };
    let time = |p: f64| {
        move |(_, media): &Row| {
            let found = media.upload.as_ref().and_then(|upload| upload_of(upload).1.percentile(p));
            Cell::number(found.map(|found| found.value), span).in_unit("ns")
        }
    };
    let head = |kind: TokenKind| Head::number(format!("{} tokens", kind.word()));
    let mut columns =
        Columns::<Row>::default().name(model.load_unit(), |(level, _)| load(level.load()));
    for kind in [TokenKind::Text, TokenKind::Image, TokenKind::Audio, TokenKind::Video] {
        columns = columns.cell(head(kind), mean(kind)).when(has(kind));
    }
    let columns = columns
        .text("counted", |(_, media)| {
            let told = media.tokens.iter().find(|kind| kind.kind != TokenKind::Text);
            told.map_or(ABSENT, |kind| kind.from.provenance().words()).to_owned()
        })
        .number("cached", |(_, media)| media.cached.share(), percent)
        .text("last byte", |(_, media)| {
            media.upload.as_ref().map_or(ABSENT, |upload| upload_of(upload).0).to_owned()
        })
        .cell(Head::number("upload p50"), time(50.0))
        .cell(Head::number("upload p99"), time(99.0))
        .number("of TTFT", |(_, media)| media.upload.as_ref()?.ttft_share, percent)
        .number("MB/s", |(_, media)| Some(media.upload.as_ref()?.bytes_per_s? / PER_MEGA), number);
    let caption = "Prompt tokens are means over the requests for which that kind was counted. The \
                   upload lasts from the start until the last byte was acknowledged by the server's machine, \
                   or, where the kernel does not report that for every request, was sent (in the kernel's \
                   hands).";
    Block::Table(columns.table(caption, rows.iter().copied()))
}

fn loads(rows: &[Row]) -> Axis {
    Axis {
        name: "load".to_owned(),
        ..Axis::of_names(rows.iter().map(|(level, _)| load_words(level.load())))
    }
}

/// Tokens of a request by kind.
fn tokens_chart(rows: &[Row]) -> Option<Chart> {
    let kinds = [TokenKind::Text, TokenKind::Image, TokenKind::Audio, TokenKind::Video];
    let series = |(index, kind): (usize, TokenKind)| {
        let point = |(place, (_, media)): (usize, &Row)| {
            let mean = media.tokens_of(kind)?.mean()?;
            Some(Point::at(place as f64, mean).told(number(mean)))
        };
        let points: Vec<Point> = rows.iter().enumerate().filter_map(point).collect();
        let series = Series::new(format!("{} tokens", kind.word()), points);
        series.form(Form::Bar).of(index)
    };
    let all: Vec<Series> = kinds.into_iter().enumerate().map(series).collect();
    let all: Vec<Series> = all.into_iter().filter(|it| !it.points.is_empty()).collect();
    let told = rows.iter().map(|(level, media)| {
        let words: Vec<String> = media.tokens.iter().filter_map(tokens).collect();
        format!("{}: {}.", load_words(level.load()), words.join(", "))
    });
    let description = told.collect::<Vec<String>>().join(" ");
    let plot = Cartesian::new(loads(rows), Axis::new("tokens of a request", ""), all);
    let title = "What are prompts made of?";
    // Of one level the table says it.
    let is_shown = rows.len() > 1 && !plot.series.is_empty();
    is_shown.then(|| Chart::new("media_tokens", title, description, plot))
}

/// TTFT of what was new and of what had been sent before.
fn seen_chart(rows: &[Row]) -> Option<Chart> {
    let known: Vec<Row> =
        rows.iter().copied().filter(|(_, media)| media.seen_or_new.is_some()).collect();
    let medians = |media: &MediaSummary| {
        let found = media.seen_or_new.as_ref()?;
        Some([found.new_ttft_ns.median()?, found.seen_ttft_ns.median()?])
    };
    let series = |(index, name): (usize, &str)| {
        let points = known.iter().enumerate().filter_map(|(place, (_, media))| {
            let ns = *medians(media)?.get(index)?;
            Some(Point::at(place as f64, ns / PER_MEGA).told(span(ns)))
        });
        Series::new(name, points).form(Form::Bar).of(index)
    };
    let all: Vec<Series> =
        ["something new", "all seen before"].into_iter().enumerate().map(series).collect();
    let told = known.iter().filter_map(|(level, media)| {
        let [new, seen] = medians(media)?;
        Some(format!(
            "{}: {} with something new, {} with what had been sent before.",
            load_words(level.load()),
            span(new),
            span(seen)
        ))
    });
    let description = told.collect::<Vec<String>>().join(" ");
    let plot = Cartesian::new(loads(&known), Axis::new("TTFT p50", "ms"), all);
    let title = "Does the server cache media it has seen?";
    (!known.is_empty()).then(|| Chart::new("media_seen", title, description, plot))
}

/// A chart of single requests: a time against a size.
struct Sizes {
    id: &'static str,
    title: &'static str,
    /// What is across and what is up.
    axes: [&'static str; 2],
    /// Unit of the size.
    unit: &'static str,
    of: fn(&MediaSummary) -> Option<&Scatter>,
}

/// A dot for each request that was kept, a color for each level; of more levels than can be
/// distinguished those between the lowest and the highest are left out evenly.
fn sizes_chart(rows: &[Row], sizes: &Sizes) -> Option<Chart> {
    let known: Vec<(&LevelSummary, &Scatter)> =
        rows.iter().filter_map(|(level, media)| Some((*level, (sizes.of)(media)?))).collect();
    let shown = known.len().min(LEVELS_MAX);
    let place = |index: usize| index * (known.len() - 1) / (shown.max(2) - 1);
    let known: Vec<_> = (0..shown).filter_map(|index| known.get(place(index)).copied()).collect();
    let series = known.iter().enumerate().map(|(index, (level, scatter))| {
        let spots =
            scatter.spots.iter().map(|(size, ns)| Point::at(*size, ns / PER_MEGA).told(span(*ns)));
        Series::new(load_words(level.load()), spots).form(Form::Dots).of(index)
    });
    let all: Vec<Series> = series.collect();
    let told = known.iter().map(|(level, scatter)| {
        let of = |spot: Option<&(f64, f64)>| {
            let (size, ns) = spot?;
            let unit = if sizes.unit.is_empty() { "megapixels" } else { sizes.unit };
            Some(format!("{} {unit} {}", number(*size), span(*ns)))
        };
        let by_size = |a: &&(f64, f64), b: &&(f64, f64)| a.0.total_cmp(&b.0);
        let ends = [scatter.spots.iter().min_by(by_size), scatter.spots.iter().max_by(by_size)];
        let ends: Vec<String> = ends.into_iter().filter_map(of).collect();
        let kept = match scatter.spots.len() as u64 {
            all if all == scatter.of => format!("{} requests", count(all)),
            some => format!("{} of {} requests, evenly chosen", count(some), count(scatter.of)),
        };
        format!("{}: {kept}; {}.", load_words(level.load()), ends.join(", "))
    });
    let description = told.collect::<Vec<String>>().join(" ");
    let [across, up] = sizes.axes;
    let y = Axis::new(up, "ms");
    let plot = Cartesian::new(Axis::new(across, sizes.unit), y, all).switched();
    (!plot.series.is_empty()).then(|| Chart::new(sizes.id, sizes.title, description, plot))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::TerminalStyle;
    use crate::testing::{model, single};
    use ifm_metrics::testing::{MS, images};

    fn seen_again() -> ReportModel {
        model(&images(|number, record| {
            record.sent_ns = Some(record.start_ns + 2 * MS);
            record.acked_ns = Some(record.start_ns + 5 * MS);
            if number >= 60 {
                record.media.as_mut().expect("images").seen = 1;
            }
        }))
    }

    #[test]
    fn media_stand_in_every_format() {
        let model = seen_again();
        let style = TerminalStyle { width: 400, color: false, ascii: false, verbose: false };
        let text = crate::terminal::terminal(&model, &style);
        assert!(text.contains("120 images · "), "{text}");
        assert!(text.contains("120 text tokens + 299 image tokens a request"), "{text}");
        assert!(text.contains("last byte acknowledged after 5.00 ms"), "{text}");
        assert!(text.contains("50% seen before"), "{text}");
        let page = crate::markdown(&model);
        assert!(page.contains("## Media") && page.contains("| image tokens |"), "{page}");
        let html = crate::html(&model);
        let level = rows(&model)[0];
        assert!(!html.contains("What are prompts made of?") && tokens_chart(&[level]).is_none());
        assert!(tokens_chart(&[level, level]).is_some_and(|chart| chart.title.contains("made of")));
        assert!(html.contains("Does the server cache media it has seen?"));
        assert!(!html.contains("Do larger images wait longer?"), "all are of one size");
        let json: serde_json::Value = serde_json::from_str(&crate::json(&model)).expect("JSON");
        let media = &json["levels"][0]["media"];
        assert_eq!((&media["images"], &media["seen_share"]), (&120.into(), &0.5.into()));
        assert_eq!(media["tokens"]["image"]["total"], 120 * 299);
        assert_eq!(media["tokens"]["image"]["counted_by"]["final_usage"], 120);
        assert!((media["upload"]["ttft_share"].as_f64().expect("known") - 0.05).abs() < 1e-9);
        let latency = &json["levels"][0]["latency"];
        assert_eq!(latency["ttft_s_from_last_byte"]["mean"], 0.095);
        assert!(json["levels"][0]["whole"]["media"]["images_per_s"].as_f64() > Some(0.0));
    }

    #[test]
    fn requests_of_several_sizes_are_dots_of_a_chart() {
        let model = model(&images(|number, record| {
            let media = record.media.as_mut().expect("images");
            media.pixels = media.pixels.map(|pixels| pixels * (1 + number as u64 % 3));
            media.audio_ns = Some((1 + number as u64 % 5) * 1000 * MS);
        }));
        let page = crate::markdown(&model);
        assert!(page.contains("Do larger images wait longer?"), "{page}");
        assert!(
            page.contains("118 requests; 0.23"),
            "the sentence for those who see no chart: {page}"
        );
        assert!(page.contains("Do longer recordings take longer?"), "{page}");
        assert!(page.contains("118 requests; 1.00 s "), "{page}");
    }

    #[test]
    fn text_alone_has_no_media() {
        let model = model(&single());
        assert!(line(&model.summary.levels[0]).is_none() && section(&model).is_none());
        let json: serde_json::Value = serde_json::from_str(&crate::json(&model)).expect("JSON");
        assert!(json["levels"][0].get("media").is_none());
        assert!(json["levels"][0]["whole"].get("media").is_none());
    }
}
