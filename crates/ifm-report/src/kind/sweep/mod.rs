//! One run: its levels one after another.

mod charts;
#[cfg(test)]
mod claims_tests;
mod classes;
mod details;
mod drafts;
mod forms;
mod media;
mod method;
mod repeats;
mod sessions;
pub(super) mod several;

pub(super) use several::points;

use super::answers::Answers;
use super::common::{LINES_MAX, about, summary};
use super::cumulative::{Of, figures};
use super::{Kind, Subject};
use crate::format::{ABSENT, marked_span, number, percent, plain, span};
use crate::model::{ReportModel, load, load_words};
use crate::page::{
    Block, Cell, Check, Column, Columns, Figure, Head, Page, Section, Table, Tile, Trust,
};
use crate::parts;
use crate::words::{self, AnswerTopic, note};
use ifm_compare::comparison::ResultsEvidence;
use ifm_core::order::Order as _;
use ifm_core::sheet::PartKind;
use ifm_metrics::LevelSummary;
use ifm_metrics::Severity;
use ifm_metrics::answer::{Answers as RunAnswers, UsersState};
use ifm_metrics::level::Load;
use ifm_metrics::slo::VerdictState;
use ifm_metrics::stat::{Distribution, Percentile};
use ifm_metrics::warning::CheckState;
use ifm_results::say;
use ifm_results::{Pool, Pooled, Results};
use ifm_rules::insight::{Insight, Question, Tone, Topic, insights};

pub(super) const KIND: Kind = Kind {
    word: "sweep",
    about: "levels against the load, of one run or of several side by side",
    fits: |_| true,
    page,
};

/// The page of whatever was measured: of the one run there is, or of all points.
fn page(subject: &Subject) -> Page {
    match (subject.runs, subject.sheets) {
        ([only], []) => asked(only, &subject.question),
        _ => several::page(subject),
    }
}

/// The page of a run, compared with its own target.
pub(crate) fn run(model: &ReportModel) -> Page {
    let results = Results::of_run(&model.manifest, &model.summary);
    let slo = model.manifest.spec.slo.named();
    let usd_per_hour = model.manifest.capacity.as_ref().and_then(|found| found.usd_per_hour);
    let evidence = ResultsEvidence::new([model.evidence.clone()], &[]);
    let evidence = &evidence;
    let question = Question { slo, usd_per_hour, evidence, ..Question::new(&results) };
    let mut page = asked(model, &question);
    page.banners.splice(0..0, model.predicted().map(|words| format!("⚠ {words}.")));
    page
}

/// The page of a run of which something was asked.
fn asked(model: &ReportModel, question: &Question) -> Page {
    let manifest = &model.manifest;
    let about = model.title();
    let simulated = model.simulated().map(str::to_owned).into_iter();
    let mut facts: Vec<String> = simulated.chain(about.iter().skip(1).cloned()).collect();
    facts.push(plain(&manifest.created_utc));
    facts.push(format!("run {}", plain(&manifest.run_id)));
    facts.extend(
        manifest.tags.iter().map(|(name, value)| format!("{} {}", plain(name), plain(value))),
    );
    let mut insights = insights(question);
    tell_first_wave(&mut insights, model, question);
    let pool = question.results.pool(PartKind::Serving);
    let answers = Answers::new(question, &pool, &[]);
    let mut sections = vec![
        charts(model, question, &insights),
        Section::new("Levels", vec![Block::Table(levels(model))]),
    ];
    sections.extend(repeats::section(model));
    sections.extend(shares(model, question, &pool));
    sections.extend(answers.capacity(&insights));
    sections.extend(answers.cost(&insights));
    sections.extend(crate::media::section(model));
    sections.extend(crate::sound::section(model));
    sections.extend(crate::ttft_parts::section(model));
    sections.extend(sessions::section(model));
    sections.extend(classes::section(model));
    sections.extend(forms::section(model));
    sections.extend(sessions::turns(model));
    sections.extend(crate::steps::section(model));
    sections.push(details::latencies(model));
    sections.push(details::requests(model));
    sections.extend(drafts::section(model));
    sections.extend(details::energy_and_server(model));
    sections.extend(media::section(model));
    sections.push(method::section(model));
    sections.retain(|section| !section.blocks.is_empty());
    Page {
        kind: "sweep",
        title: title(model),
        facts,
        conditions: model.conditions(),
        banners: banners(model),
        tiles: first_tiles(model, question, &answers),
        trust: Some(trust(model)),
        remarks: summary(&insights),
        sections,
        footer: vec![
            format!("schema {}", crate::json::SCHEMA_VERSION),
            format!("run {}", plain(&manifest.run_id)),
            format!("made by inferometer {}", plain(&manifest.tool.version)),
        ],
        ..Page::default()
    }
}

