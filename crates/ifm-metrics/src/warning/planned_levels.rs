//! Levels that were planned and have no data.

use super::{Check, Context, Finding, Made, Severity};
use ifm_core::spec::LoadSpec;

pub(super) const CHECK: Check =
    Check { id: "planned_levels", title: "every planned level has data", run: Made::ForRun(make) };

fn make(context: &Context) -> Option<Vec<Finding>> {
    let planned = &context.run.manifest.spec.levels;
    let is_missing =
        |index: usize| !context.levels.iter().any(|level| usize::from(level.level) == index);
    let missing: Vec<String> = (0..)
        .zip(planned)
        .filter(|(index, _)| is_missing(*index))
        .map(|(_, load)| words(load))
        .collect();
    let text = format!(
        "{} of {} planned levels {} no data: {}",
        missing.len(),
        planned.len(),
        if missing.len() == 1 { "has" } else { "have" },
        missing.join(", ")
    );
    Some(if missing.is_empty() { Vec::new() } else { vec![(Severity::Caution, text)] })
}

fn words(load: &LoadSpec) -> String {
    match load.arrivals.as_ref().and_then(|arrivals| arrivals.mean_req_per_s()) {
        Some(rate) => format!("{rate:.2} req/s"),
        None if load.concurrency == 1 => "1 user".to_owned(),
        None => format!("{} users", load.concurrency),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::testing::check;

    #[test]
    fn fires_on_a_level_that_was_never_run() {
        let plan = |run: &mut ifm_core::RunData| {
            let mut more = run.manifest.spec.levels[0].clone();
            more.concurrency = 64;
            run.manifest.spec.levels.push(more);
        };
        check("planned_levels", plan, Severity::Caution, "1 of 2 planned levels has no data: 64");
    }
}
