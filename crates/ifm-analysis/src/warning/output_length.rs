//! Answers that are not as long as asked.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;

/// Above this relative difference, levels and runs do not do the same work.
const SHARE_MAX: f64 = 0.02;

pub(super) const CHECK: Check =
    Check { id: "output_length", title: "answers are as long as asked", run: Made::ByLevel(make) };

fn make(_: &Context, level: &LevelSummary) -> AtLevel {
    let tokens = &level.tokens;
    let (Some(asked), Some(got)) = (tokens.output_asked_mean, tokens.output_mean) else {
        return AtLevel::NotApplicable;
    };
    // An estimate may be off by more than what is looked for.
    if asked <= 0.0 || !tokens.output_from.provenance().is_exact() {
        return AtLevel::NotApplicable;
    }
    let difference = got / asked - 1.0;
    if difference.abs() <= SHARE_MAX {
        return AtLevel::Silent;
    }
    AtLevel::Fires(
        Severity::Caution,
        format!(
            "answers have {got:.1} tokens on average, {asked:.1} were asked for ({})",
            percent(difference)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::testing::check;

    #[test]
    fn fires_on_short_answers() {
        let spoil = |run: &mut ifm_core::RunData| {
            run.requests.iter_mut().for_each(|record| record.output_tokens_asked = Some(20));
        };
        check("output_length", spoil, Severity::Caution, "16.0 tokens on average, 20.0 were");
    }
}
