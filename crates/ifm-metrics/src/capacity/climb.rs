//! The capacity of measured loads: the largest that is inside while every lower one is, and its
//! interval.
//!
//! A run, a report, a comparison and `capacity RESULT` share this definition. Not here: how a load is
//! judged, by a level (`slo`) or by what a document states (`fitting`).

use crate::slo::VerdictState;

/// What is known about the number of users that fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsersState {
    /// The level fits and the next one does not.
    Found,
    /// Every measured level fits, so there may be room for more.
    AtLeast,
    /// Not even the lowest level fits.
    None,
    /// There is no target, or the lowest level cannot be judged.
    Unknown,
}

/// A judged load; repeats of one load are one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Whether it is inside.
    pub state: VerdictState,
    /// Whether enough requests support that.
    pub is_sure: bool,
}

impl Step {
    /// Repeats of a load as one: it is inside only if each of them is.
    pub fn of_repeats(repeats: impl IntoIterator<Item = Step>) -> Step {
        let repeats: Vec<Step> = repeats.into_iter().collect();
        let is = |state| move |step: &&Step| step.state == state;
        let any_sure = |state| repeats.iter().filter(is(state)).any(|step| step.is_sure);
        let has = |state| repeats.iter().any(|step| step.state == state);
        match (has(VerdictState::Fail), has(VerdictState::Unknown)) {
            (true, _) => Step { state: VerdictState::Fail, is_sure: any_sure(VerdictState::Fail) },
            (false, true) => Step { state: VerdictState::Unknown, is_sure: false },
            (false, false) => {
                Step { state: VerdictState::Pass, is_sure: repeats.iter().all(|step| step.is_sure) }
            }
        }
    }
}

/// The capacity, by places in the list of rising loads.
#[derive(Debug, Clone, PartialEq)]
pub struct Climb {
    /// What is known.
    pub state: UsersState,
    /// The largest load inside while every lower one is.
    pub fits: Option<usize>,
    /// The lowest load that is not inside, or that nothing decides.
    pub worse: Option<usize>,
    /// Whether both are judged on enough requests.
    pub is_sure: bool,
    /// The largest load that is surely inside while every lower one surely is: the lower end of the
    /// interval.
    pub low: Option<usize>,
    /// The last load before the lowest that is surely outside: the upper end. Absent where no load is
    /// surely outside, and where the lowest is.
    pub high: Option<usize>,
    /// Loads above `worse` that are inside.
    pub inside_above: Vec<usize>,
}

/// The capacity of loads in rising order.
pub fn climb(steps: &[Step]) -> Climb {
    let passes = |step: &Step| step.state == VerdictState::Pass;
    let worse = steps.iter().position(|step| !passes(step));
    let fits = worse.unwrap_or(steps.len()).checked_sub(1);
    let state = match (fits, worse.and_then(|worse| steps.get(worse))) {
        (Some(_), Some(_)) => UsersState::Found,
        (Some(_), None) => UsersState::AtLeast,
        (None, Some(Step { state: VerdictState::Fail, .. })) => UsersState::None,
        (None, _) => UsersState::Unknown,
    };
    let is_surely = |step: &Step, state| step.is_sure && step.state == state;
    let sure_inside = steps.iter().take_while(|step| is_surely(step, VerdictState::Pass)).count();
    let sure_outside = steps.iter().position(|step| is_surely(step, VerdictState::Fail));
    let mut ends = [fits, worse].into_iter().flatten().filter_map(|place| steps.get(place));
    let above = worse.map_or(steps.len(), |worse| worse + 1);
    Climb {
        state,
        fits,
        worse,
        is_sure: state != UsersState::Unknown && ends.all(|step| step.is_sure),
        low: sure_inside.checked_sub(1),
        high: sure_outside.and_then(|first| first.checked_sub(1)),
        inside_above: (above..steps.len())
            .filter(|place| steps.get(*place).is_some_and(passes))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_load_inside_has_an_interval() {
        use VerdictState::{Fail, Pass, Unknown};
        let check = |steps: &[(VerdictState, bool)], expect| {
            let steps: Vec<Step> = steps
                .iter()
                .map(|(state, is_sure)| Step { state: *state, is_sure: *is_sure })
                .collect();
            let found = climb(&steps);
            let ends = (found.state, found.fits, found.worse, found.low, found.high);
            assert_eq!((ends, found.inside_above), expect, "{steps:?}");
        };
        let (sure, open) = (true, false);
        check(
            &[(Pass, sure), (Pass, open), (Fail, open), (Fail, sure)],
            ((UsersState::Found, Some(1), Some(2), Some(0), Some(2)), vec![]),
        );
        check(&[(Pass, sure)], ((UsersState::AtLeast, Some(0), None, Some(0), None), vec![]));
        check(
            &[(Fail, sure), (Pass, sure)],
            ((UsersState::None, None, Some(0), None, None), vec![1]),
        );
        check(&[(Unknown, open)], ((UsersState::Unknown, None, Some(0), None, None), vec![]));
        check(&[], ((UsersState::Unknown, None, None, None, None), vec![]));
    }
}
