//! Results side by side: what differs between them, then each measure with its verdict.

use super::{Place, page};
use crate::app::{App, aside};
use crate::catalogue::encoded;
use crate::failure::Failure;
use crate::form::Fields;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use ifm_compare::comparison::{
    Difference, DifferenceKind, Measure, Member, Settings, Side, Verdict, compare,
};
use ifm_core::order::Order as _;
use ifm_report::{CellText, ComparisonText, RowText, comparison_text, plain};
use ifm_store::{Import, RunEntry};
use maud::{Markup, html};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Runs that are compared with each other at most.
const RUNS_MAX: usize = 8;

/// A run or an import that was chosen.
enum Chosen {
    Run(Box<RunEntry>),
    Import(Import),
}

impl Chosen {
    fn id(&self) -> &str {
        match self {
            Chosen::Run(entry) => &entry.id,
            Chosen::Import(import) => &import.id,
        }
    }

    /// Where its own page is.
    fn page(&self) -> String {
        match self {
            Chosen::Run(entry) => format!("/runs/{}", encoded(&entry.id)),
            Chosen::Import(import) => format!("/imports/{}", encoded(&import.id)),
        }
    }
}

/// The comparison of the results that the address names, the first of them the baseline.
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let fields = Fields::of_query(query.as_deref());
    let markup = aside(&app, move |app| {
        let entries = chosen(app, &fields)?;
        let even_so = fields.get("even_so").is_some();
        let text = comparison_text(&compared(app, &entries, even_so)?);
        Ok(page(app, "Comparison", Place::Elsewhere, body(&text, &entries, even_so)))
    })
    .await?;
    Ok(markup.into_response())
}

fn chosen(app: &App, fields: &Fields) -> Result<Vec<Chosen>, Failure> {
    let mut seen = BTreeSet::new();
    let imports = app.store.import_ids()?;
    let mut entries = Vec::new();
    for id in fields.all("run").filter(|id| seen.insert(*id)) {
        entries.push(match imports.iter().any(|import| import == id) {
            true => Chosen::Import(app.import(id)?),
            false => Chosen::Run(Box::new(app.run(id)?)),
        });
    }
    match entries.len() {
        0 | 1 => Err(Failure::bad("choose two or more runs: mark their boxes in the list")),
        n if n > RUNS_MAX => Err(Failure::bad(format!("choose at most {RUNS_MAX} runs"))),
        _ => Ok(entries),
    }
}

fn compared(
    app: &App,
    entries: &[Chosen],
    even_so: bool,
) -> Result<ifm_compare::comparison::Comparison, Failure> {
    let imports = || {
        entries.iter().filter_map(|entry| match entry {
            Chosen::Import(import) => Some(import),
            Chosen::Run(_) => None,
        })
    };
    // Runs are computed again by the definitions of the documents' tools.
    let is_choice = imports().next().is_some();
    let sheets = imports().flat_map(|import| &import.sheets);
    let tools: BTreeSet<String> = sheets.filter_map(|sheet| sheet.source.tool.clone()).collect();
    let tools: Vec<String> = tools.into_iter().collect();
    let measures = if is_choice { Measure::of_documents() } else { Measure::DEFAULT.to_vec() };
    let mut settings = Settings { measures, is_choice, even_so, ..Settings::default() };
    let mut sides = Vec::new();
    let mut labels = BTreeSet::new();
    for entry in entries {
        let (name, members) = match entry {
            Chosen::Import(import) => {
                let read = |sheet| Member::of_sheet(sheet, &settings.measures, &settings.slo);
                (import.name.clone(), import.sheets.iter().map(read).collect())
            }
            Chosen::Run(entry) => {
                let run = app.store.open(entry)?.data;
                if sides.is_empty() {
                    settings.slo = run.manifest.spec.slo.named();
                }
                let (measures, slo) = (&settings.measures, &settings.slo);
                let member = match is_choice {
                    true => Member::beside_documents(&run, measures, slo, &tools),
                    false => Member::of(&run, measures, slo),
                };
                (run.manifest.name.clone(), vec![member])
            }
        };
        let name = name.unwrap_or_else(|| entry.id().to_owned());
        // Two columns of one name could be mistaken for each other.
        let is_new = labels.insert(name.clone());
        let label = if is_new { name } else { format!("{name} ({})", entry.id()) };
        sides.push(Side { label, members });
    }
    let baseline = sides.remove(0);
    Ok(compare(&baseline, &sides, &settings))
}

/// The address of a comparison of these runs.
fn address<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    let fields: Vec<String> = ids.map(|id| format!("run={}", encoded(id))).collect();
    format!("/compare?{}", fields.join("&"))
}