/// Adds to what fits that each user's first request would change it, as the first answer does.
fn tell_first_wave(insights: &mut [Insight], model: &ReportModel, question: &Question) {
    let users = model.summary.answers.as_ref().map(|answers| &answers.users);
    let with = users.and_then(|users| users.with_first_wave.as_ref());
    let Some(with) = with.filter(|_| question.slo == model.manifest.spec.slo.named()) else {
        return;
    };
    for insight in insights.iter_mut().filter(|insight| insight.topic == Topic::Capacity) {
        insight.tone = insight.tone.min(Tone::Warn);
        let end = match with.state {
            VerdictState::Fail => "fails",
            _ => "cannot be judged",
        };
        insight.sentence = say!(
            "{} Including each user's first request (all start at once), {} {}.";
            std::mem::take(&mut insight.sentence), with.load.value() => Load, end
        );
    }
}

/// The name of the run with the model, or the model with its server: a model alone says little.
fn title(model: &ReportModel) -> String {
    let of = plain(&model.manifest.spec.target.model);
    match (&model.manifest.name, &model.manifest.server.kind) {
        (Some(name), _) => format!("{}: {of}", plain(name)),
        (None, Some(server)) => format!("{of} on {}", plain(server)),
        (None, None) => of,
    }
}

fn banners(model: &ReportModel) -> Vec<String> {
    let mut banners = Vec::new();
    banners.extend(model.random_weights().map(|random| format!("⚠ {random}")));
    let stopped = model.manifest.stop_reason.as_deref();
    banners.extend(stopped.map(|reason| format!("⚠ Partial run: {}", plain(reason))));
    if model.summary.answers.is_none() {
        banners.push("✗ No request was measured.".to_owned());
    }
    let is_invalid = |check: &&ifm_metrics::CheckResult| check.state() == CheckState::Invalid;
    let invalid: Vec<&str> =
        model.summary.checks.iter().filter(is_invalid).map(|check| check.title).collect();
    if !invalid.is_empty() {
        banners.push(format!(
            "✗ Some levels are not valid: this does not hold everywhere: {}. See the checks.",
            invalid.join(", ")
        ));
    }
    banners
}

/// How the latencies of the requests are distributed, at no more levels than lines can be
/// distinguished, including the lowest, the highest, the answer and the next one.
fn shares(model: &ReportModel, question: &Question, pool: &Pool) -> Option<Section> {
    let mut cells: Vec<&Pooled> = pool.cells.iter().filter(|cell| cell.load().is_some()).collect();
    let value = |cell: &Pooled| cell.load().map_or(0.0, |load| load.value());
    cells.order_by(|a, b| value(a).total_cmp(&value(b)));
    let users = model.summary.answers.as_ref().map(|answers| &answers.users);
    let answer = users.and_then(|users| users.load);
    let next = users.and_then(|users| Some(users.next_worse.as_ref()?.load));
    let asked = [answer, next].into_iter().flatten();
    let asked = asked.filter_map(|load| cells.iter().position(|cell| cell.load() == Some(load)));
    let places = spread(cells.len(), LINES_MAX, asked).into_iter().enumerate();
    let of = |(thing, place): (usize, usize)| {
        let cell = *cells.get(place)?;
        Some(Of { name: load_words(cell.load()), thing, cell })
    };
    let all: Vec<Of> = places.filter_map(of).collect();
    let figures = figures((std::slice::from_ref(model), &question.slo), &all);
    (!figures.is_empty())
        .then(|| Section::new("Latency of the requests", vec![Block::Figures(figures)]))
}

