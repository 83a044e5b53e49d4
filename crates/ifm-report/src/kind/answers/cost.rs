//! Output of the server, and cost per token.

use super::super::common::{ends, lines, load_axis, value_axis};
use super::{Answers, CURVES_MAX, ROWS_MAX, name};
use crate::format::{meant, number, percent};
use crate::model::load;
use crate::page::{Block, Cell, Columns, Figure, Head, Remark, Section, Table};
use crate::words;
use ifm_chart::{Cartesian, Chart};
use ifm_core::Metric;
use ifm_core::sheet::Statistic;
use ifm_metrics::level::Load;
use ifm_results::{Fitting, Pooled, Stat, Yield};
use ifm_rules::insight::{Insight, Meant, Topic};

/// The rule that says that later levels may have been cheaper than new prompts are.
const SAME_PROMPTS: &str = "same_prompts";
/// Shares of the time that a server is busy, for its price.
const USES: [f64; 3] = [1.0, 0.5, 0.25];

impl<'q> Answers<'q> {
    /// Output and its cost; absent where tokens were not counted.
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
        Some(Section::new("Output and its cost", blocks))
    }

    fn prices(&self) -> Option<Table> {
        let usd = self.question.usd_per_hour;
        let slo = self.compared();
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
        type Row<'a> = (String, &'static str, Yield, Pooled<'a>);
        let mut columns = Columns::<Row>::default()
            .name("curve", |(name, ..): &Row| name.clone())
            .when(has_names)
            .text("where", |(_, place, ..)| (*place).to_owned())
            .cell(Head::number("load"), |(.., cell)| Cell {
                value: cell.load().map(Load::value),
                ..Cell::text(load(cell.load()))
            })
            .number("out tok/s", |(_, _, of, _)| Some(of.output_tok_per_s), number)
            .number("tokens/hour", |(_, _, of, _)| Some(of.output_tok_per_hour), number);
        for share in USES.into_iter().filter(|_| usd.is_some()) {
            columns = columns.number(
                format!("$/M, {} used", percent(share)),
                move |(_, _, of, _)| of.usd_per_million.map(|cost| cost / share),
                |cost| meant(cost, Meant::Usd),
            );
        }
        let energy = |(_, _, of, _): &Row| of.output_tok_per_kwh;
        columns = columns.number("tokens/kWh", energy, number).when(has_energy);
        let caption = match slo.terms.is_empty() {
            true => "No capacity is given because no target was set.".to_owned(),
            false => format!("At capacity means inside {}.", words::target(slo)),
        };
        Some(columns.table(caption, yields))
    }

    /// The loads for which a price is shown: capacity, most output, lowest.
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
            let reading = Stat::new(Metric::CostPerMillion, Statistic::Value, cost);
            Some((cell.load()?.value(), reading))
        });
        let curves: Vec<_> =
            curves.into_iter().filter(|curve| curve.points.len() > 1).take(CURVES_MAX).collect();
        if curves.is_empty() {
            return None;
        }
        let series = lines(&curves, Meant::Usd);
        let y = value_axis("a million output tokens", "$", &series);
        let description = ends(&series, "users");
        let plot = Cartesian::new(load_axis(&curves), y, series);
        Some(Chart::new("cost", "What does a million tokens cost?", description, plot))
    }
}
