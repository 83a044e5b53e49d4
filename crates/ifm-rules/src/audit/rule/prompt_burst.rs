//! The prompts of a burst take as long at one level as the same prompts do at another.

use super::super::burst::{Burst, bursts};
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;

pub(super) const RULE: Rule =
    Rule { id: "prompt_burst", title: "prompts take equally long to compute at every level", look };

/// How many times faster the same prompts may be computed at another level: more requests that begin
/// together keep the server's front end and its decode steps busy. And from where on little but a
/// cache explains it.
const FASTER: f64 = 3.0;
const FAR: f64 = 6.0;

/// A level whose prompts were computed faster than the same ones elsewhere.
struct Fast<'c> {
    cell: &'c Cell<'c>,
    burst: Burst,
    other: &'c Cell<'c>,
    by: Burst,
}

impl Fast<'_> {
    fn times(&self) -> f64 {
        self.burst.rate() / self.by.rate()
    }
}

fn look(subject: &Subject) -> Looked {
    let sweeps = subject.sweeps();
    let (mut seen, mut fast) = (0, Vec::new());
    for sweep in &sweeps {
        let (levels, found) = of_sweep(sweep);
        seen += levels;
        fast.extend(found);
    }
    if seen == 0 {
        return Looked::Needs(
            "levels of the same prompts whose requests all begin at once, one of them with as many \
             users as requests, with percentiles of the TTFT",
        );
    }
    let Some(worst) = fast.iter().max_by(|a, b| a.times().total_cmp(&b.times())) else {
        return Looked::Found(Vec::new());
    };
    let (burst, by) = (worst.burst, worst.by);
    let text = format!(
        "{} of {seen} levels compute their prompts faster than a level of the same prompts did, such \
         as {}: {:.0} or more of its first prompts have their first token within {:.0} ms ({:.0} \
         prompt tokens per second), and {:.0} needed {:.0} ms where all began together ({:.0}): \
         prompts that an earlier level had left in a cache explain it",
        fast.len(),
        worst.cell.name(),
        burst.prompts,
        burst.within_s * 1e3,
        burst.rate(),
        by.prompts,
        by.within_s * 1e3,
        by.rate()
    );
    let level = if worst.times() > FAR { Level::Strong } else { Level::Hint };
    let finding = Finding::new(RULE.id, level, text)
        .at(worst.cell.spot())
        .at_all(fast.iter().map(|fast| fast.cell.spot()))
        .at(worst.other.spot())
        .with("prompt tokens per second", burst.rate(), "/s")
        .with("where all began together", by.rate(), "/s")
        .remedy("disable the prefix cache, or send other prompts at each level");
    Looked::Found(vec![finding])
}

/// Number of levels that were compared, and the levels that are too fast: compared with the fastest
/// level whose requests all began together, with as many prompts or fewer. With more prompts some
/// may have waited for a place on the server.
fn of_sweep<'c>(sweep: &[&'c Cell<'c>]) -> (usize, Vec<Fast<'c>>) {
    let total = |cell: &Cell| Some((cell.tokens(Metric::InputTokens)?, cell.requests()?));
    let fastest =
        |bursts: Vec<Burst>| bursts.into_iter().max_by(|a, b| a.rate().total_cmp(&b.rate()));
    let all: Vec<(&Cell, Burst)> =
        sweep.iter().filter_map(|cell| Some((*cell, fastest(bursts(cell))?))).collect();
    let (mut levels, mut found) = (0, Vec::new());
    for (cell, burst) in all.iter().filter(|(_, burst)| !burst.is_whole) {
        let same = sweep.iter().filter(|other| total(other) == total(cell)).flat_map(|other| {
            let whole = bursts(other).into_iter().filter(|by| by.is_whole);
            whole.filter(|by| by.prompts <= burst.prompts).map(move |by| (*other, by))
        });
        let Some((other, by)) = same.max_by(|a, b| a.1.rate().total_cmp(&b.1.rate())) else {
            continue;
        };
        levels += 1;
        let fast = Fast { cell, burst: *burst, other, by };
        found.extend((fast.times() > FASTER).then_some(fast));
    }
    (levels, found)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Statistic, Unit, key};

    /// 500 prompts of 200 tokens: all at once half of them need 5 s, 10,000 tokens per second. Of
    /// 300 users 295 are below the P99.
    fn document(p99: &str, tokens: &str) -> Sheet {
        let level = |line, users: Option<u32>, median: &str, p99: &str, tokens: &str| {
            let (count, value) = (Unit::Count, Statistic::Value);
            let mut row = row(
                line,
                &[
                    (Metric::RequestsOk, value, "500", count.clone()),
                    (Metric::InputTokens, value, tokens, count),
                    (Metric::Ttft, Statistic::Median, median, Unit::Ms),
                    (Metric::Ttft, Statistic::Percentile(99.0), p99, Unit::Ms),
                ],
            );
            if let Some(users) = users {
                row.factors.set(key::CONCURRENCY, users);
            }
            row
        };
        let rows =
            vec![level(3, None, "5000", "10500", "100000"), level(9, Some(300), "90", p99, tokens)];
        let mut sheet = sheet(PartKind::Serving, rows);
        sheet.parts[0].tool = Some("vllm bench serve".to_owned());
        sheet
    }

    #[test]
    fn reports_prompts_that_cost_nothing_at_a_later_level() {
        let sound = document("3000", "100000");
        let cached = |sheet: &mut Sheet| *sheet = document("250", "100000");
        check("prompt_burst", &sound, cached, Level::Strong, "295 or more of its first prompts");
        let some = |sheet: &mut Sheet| *sheet = document("1500", "100000");
        check("prompt_burst", &sound, some, Level::Hint, "1 of 1 levels");
        // Other prompts may be shorter ones.
        assert_eq!(found("prompt_burst", &[document("250", "90000")]), []);
        // A server with 128 places lets the others wait, and is as fast with 100 users.
        let mut few = document("250", "100000");
        few.parts[0].rows[1].factors.set(key::CONCURRENCY, 100);
        assert_eq!(found("prompt_burst", &[few]), []);
    }
}