/// At most `most` of `count` places, rising: the first, the last, those that are wanted, and then the
/// middle of the widest gap that is left.
fn spread(count: usize, most: usize, wanted: impl Iterator<Item = usize>) -> Vec<usize> {
    let Some(last) = count.checked_sub(1) else { return Vec::new() };
    let mut places: Vec<usize> = [0, last].into_iter().chain(wanted).collect();
    places.sort_unstable();
    places.dedup();
    while places.len() < most.min(count) {
        let gaps = places.windows(2).enumerate().map(|(at, pair)| (pair[1] - pair[0], at));
        let Some((gap, at)) = gaps.max_by_key(|(gap, at)| (*gap, std::cmp::Reverse(*at))) else {
            break;
        };
        places.insert(at + 1, places[at] + gap / 2);
    }
    places
}

/// The answers of the run; about another target than its own, that answer first.
fn first_tiles(model: &ReportModel, question: &Question, about: &Answers) -> Vec<Tile> {
    let own = model.summary.answers.as_ref().map(|all| tiles(model, all)).unwrap_or_default();
    if question.slo == model.manifest.spec.slo.named() || own.is_empty() {
        return own;
    }
    // The answer about the run's own target is replaced, where it has one.
    let own = own.into_iter().skip(usize::from(!model.manifest.spec.slo.is_default));
    about.tile().into_iter().chain(own).collect()
}

fn tiles(model: &ReportModel, answers: &RunAnswers) -> Vec<Tile> {
    let trust = &answers.trust;
    let tone = |topic: AnswerTopic| match (topic, answers.users.load, answers.users.state) {
        (AnswerTopic::Capacity, Some(_), _) if answers.users.is_sure => Some(Tone::Good),
        (AnswerTopic::Capacity, Some(_), _) => Some(Tone::Warn),
        (AnswerTopic::Capacity, None, UsersState::None) => Some(Tone::Bad),
        (AnswerTopic::Trust, ..) if trust.invalid > 0 => Some(Tone::Bad),
        (AnswerTopic::Trust, ..) if trust.cautions > 0 => Some(Tone::Warn),
        (AnswerTopic::Trust, ..) => Some(Tone::Good),
        _ => None,
    };
    // One user's speed and the output are of one level; a capacity has looked at failures itself.
    let most = answers.most.as_ref().filter(|_| answers.slo.is_default).unwrap_or(&answers.at);
    let [here, there] = [&answers.at, most].map(|at| invalid_at(model, at.load));
    let mut has_speed = false;
    let tile = |answer: words::Answer| {
        let tile = Tile::new(answer.question, answer.value, answer.unit, answer.detail)
            .toned(tone(answer.topic));
        match answer.topic {
            AnswerTopic::Capacity | AnswerTopic::Cause | AnswerTopic::Trust => tile,
            AnswerTopic::Output => tile.struck(there.as_deref()),
            AnswerTopic::Speed => {
                let (at, because) = if has_speed { (most, &there) } else { (&answers.at, &here) };
                has_speed = true;
                let tpot = tpot(model, at.level);
                let detail = tpot.map(|tpot| format!("TPOT {tpot} · {} (all gaps)", tile.detail));
                let detail = detail.unwrap_or_else(|| tile.detail.clone());
                Tile { detail, ..tile }.struck(because.as_deref())
            }
        }
    };
    crate::ttft_parts::with_cause(model, answers).into_iter().map(tile).collect()
}

