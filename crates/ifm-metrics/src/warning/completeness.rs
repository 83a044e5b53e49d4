//! Levels that did not run to their planned end.

use super::{AtLevel, Check, Context, Made, Severity};
use crate::level::LevelSummary;

pub(super) const CHECK: Check =
    Check { id: "completeness", title: "levels ran to their end", run: Made::ByLevel(make) };

fn make(_: &Context, level: &LevelSummary) -> AtLevel {
    match level.complete {
        Some(true) => AtLevel::Silent,
        Some(false) => fires("the level stopped early"),
        None => fires("the run was cut off during this level"),
    }
}

fn fires(text: &str) -> AtLevel {
    AtLevel::Fires(Severity::Caution, text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::testing::check;

    #[test]
    fn fires_on_a_stopped_and_on_a_lost_level() {
        let stop = |run: &mut ifm_core::RunData| run.manifest.levels[0].complete = false;
        check("completeness", stop, Severity::Caution, "stopped early");
        let lose = |run: &mut ifm_core::RunData| run.manifest.levels.clear();
        check("completeness", lose, Severity::Caution, "cut off during");
    }
}
