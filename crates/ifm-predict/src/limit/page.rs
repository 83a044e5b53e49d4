//! The result as a page: the limits against the number of users, measured values next to them, and
//! the formula's parts.

use super::text::{bytes, conditions, digits, operations, percent, requests};
use super::{Answer, Held, Level};
use ifm_core::words::counted;
use ifm_report::page::{Block, Cell, Columns, Figure, Head, Page, Section, Table, Tile};
use ifm_report::{LoadLine, command_line, load_figure, plain};
use ifm_roofline::{Bound, Operator};

const MS_PER_S: f64 = 1e3;

/// The page. `command` is the line that made it.
pub fn page(answer: &Answer, command: &[String]) -> Page {
    let setup = &answer.setup;
    let (machine, model) = (setup.machine(), setup.model());
    let mut sections = Vec::new();
    let figures = figures(answer);
    if !figures.is_empty() {
        let note = "Strict is the certain bound: all bytes and all arithmetic at the same time. Serial adds up \
                    the parts one after another.";
        let blocks = vec![Block::Prose(note.to_owned()), Block::Figures(figures)];
        sections.push(Section::new("Limits against the number of users", blocks));
    }
    sections
        .push(Section::new("Every number of users", vec![Block::Table(levels(&answer.levels))]));
    if !answer.held.is_empty() {
        sections.push(Section::new("Measured values", vec![Block::Table(measured(&answer.held))]));
    }
    let mut parts_of = vec![Block::Table(parts(
        &format!("A prompt of {} tokens alone (TTFT).", answer.request.input),
        &answer.prefill,
    ))];
    parts_of.extend(answer.levels.last().map(|level| {
        let users = counted(level.users.into(), "user");
        Block::Table(parts(&format!("One step of {users} (ITL)."), &level.step))
    }));
    sections.push(Section::new("Parts", parts_of));
    sections.push(sources(answer, command));
    Page {
        kind: "limit",
        title: format!(
            "Limit: {} on {} × {}, {}→{} tokens",
            plain(&model.name),
            setup.gpus(),
            plain(&machine.name),
            answer.request.input,
            answer.request.output
        ),
        facts: vec![
            format!("weights {}, {}", setup.precision().weights.id, bytes(setup.weight_bytes())),
            format!("{} GB/s", machine.bandwidth_gb_s),
        ],
        conditions: vec![requests(answer)],
        lead: lead(answer),
        tiles: tiles(answer),
        sections,
        footer: vec![format!("made by inferometer {}", env!("CARGO_PKG_VERSION"))],
        ..Page::default()
    }
}

/// The bound at the fewest and at the most users.
fn lead(answer: &Answer) -> Option<String> {
    let at = |level: &Level| {
        let (step, cycle) = (&level.step, &level.closed_loop);
        format!(
            "{}: at least {} ms between tokens, at most {} tok/s of output",
            counted(level.users.into(), "user"),
            digits(step.strict.seconds * MS_PER_S),
            digits(cycle.tokens_per_s(cycle.strict))
        )
    };
    let (first, last) = (answer.levels.first()?, answer.levels.last()?);
    Some(match answer.levels.len() {
        1 => at(first),
        _ => format!("{}; {}", at(first), at(last)),
    })
}

fn tiles(answer: &Answer) -> Vec<Tile> {
    let mut tiles = Vec::new();
    if let Some(level) = answer.levels.first() {
        let users = counted(level.users.into(), "user");
        let binds = level.step.strict.binds.label();
        let ms = digits(level.step.strict.seconds * MS_PER_S);
        tiles.push(Tile::new(
            format!("Minimum ITL of {users}"),
            ms,
            "ms",
            format!("bound by {binds}"),
        ));
    }
    if let Some(level) = answer.levels.last() {
        let (users, cycle) = (counted(level.users.into(), "user"), &level.closed_loop);
        let rate = digits(cycle.tokens_per_s(cycle.strict));
        let detail = format!("bound by {}", cycle.strict.binds.label());
        tiles.push(Tile::new(format!("Maximum output of {users}"), rate, "tok/s", detail));
    }
    let bound = &answer.prefill;
    tiles.push(Tile::new(
        "Minimum TTFT",
        digits(bound.strict.seconds * MS_PER_S),
        "ms",
        format!("a prompt of {} tokens alone", answer.request.input),
    ));
    if let Some(fit) = answer.capacity.requests {
        let each = format!("one holds {}", bytes(answer.capacity.request_bytes));
        tiles.push(Tile::new("Requests that fit", fit.to_string(), "", each));
    }
    tiles
}

