//! Runs one after the other: what changed, in the report that `inferometer history` writes.
//!
//! Which runs: those that were chosen in the list, those with a name or a tag, or all. What is not here: what is
//! found in them.

use super::{Place, page};
use crate::app::{App, aside};
use crate::catalogue::{Item, State as Standing};
use crate::download::framed;
use crate::failure::Failure;
use crate::form::Fields;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use ifm_compare::comparison::{Member, Settings};
use ifm_compare::history::{Dated, HistorySettings, Per, history};
use ifm_core::order::Order as _;
use ifm_report::{Charts, history_page, page as formats};
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Runs that are looked at: the latest of them.
const RUNS_MAX: usize = 100;
/// Draws behind the interval of each value, as of the command.
const RESAMPLES: u32 = 400;

/// The page: which runs, and the report in its frame.
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let markup = aside(&app, move |app| {
        let fields = Fields::of_query(query.as_deref());
        let all = runs(app)?;
        let chosen = chosen(&all, &fields);
        let tags: BTreeSet<&str> = all.iter().flat_map(tags).collect();
        let names = names(&all, fields.get("tag"));
        let query = query.as_deref().unwrap_or_default();
        let body = html! {
            h1 { "History" }
            form class="toolbar line" method="get" action="/history" {
                label for="tag" { "Runs with the name or tag" }
                select id="tag" name="tag" {
                    option value="" { "any" }
                    @for (kind, words) in [("Names", &names), ("Tags", &tags)] {
                        @if !words.is_empty() {
                            optgroup label=(kind) {
                                @for word in words {
                                    option value=(word) selected[fields.get("tag") == Some(word)] { (word) }
                                }
                            }
                        }
                    }
                }
                button type="submit" { "Show" }
            }
            (frame(chosen.len(), query))
        };
        Ok(page(app, "History", Place::History, body))
    })
    .await?;
    Ok(markup.into_response())
}

fn frame(runs: usize, query: &str) -> Markup {
    html! {
        @if runs == 0 {
            p class="lead" { "No run that ended is among these. Give the runs of every night one name or one tag, such as nightly, and they have a history." }
        } @else {
            p class="lead" { (runs) @if runs == 1 { " run" } @else { " runs" } ", the oldest first" }
            iframe class="report" title="History of these runs" src={ "/history/page?" (query) } sandbox="allow-scripts allow-popups allow-modals" referrerpolicy="no-referrer" {}
        }
    }
}

/// The report, for the frame.
pub(crate) async fn report(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let text = aside(&app, move |app| {
        let fields = Fields::of_query(query.as_deref());
        let all = runs(app)?;
        let comparison = Settings { resamples: RESAMPLES, ..Settings::default() };
        let read = |item: &&Item| -> Result<Dated, Failure> {
            let run = app.store.open(&app.run(&item.id)?)?.data;
            Ok(Dated {
                at_utc: Some(run.manifest.created_utc.clone()),
                member: Member::of(&run, &comparison.measures, &comparison.slo),
                tags: item.factors.iter().chain(&item.tags).cloned().collect(),
            })
        };
        let dated = chosen(&all, &fields).iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let settings = HistorySettings { comparison, by: Vec::new(), per: Per::Run };
        let found = history(&dated, &settings);
        Ok(formats::html(&history_page(&found, Charts::All)))
    })
    .await?;
    Ok(framed(text))
}

/// Runs that ended and were measured, the oldest first.
fn runs(app: &App) -> Result<Vec<Item>, Failure> {
    let mut all = app.catalogue().items(&app.store)?;
    all.retain(|item| {
        matches!(item.state, Standing::Complete | Standing::Partial)
            && !item.server.starts_with("predicted")
    });
    all.order_by(|a, b| a.id.cmp(&b.id));
    Ok(all)
}

/// Tags and what was said to be set.
fn tags(item: &Item) -> impl Iterator<Item = &str> {
    item.tags.iter().chain(&item.factors).map(String::as_str)
}

/// Names that several runs share, and the one that is asked for. A word that is a tag too stands among these.
fn names<'i>(all: &'i [Item], asked: Option<&str>) -> BTreeSet<&'i str> {
    let mut runs: BTreeMap<&str, usize> = BTreeMap::new();
    for name in all.iter().filter_map(|item| item.name.as_deref()) {
        *runs.entry(name).or_default() += 1;
    }
    runs.retain(|name, runs| {
        let is_tag = all.iter().flat_map(tags).any(|tag| tag == *name);
        !is_tag && (*runs > 1 || asked == Some(name))
    });
    runs.into_keys().collect()
}

/// Those that the address asks for, by a tag or a name; of many the latest.
fn chosen<'i>(all: &'i [Item], fields: &Fields) -> Vec<&'i Item> {
    let ids: BTreeSet<&str> = fields.all("run").collect();
    let tag = fields.get("tag");
    let is_asked = |item: &&Item| {
        let has = |word: &str| {
            item.name.as_deref() == Some(word) || tags(item).any(|known| known == word)
        };
        (ids.is_empty() || ids.contains(item.id.as_str())) && tag.is_none_or(has)
    };
    let mut found: Vec<&Item> = all.iter().filter(is_asked).collect();
    let first = found.len().saturating_sub(RUNS_MAX);
    found.drain(..first);
    found
}
