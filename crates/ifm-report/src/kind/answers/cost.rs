//! What comes out of the server, and what a token costs.

use super::super::common::{ends, lines, load_axis, value_axis};
use super::{Answers, CURVES_MAX, ROWS_MAX, name};
use crate::format::{meant, number, percent};
use crate::model::load;
use crate::page::{Block, Cell, Figure, Head, Remark, Section, Table};
use crate::words;
use ifm_analysis::insight::{Insight, Meant, Topic};
use ifm_analysis::level::Load;
use ifm_analysis::survey::{Fitting, Pooled, Reading, Yield};
use ifm_chart::{Cartesian, Chart, Plot};
use ifm_core::sheet::{Quantity, Statistic};

/// The rule that says that later levels may have been cheaper than new prompts are.
const SAME_PROMPTS: &str = "same_prompts";
/// Shares of the time that a server is busy, for its price.
const USES: [f64; 3] = [1.0, 0.5, 0.25];

impl<'q> Answers<'q> {
    /// What comes out and what it costs; absent where nobody counted tokens.
    pub fn cost(&self, insights: &[Insight]) -> Option<Section> {
        let table = self.prices()?;
        let mut blocks = Vec::new();
        let is_said =
            |insight: &&Insight| insight.topic == Topic::Cost || insight.rule == SAME_PROMPTS;
        let said: Vec<&Insight> = insights.iter().filter(is_said).collect();
        if let Some(usd) = self.question.usd_per_hour {
            blocks.push(Block::Prose(format!(
                "The price is {} an hour, as given with --price. A million output tokens cost price · 10⁶ / (output \
                 rate · 3600) if it is busy all the time, and twice that if half of it.",
                meant(usd, Meant::Usd)
            )));
            let chart = self.price_chart(usd);
            match chart {
                Some(chart) => blocks.push(Block::Figures(vec![Figure::new(chart, said)])),
                None => blocks.push(Block::Remarks(said.into_iter().map(Remark::of).collect())),
            }
        }
        blocks.push(Block::Table(table));
        Some(Section::new("What comes out and what it costs", blocks))
    }

    fn prices(&self) -> Option<Table> {
        let usd = self.question.usd_per_hour;
        let slo = self.first()?;
        let fittings = self.fittings(slo);
        let rows: Vec<(String, &str, Pooled)> =
            fittings.iter().take(ROWS_MAX).flat_map(|fitting| self.places(fitting)).collect();
        let yields: Vec<_> = rows
            .into_iter()
            .filter_map(|(name, place, cell)| Some((name, place, cell.output_yield(usd)?, cell)))
            .collect();
        if yields.is_empty() {
            return None;
        }
        let has_names = yields.iter().any(|(name, ..)| !name.is_empty());
        let has_energy = yields.iter().any(|(_, _, found, _)| found.output_tok_per_kwh.is_some());
        let mut heads = vec![
            Head::text("where"),
            Head::number("load"),
            Head::number("out tok/s"),
            Head::number("tokens/hour"),
        ];
        if has_names {
            heads.insert(0, Head::text("curve"));
        }
        if usd.is_some() {
            heads.extend(USES.map(|share| Head::number(format!("$/M, {} used", percent(share)))));
        }
        if has_energy {
            heads.push(Head::number("tokens/kWh"));
        }
        let row = |(name, place, found, cell): (String, &str, Yield, Pooled)| {
            let mut row = vec![
                Cell::text(place),
                Cell { value: cell.load().map(Load::value), ..Cell::text(load(cell.load())) },
                Cell::number(Some(found.output_tok_per_s), number),
                Cell::number(Some(found.output_tok_per_hour), number),
            ];
            if has_names {
                row.insert(0, Cell::head(name));
            }
            if usd.is_some() {
                row.extend(USES.map(|share| {
                    let cost = found.usd_per_million.map(|cost| cost / share);
                    Cell::number(cost, |cost| meant(cost, Meant::Usd))
                }));
            }
            if has_energy {
                row.push(Cell::number(found.output_tok_per_kwh, number));
            }
            row
        };
        Some(Table {
            caption: format!("At capacity means inside {}.", words::target(slo)),
            heads,
            rows: yields.into_iter().map(row).collect(),
        })
    }

    /// The loads that a price is told for: capacity, most output, lowest.
    fn places(&self, fitting: &Fitting<'q>) -> Vec<(String, &'static str, Pooled<'q>)> {
        let is_of = |cell: &&Pooled| {
            self.names.iter().all(|name| cell.factor(name).as_deref() == fitting.of.get(name))
        };
        let rate =
            |cell: &Pooled| cell.output_yield(None).map_or(0.0, |found| found.output_tok_per_s);
        let peak = self.pool.cells.iter().filter(is_of).max_by(|a, b| rate(a).total_cmp(&rate(b)));
        let places = [
            ("at capacity", fitting.fits.clone()),
            ("at capacity?", fitting.resumed.as_ref().map(|resumed| resumed.fits.clone())),
            ("at most output", peak.cloned()),
            ("at the lowest load", fitting.lowest.clone()),
        ];
        let name = name(fitting);
        places.into_iter().filter_map(|(place, cell)| Some((name.clone(), place, cell?))).collect()
    }

    fn price_chart(&self, usd: f64) -> Option<Chart> {
        let curves = self.pool.curves_against(&self.names, |cell| {
            let cost = cell.output_yield(Some(usd))?.usd_per_million?;
            let reading = Reading::new(Quantity::CostPerMillion, Statistic::Value, cost);
            Some((cell.load()?.value(), reading))
        });
        let curves: Vec<_> =
            curves.into_iter().filter(|curve| curve.points.len() > 1).take(CURVES_MAX).collect();
        if curves.is_empty() {
            return None;
        }
        let series = lines(&curves, Meant::Usd);
        let y = value_axis("a million output tokens", "$", &series);
        Some(Chart {
            id: "cost".to_owned(),
            title: "What does a million tokens cost?".to_owned(),
            description: ends(&series, "users"),
            plot: Plot::Cartesian(Cartesian {
                x: load_axis(&curves),
                y,
                series,
                ..Cartesian::default()
            }),
        })
    }
}
