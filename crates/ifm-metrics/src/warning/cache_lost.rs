//! Prompts of conversations that a prefix cache could have known, if it served much fewer of them.
//!
//! Only a note: a cache that is small, shared or spread over replicas is a normal server. Not here:
//! prompts that should be new and were not, see `cache`.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::{KnownPart, LevelSummary};

/// Where so much of the prompts could be known, it is worth to look at what was.
const IDEAL_MIN: f64 = 0.1;
/// Shares are compared only if they cover at least this part of the prompts.
const COVERED_MIN: f64 = 0.95;
/// Below this part of what could be known, it is worth a note.
const SERVED_MIN: f64 = 0.5;

pub(super) const CHECK: Check = Check {
    id: "cache_lost",
    title: "repeated conversation text came from the server's cache",
    run: Made::ByLevel(make),
};

fn make(_: &Context, level: &LevelSummary) -> AtLevel {
    let Some(sessions) = level.sessions.as_deref() else { return AtLevel::NotApplicable };
    let Some(ideal) = sessions.ideal.share().filter(|ideal| *ideal >= IDEAL_MIN) else {
        return AtLevel::NotApplicable;
    };
    // A server may tell hits alone, and a workload may not know of every prompt.
    let prompts: u64 = sessions.each.iter().filter_map(|session| session.prompt_tokens).sum();
    let covers = |part: KnownPart| part.of as f64 >= COVERED_MIN * prompts as f64;
    let counter = level.server.as_ref().and_then(|server| server.cache_share());
    let (served, who) = match (sessions.told.share(), counter) {
        _ if !covers(sessions.ideal) => return AtLevel::NotApplicable,
        (Some(share), _) if covers(sessions.told) => (share, "according to the answers"),
        (_, Some(share)) => (share, "according to the server's counter"),
        _ => return AtLevel::NotApplicable,
    };
    // Neither whole blocks nor answers that became other tokens are the cache's loss.
    let parts = [sessions.ideal_of_prompts, sessions.ideal_in_blocks];
    let told = parts.into_iter().filter(|part| part.of == sessions.ideal.of);
    let could = told.filter_map(KnownPart::share).fold(ideal, f64::min);
    if served >= SERVED_MIN * could {
        return AtLevel::Silent;
    }
    AtLevel::Fires(
        Severity::Note,
        format!(
            "{} of the prompt tokens had been sent before; {who}, {} came from the server's \
             cache: it is too small for this number of conversations, spread over replicas, or \
             off",
            percent(ideal),
            percent(served)
        ),
    )
}

#[cfg(test)]
mod tests {
    use crate::testing::{conversations, run};

    #[test]
    fn a_cache_that_lost_most_is_worth_a_note() {
        let mut run = run(&[2], conversations((0, 0), (2, 20), 3, 0.0, 0.0));
        let found = |run: &ifm_core::RunData| {
            let checks = crate::summarize(run).checks;
            checks.into_iter().find(|check| check.id == "cache_lost").expect("a check")
        };
        assert!(found(&run).is_applicable && found(&run).warnings.is_empty());
        run.requests.iter_mut().for_each(|record| record.cached_tokens = Some(10));
        let warnings = found(&run).warnings;
        assert!(warnings[0].text.contains("53.3 %") && warnings[0].text.contains("10.0 %"));
        // Only hits are reported: a missing value may mean zero.
        let half = run.requests.len() / 2;
        run.requests.iter_mut().take(half).for_each(|record| record.cached_tokens = None);
        assert!(!found(&run).is_applicable);
        run.requests.iter_mut().for_each(|record| record.cached_tokens = None);
        assert!(!found(&run).is_applicable, "not reported");
    }
}