fn body(text: &ComparisonText, entries: &[Chosen], even_so: bool) -> Markup {
    let is_unlike = |found: &Difference| found.kind == DifferenceKind::Unlike;
    let is_unlike = text.sides.iter().any(|side| side.differences.iter().any(is_unlike));
    let ids = || entries.iter().map(Chosen::id);
    let labels: Vec<&str> = std::iter::once(text.baseline.as_str())
        .chain(text.sides.iter().map(|side| side.label.as_str()))
        .collect();
    html! {
        nav class="trail" aria-label="Trail" { a href="/" { "Runs" } " / " span { "Comparison" } }
        h1 { "Side by side" }
        ol class="sides" {
            @for (index, (entry, label)) in entries.iter().zip(&labels).enumerate() {
                li {
                    a href=(entry.page()) { (label) }
                    @if index == 0 { " " span class="state plain" { "baseline" } }
                    @else {
                        @let others = ids().filter(|id| *id != entry.id());
                        " " a class="soft" href=(address(std::iter::once(entry.id()).chain(others))) { "make it the baseline" }
                    }
                }
            }
        }
        section aria-labelledby="differs" {
            h2 id="differs" { "What differs besides the numbers" }
            (differences(text, &labels))
        }
        @if is_unlike && !even_so {
            div class="banner bad" role="alert" {
                p { strong { "✗ These runs answer different questions." } " What is marked as unlike above makes their numbers say nothing about each other." }
                a class="button plain" href={ (address(ids())) "&even_so=1" } { "Compare them nevertheless" }
            }
        } @else {
            section aria-labelledby="result" {
                h2 id="result" { "Result" }
                @for side in &text.sides {
                    ul class="calm" {
                        @for line in &side.summary { li { (line) } }
                        @if let Some(line) = &side.capacity { li { (line) } }
                    }
                }
                (numbers(text, &labels))
                @for side in text.sides.iter().filter(|side| !side.doubts.is_empty()) {
                    details {
                        summary { "What is open: " (side.label) }
                        ul { @for line in &side.doubts { li { (line) } } }
                    }
                }
            }
        }
    }
}

fn differences(text: &ComparisonText, labels: &[&str]) -> Markup {
    let mut whats: Vec<(&str, DifferenceKind, Option<&str>)> = Vec::new();
    for found in text.sides.iter().flat_map(|side| &side.differences) {
        match whats.iter_mut().find(|(what, ..)| *what == found.what) {
            Some((_, kind, _)) => *kind = (*kind).max(found.kind),
            None => whats.push((&found.what, found.kind, found.a.as_deref())),
        }
    }
    whats.order_by_key(|(_, kind, _)| std::cmp::Reverse(*kind));
    let of = |what: &str, side: &ifm_report::SideText| {
        side.differences.iter().find(|found| found.what == what).map(|found| found.b.clone())
    };
    html! {
        @if whats.is_empty() { p class="good" { "✓ Nothing: server, workload and client are alike." } }
        @else {
            div class="scroll" tabindex="0" role="region" aria-label="What differs" {
                table class="side-by-side" {
                    caption class="quiet" { "What differs besides the numbers" }
                    thead { tr {
                        th scope="col" { "What" } th scope="col" { "Means" }
                        @for label in labels { th scope="col" { (label) } }
                    } }
                    tbody { @for (what, kind, a) in whats {
                        tr {
                            th scope="row" { (what) }
                            td { (means(kind)) }
                            td { (a.map_or("not known".to_owned(), plain)) }
                            @for side in &text.sides {
                                td { @match of(what, side) {
                                    None => { span class="soft" { "the same" } }
                                    Some(b) => { (b.as_deref().map_or("not known".to_owned(), plain)) }
                                } }
                            }
                        }
                    } }
                }
            }
        }
    }
}

fn means(kind: DifferenceKind) -> Markup {
    let (class, words) = match kind {
        DifferenceKind::Unlike => ("bad", "✗ unlike"),
        DifferenceKind::Warning => ("warn", "⚠ may explain it"),
        DifferenceKind::Expected | DifferenceKind::Same => ("soft", "differs"),
    };
    html! { span class={ (class) " nowrap" } { (words) } }
}

fn numbers(text: &ComparisonText, labels: &[&str]) -> Markup {
    let mut groups: Vec<(&str, Vec<&RowText>)> = Vec::new();
    for row in &text.rows {
        match groups.last_mut().filter(|(load, _)| *load == row.load) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((&row.load, vec![row])),
        }
    }
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="Measures" {
            table class="side-by-side numbers" {
                caption class="quiet" { "Each measure at each load, with its verdict against the baseline" }
                thead {
                    tr {
                        th scope="col" { "Measure" }
                        @for (index, label) in labels.iter().enumerate() {
                            th scope="col" class="number" { (label) }
                            @if index > 0 { th scope="col" class="number" { "Change" } th scope="col" { "Verdict" } }
                        }
                    }
                }
                @for (load, rows) in groups {
                    tbody {
                        tr class="group" { th scope="rowgroup" colspan=(2 + 3 * text.sides.len()) { (load) } }
                        @for row in rows { tr {
                            th scope="row" { (row.measure) }
                            td class="number" { (row.baseline) }
                            @for side in &row.sides { (cells(side.as_ref())) }
                        } }
                    }
                }
            }
        }
    }
}

fn cells(cell: Option<&CellText>) -> Markup {
    let Some(cell) = cell else {
        return html! { td colspan="3" class="soft" { "not measured at this load" } };
    };
    let (class, sign) = match cell.verdict {
        Verdict::Better => ("good", "✓ "),
        Verdict::Worse => ("bad", "✗ "),
        Verdict::PredictedAbove => ("warn", "▲ "),
        Verdict::PredictedBelow => ("warn", "▼ "),
        Verdict::Inconclusive => ("warn", "? "),
        Verdict::NoRelevantDifference | Verdict::NoDifferenceShown => ("soft", "= "),
    };
    html! {
        td class="number" { (cell.value) }
        td class="number" { (cell.change) }
        td class={ (class) " nowrap" } { (sign) (cell.words) }
    }
}
