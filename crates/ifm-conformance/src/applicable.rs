//! Which cases apply to a command.
//!
//! A command without a placeholder that a case needs cannot be judged by it: the result is neither
//! right nor wrong.

use super::Trial;
use ifm_truth::{Api, Case};

/// The placeholders of time limits in a command.
const LIMITS: [&str; 3] = ["{first_token_s}", "{idle_s}", "{total_s}"];

/// Why this case does not apply to the client of this command, if so.
pub(super) fn reason(trial: &Trial, case: &Case) -> Option<&'static str> {
    let command = trial.command_for(case.api);
    let has = |place: &str| command.contains(place);
    let limits = &case.limits;
    let needs_limit = [limits.first_token_ms, limits.idle_ms, limits.total_ms];
    if case.api == Api::Completions && !trial.asks_completions() {
        Some("the command is for chat: no {api}, no {endpoint}, and no --completions-cmd")
    } else if needs_limit.iter().any(Option::is_some) && !LIMITS.iter().any(|place| has(place)) {
        Some("the command sets no time limit: {first_token_s}, {idle_s} or {total_s}")
    } else if case.requests > 1 && !has("{requests}") {
        Some("the command sends one request: no {requests}")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::trial;

    fn of(trial: &Trial, name: &str) -> Option<&'static str> {
        let suite = ifm_truth::cases::suite();
        reason(trial, suite.iter().find(|case| case.name == name).expect("the case"))
    }

    #[test]
    fn a_case_is_asked_where_the_command_has_a_place_for_what_it_needs() {
        let bare = trial("client {url}");
        assert_eq!(of(&bare, "baseline"), None);
        assert!(of(&bare, "stall_midstream").is_some_and(|reason| reason.contains("{idle_s}")));
        assert!(of(&bare, "completions").is_some_and(|reason| reason.contains("for chat")));
        let several = ifm_truth::cases::suite().into_iter().find(|case| case.requests > 1);
        let several = several.expect("a case of several requests");
        assert!(reason(&bare, &several).is_some_and(|reason| reason.contains("{requests}")));
        let whole = trial("client {url}{endpoint} -n {requests} --timeout {total_s}");
        for case in ifm_truth::cases::suite() {
            assert_eq!(reason(&whole, &case), None, "{}", case.name);
        }
        let mut second = bare;
        second.completions_command = Some("client {url} --text".to_owned());
        assert_eq!(of(&second, "completions"), None);
    }
}