/// Median TPOT of a level, whose inverse is the speed for one user; marked where the tokens are
/// an estimate.
fn tpot(model: &ReportModel, level: u16) -> Option<String> {
    let latencies = &model.summary.levels.iter().find(|one| one.level == level)?.latencies;
    let (tpot, is_estimated) = latencies.tpot()?;
    Some(format!("{}{}", if is_estimated { "~" } else { "" }, span(tpot.median()?)))
}

/// Why a level is not valid, or the whole run; absent where no check says so.
fn invalid_at(model: &ReportModel, load: Option<Load>) -> Option<String> {
    let invalid = model.summary.warnings.iter().find(|warning| {
        let is_here = warning.level.is_none() || warning.load == load;
        warning.severity == Severity::Invalid && is_here
    })?;
    Some(match invalid.load {
        Some(at) => format!("at {}: {}", load_words(Some(at)), invalid.text),
        None => invalid.text.clone(),
    })
}

/// The tone of a severity.
pub(crate) fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Note => Tone::Note,
        Severity::Caution => Tone::Warn,
        Severity::Invalid => Tone::Bad,
    }
}

/// Maximum number of runs whose checks are listed one by one; beyond that, findings are merged.
const TOLD_APART_MAX: usize = 4;

/// The checks of several runs; absent without a run.
pub(super) fn trust_of(models: &[ReportModel]) -> Option<Trust> {
    let all: Vec<Trust> = match models {
        [] => return None,
        [only] => return Some(trust(only)),
        several => several.iter().map(trust).collect(),
    };
    let (mut made, mut noted, mut cautions, mut invalid) = (0, 0, 0, 0);
    for check in models.iter().flat_map(|model| &model.summary.checks) {
        made += u32::from(check.state() != CheckState::NotApplicable);
        noted += u32::from(words::is_noted(check));
        cautions += u32::from(check.state() == CheckState::Caution);
        invalid += u32::from(check.state() == CheckState::Invalid);
    }
    let passed = made - noted - cautions - invalid;
    let counts = words::tally(passed, [(noted, "note"), (cautions, "warning"), (invalid, "error")]);
    let line = format!("{} runs: {counts}", models.len());
    let names = models.iter().map(|model| model.manifest.name.as_ref());
    let ids = models.iter().map(|model| &model.manifest.run_id);
    let names = names.zip(ids).map(|(name, id)| plain(name.unwrap_or(id)));
    Some(match models.len() {
        0..=TOLD_APART_MAX => apart(line, names.zip(all)),
        _ => together(line, &all),
    })
}

/// The checks of each run, under its name.
fn apart(line: String, runs: impl Iterator<Item = (String, Trust)>) -> Trust {
    let mut told = Trust { line, ..Trust::default() };
    for (name, trust) in runs {
        let named = |text: String| format!("{name}: {text}");
        told.loud.extend(trust.loud.into_iter().map(|(tone, text)| (tone, named(text))));
        let check = |check: Check| Check { title: named(check.title), ..check };
        told.all.extend(trust.all.into_iter().map(check));
    }
    told
}

/// Each check once, with how many runs it holds in, and each thing that was found once, with how many
/// runs it was found in. Numbers apart: `12 of 288 runs: only 6 complete answers`.
fn together(line: String, runs: &[Trust]) -> Trust {
    let of_runs = |count: usize| format!("{count} of {} runs", runs.len());
    let mut loud: Vec<(Tone, &str, usize)> = Vec::new();
    for (tone, text) in runs.iter().flat_map(|trust| &trust.loud) {
        let alike = |(of, other, _): &&mut (Tone, &str, usize)| of == tone && is_alike(other, text);
        match loud.iter_mut().find(alike) {
            Some((.., count)) => *count += 1,
            None => loud.push((*tone, text, 1)),
        }
    }
    let mut titles: Vec<&str> = Vec::new();
    for check in runs.iter().flat_map(|trust| &trust.all) {
        if !titles.contains(&check.title.as_str()) {
            titles.push(&check.title);
        }
    }
    let check = |title: &&str| {
        let of_title =
            || runs.iter().flat_map(|run| &run.all).filter(|check| check.title == *title);
        let mut states: Vec<(&str, usize)> = Vec::new();
        for check in of_title() {
            match states.iter_mut().find(|(state, _)| *state == check.state) {
                Some((_, count)) => *count += 1,
                None => states.push((&check.state, 1)),
            }
        }
        let words = states.iter().map(|(state, count)| format!("{state} in {}", of_runs(*count)));
        Check {
            state: words.collect::<Vec<_>>().join(", "),
            title: (*title).to_owned(),
            lines: Vec::new(),
        }
    };
    Trust {
        line,
        all: titles.iter().map(check).collect(),
        loud: loud
            .into_iter()
            .map(|(tone, text, count)| match count {
                1 => (tone, format!("1 run: {text}")),
                count => (tone, format!("{}, such as: {text}", of_runs(count))),
            })
            .collect(),
    }
}