fn figures(answer: &Answer) -> Vec<Figure> {
    let line = |name: &str, is_dotted: bool, value: &dyn Fn(&Level) -> f64, unit: &str| LoadLine {
        name: name.to_owned(),
        points: answer
            .levels
            .iter()
            .map(|level| {
                let value = value(level);
                (f64::from(level.users), value, format!("{} {unit}", digits(value)))
            })
            .collect(),
        is_dotted,
    };
    let gap = [
        line("strict", false, &|level| level.step.strict.seconds * MS_PER_S, "ms"),
        line("serial", true, &|level| level.step.serial.seconds * MS_PER_S, "ms"),
    ];
    let rate = |level: &Level, of: fn(&Bound) -> ifm_roofline::Limit| {
        level.closed_loop.tokens_per_s(of(&level.closed_loop))
    };
    let output = [
        line("strict", false, &|level| rate(level, |bound| bound.strict), "tok/s"),
        line("serial", true, &|level| rate(level, |bound| bound.serial), "tok/s"),
    ];
    let itl = load_figure(
        ("itl", "How short can the time between tokens be?"),
        ("minimum ITL", "ms"),
        &gap,
    );
    let out = load_figure(
        ("output", "How much output is possible?"),
        ("maximum output", "tok/s"),
        &output,
    );
    itl.into_iter().chain(out).collect()
}

fn levels(levels: &[Level]) -> Table {
    let number = |value: f64| Cell { value: Some(value), ..Cell::text(digits(value)) };
    let ms = |seconds: f64| number(seconds * MS_PER_S);
    let rate = |bound: &Bound, limit| number(bound.tokens_per_s(limit));
    Columns::<Level>::default()
        .cell(Head::number("users"), |level| Cell {
            value: Some(level.users.into()),
            ..Cell::head(level.users.to_string())
        })
        .cell(Head::number("ITL strict, ms"), move |level| ms(level.step.strict.seconds))
        .cell(Head::number("ITL serial, ms"), move |level| ms(level.step.serial.seconds))
        .cell(Head::number("out tok/s strict"), move |level| {
            rate(&level.closed_loop, level.closed_loop.strict)
        })
        .cell(Head::number("out tok/s serial"), move |level| {
            rate(&level.closed_loop, level.closed_loop.serial)
        })
        .cell(Head::number("request strict, s"), move |level| {
            number(level.closed_loop.strict.seconds)
        })
        .cell(Head::number("request serial, s"), move |level| {
            number(level.closed_loop.serial.seconds)
        })
        .text("binds", |level| level.closed_loop.serial.binds.label().to_owned())
        .table("Minimum times and maximum rates.", levels.iter())
}

fn measured(held: &[Held]) -> Table {
    let share = |value: f64| Cell { value: Some(value), ..Cell::text(percent(value)) };
    Columns::<Held>::default()
        .name("measured", |held| plain(&held.text))
        .cell(Head::number("of strict"), move |held| share(held.share.of_strict))
        .cell(Head::number("of serial"), move |held| share(held.share.of_serial))
        .cell(Head::number("bandwidth"), move |held| share(held.share.bandwidth))
        .cell(Head::number("arithmetic"), move |held| share(held.share.arithmetic))
        .text("verdict", |held| held.share.verdict.label().to_owned())
        .table("Measured values as a share of the limit, and of both peaks.", held.iter())
}

/// The terms of a bound, one line per part.
fn parts(caption: &str, bound: &Bound) -> Table {
    let ms = |seconds: f64| Cell {
        value: Some(seconds * MS_PER_S),
        ..Cell::text(digits(seconds * MS_PER_S))
    };
    let moved = |part: &Operator| part.bytes + part.link_bytes;
    Columns::<Operator>::default()
        .name("part", |part| part.name.to_string())
        .cell(Head::number("bytes"), move |part| Cell {
            value: Some(moved(part)),
            ..Cell::text(bytes(moved(part)))
        })
        .cell(Head::number("moved, ms"), move |part| ms(part.memory_s + part.link_s))
        .cell(Head::number("operations"), |part| Cell {
            value: Some(part.flops),
            ..Cell::text(operations(part.flops))
        })
        .cell(Head::number("done, ms"), move |part| ms(part.compute_s))
        .cell(Head::number("longer, ms"), move |part| ms(part.serial_s))
        .table(caption, bound.operators.iter())
}

/// Figures of machine and model, what the bounds assume, and the command.
fn sources(answer: &Answer, command: &[String]) -> Section {
    let setup = &answer.setup;
    let (machine, model) = (setup.machine(), setup.model());
    let mut blocks = vec![Block::List(vec![
        format!(
            "{}: {} ({})",
            plain(&machine.name),
            plain(&machine.source),
            machine.confidence.label()
        ),
        format!("{}: {}", plain(&model.name), plain(&model.source)),
        format!("holds for {}", conditions(setup)),
    ])];
    if !command.is_empty() {
        blocks.push(Block::Prose("This page was written by".to_owned()));
        blocks.push(Block::Pre(command_line(command)));
    }
    Section::new("Where the numbers come from", blocks)
}