/// Whether two sentences differ in their numbers only.
fn is_alike(one: &str, other: &str) -> bool {
    let letters = |text: &str| -> String { text.chars().filter(|c| c.is_alphabetic()).collect() };
    letters(one) == letters(other)
}

fn trust(model: &ReportModel) -> Trust {
    let state = |state: CheckState| match state {
        CheckState::Passed => "✓ passed",
        CheckState::Caution => "⚠ caution",
        CheckState::Invalid => "✗ invalid",
        CheckState::NotApplicable => "– not applicable",
    };
    let check = |check: &ifm_metrics::CheckResult| Check {
        state: match words::is_noted(check) {
            true => "· noted".to_owned(),
            false => state(check.state()).to_owned(),
        },
        title: check.title.to_owned(),
        lines: words::told(&check.warnings).into_iter().map(|(_, text)| text).collect(),
    };
    let answers = model.summary.answers.as_ref();
    let line = answers.map(|answers| {
        let trust = words::trust(answers, &model.summary.checks);
        trust.value
    });
    let loud = words::told(&model.summary.warnings);
    Trust {
        line: line.unwrap_or_else(|| format!("{} checks", model.summary.checks.len())),
        loud: loud
            .into_iter()
            .filter(|(severity, _)| *severity > Severity::Note)
            .map(|(severity, text)| (tone(severity), format!("{}: {text}", severity.word())))
            .collect(),
        all: model.summary.checks.iter().map(check).collect(),
    }
}

fn charts(model: &ReportModel, question: &Question, insights: &[Insight]) -> Section {
    let figures: Vec<Figure> = charts::charts(model, question)
        .into_iter()
        .map(|(chart, topics, caption)| {
            let caption = caption.or_else(|| charts::marks(&chart));
            Figure { caption, ..Figure::new(chart, about(insights, topics)) }
        })
        .collect();
    let blocks = if figures.is_empty() { Vec::new() } else { vec![Block::Figures(figures)] };
    Section::new("Against the load", blocks)
}

fn levels(model: &ReportModel) -> Table {
    let label = model.gap_label();
    let gap = |p: f64| {
        let head = Head::number(format!("{} p{p}", label.short())).explained(label.long());
        Column::new(head, move |level: &LevelSummary| time(level.latencies.gaps(), p))
    };
    let ttft = |p: f64| {
        let head = Head::number(format!("TTFT p{p}"));
        Column::new(head, move |level: &LevelSummary| time(level.latencies.ttft(), p))
    };
    let has_first_wave = model.summary.levels.iter().any(|level| level.first_wave.is_some());
    let of_all = |level: &LevelSummary| time(level.latencies_of_all().ttft(), 99.0);
    let tpot = |level: &LevelSummary| {
        let latencies = &level.latencies;
        let tpot = latencies.tpot();
        let cell = time(tpot.map(|(tpot, _)| tpot), 50.0);
        if tpot.is_some_and(|(_, is_estimated)| is_estimated) {
            cell.noted("estimate")
        } else {
            cell
        }
    };
    let columns = Columns::<LevelSummary>::default()
        .cell(Head::number(model.load_unit()), level_cell)
        .number("req/s", |level| Some(level.window()?.req_per_s), number)
        .number("out tok/s", |level| level.output_tok_per_s(), number)
        .cell(Head::number("tok/s/user"), user_speed)
        .push(ttft(50.0))
        .push(ttft(99.0))
        .cell(Head::number("TTFT p99 of all"), of_all)
        .explained("with each user's first request among them")
        .when(has_first_wave)
        .cell(Head::number("TPOT p50"), tpot)
        .explained("time per output token: 1 / tok/s/user")
        .push(gap(50.0))
        .push(gap(99.0))
        .number("probe TTFT", |level| Some(level.probe.as_ref()?.ttft_times?.value), parts::times)
        .explained("the probe's median during the level, as a multiple of that without load")
        .when(model.manifest.spec.workload.probe.is_some())
        .number("ok", |level| level.counts.ok_share(), percent)
        .text("window", |level| {
            level.window().map_or(ABSENT, |window| window.window.kind.word()).to_owned()
        })
        .cell(Head::text("note"), |level| verdict(model, level));
    let left_out = words::first_wave(&model.summary.levels);
    let caption = format!(
        "Rates are over the steady window where there is one{}. ~ marks a percentile of too few \
         values, or an estimate. Output tokens: {}.",
        left_out.map_or(String::new(), |words| format!("; {words}")),
        words::provenance(&model.summary.levels)
    );
    let mut table = columns.table(caption, model.summary.levels_by_load());
    table.bar_column(2);
    table.bar_column(3);
    table
}

/// The load of a level as the name of its row.
fn level_cell(level: &LevelSummary) -> Cell {
    Cell { value: level.load().map(|load| load.value()), ..Cell::head(load(level.load())) }
}

fn user_speed(level: &LevelSummary) -> Cell {
    let speed = level.user_tok_per_s();
    let mark = if speed.is_some_and(|(_, is_estimated)| is_estimated) { "~" } else { "" };
    Cell::number(speed.map(|(speed, _)| speed), |speed| format!("{mark}{}", number(speed)))
}

fn verdict(model: &ReportModel, level: &LevelSummary) -> Cell {
    let words = note(level, model.is_fitting(level));
    match level.verdict.state {
        VerdictState::Pass => Cell::text(format!("✓ {words}")).toned(Tone::Good),
        VerdictState::Fail => Cell::text(format!("✗ {words}")).toned(Tone::Bad),
        VerdictState::Unknown => Cell::text(words),
    }
}

/// A percentile; marked, with its n, where it is based on too few values.
pub(super) fn time(distribution: Option<&Distribution>, p: f64) -> Cell {
    let found = distribution
        .and_then(|distribution| distribution.percentile(p).map(|found| (distribution.n, found)));
    match found {
        None => Cell::text(ABSENT),
        Some((n, percentile)) => {
            let cell =
                Cell { value: Some(percentile.value), ..Cell::text(marked_span(percentile)) }
                    .in_unit("ns");
            match percentile {
                Percentile { enough: true, .. } => cell,
                _ => cell.noted(format!("n={n}")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::run as page;
    use crate::page::{Pictures, html, markdown};
    use crate::testing::{all_failed, burst, model, single, sweep};
    use ifm_rules::insight::Tone;

    /// The sentence is as careful as the first answer.
    #[test]
    fn what_fits_tells_what_the_first_requests_would_change() {
        let said = |first_wait_ms| {
            let page = page(&model(&burst(first_wait_ms)));
            let found = page.remarks.iter().find(|remark| remark.rule == "capacity");
            found.map(|remark| (remark.tone, remark.text.clone())).expect("a capacity")
        };
        let (tone, text) = said(800);
        assert_eq!(tone, Tone::Warn);
        assert!(text.ends_with("(all start at once), 32 fails."), "{text}");
        let (tone, text) = said(80);
        assert_ne!(tone, Tone::Warn);
        assert!(!text.contains("first request"), "{text}");
    }

    #[test]
    fn the_page_of_a_sweep() {
        let page = page(&model(&sweep()));
        insta::assert_snapshot!(markdown(&page, Pictures::None));
        crate::page::agreement_tests::check(&page);
        let ids = ["output", "pareto", "ttft", "itl"];
        crate::page::agreement_tests::drawn_as_tabulated(&page, &ids, 1e6);
    }

    #[test]
    fn a_run_without_an_answer_says_what_it_knows() {
        let page = page(&model(&all_failed()));
        assert!(page.charts().is_empty());
        let text = markdown(&page, Pictures::None);
        assert!(text.contains("4 sent · 0 ok · 4 failed"), "{text}");
    }

    #[test]
    fn the_page_loads_nothing() {
        for run in [sweep(), single(), all_failed()] {
            let page = html(&page(&model(&run))).replace(ifm_chart::script(), "");
            for forbidden in ["<link", "src=", "href=\"http", "@import", " style="] {
                assert!(!page.contains(forbidden), "{forbidden}");
            }
            assert!(page.contains("default-src 'none'"));
        }
    }

    #[test]
    fn names_are_escaped() {
        let mut run = sweep();
        let evil = "<script>alert(1)</script>\"'&";
        run.manifest.spec.target.model = evil.to_owned();
        run.manifest.name = Some(evil.to_owned());
        run.manifest.command = vec![evil.to_owned()];
        run.manifest.stop_reason = Some(evil.to_owned());
        run.manifest.tags.insert(evil.to_owned(), evil.to_owned());
        run.manifest.server.notes.insert("weights".to_owned(), format!("random {evil}"));
        run.manifest.server.notes.insert(evil.to_owned(), evil.to_owned());
        run.manifest.server.kind = Some(evil.to_owned());
        let page = html(&page(&model(&run)));
        assert!(!page.contains("<script>alert"));
        assert!(page.contains("&lt;script&gt;alert(1)"));
    }

    #[test]
    fn every_table_has_a_caption_and_scoped_heads() {
        let page = html(&page(&model(&sweep()))).replace(ifm_chart::script(), "");
        assert_eq!(page.matches("<table").count(), page.matches("<caption").count());
        assert_eq!(
            page.matches("<th").count() - page.matches("<thead").count(),
            page.matches("scope=").count()
        );
    }

    /// What a chart draws, a table prints and a sentence says is the same number, bit for bit.
    #[test]
    fn text_table_and_chart_hold_the_same_numbers() {
        use crate::page::Block;
        use ifm_chart::Plot;
        let page = page(&model(&sweep()));
        let levels = page.sections.iter().find(|section| section.id == "levels").expect("levels");
        let [Block::Table(table)] = levels.blocks.as_slice() else { panic!("{levels:?}") };
        let column = |name: &str, scale: f64| -> Vec<f64> {
            let index = table.heads.iter().position(|head| head.name == name).expect(name);
            table.rows.iter().map(|row| row[index].value.expect(name) / scale).collect()
        };
        let drawn = |id: &str, series: usize| -> Vec<f64> {
            let charts = page.charts();
            let chart = charts.iter().find(|chart| chart.id == id).expect(id);
            let Plot::Cartesian(plot) = &chart.plot else { panic!("{chart:?}") };
            plot.series[series].points.iter().map(|point| point.y.expect(id)).collect()
        };
        assert_eq!(drawn("output", 0), column("out tok/s", 1.0));
        assert_eq!(drawn("ttft", 0), column("TTFT p50", 1e6));
        assert_eq!(drawn("ttft", 1), column("TTFT p99", 1e6));
        assert_eq!(drawn("itl", 0), column("ITL p50", 1e6));
        let speeds = column("tok/s/user", 1.0);
        let range = page.remarks.iter().find(|remark| remark.rule == "speed_range");
        let said: Vec<f64> =
            range.expect("a range").numbers.iter().map(|(value, _)| *value).collect();
        assert_eq!(said, [speeds[0], speeds[2]]);
    }
}
