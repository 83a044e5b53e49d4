//! What a load showed about a target, whether it was measured or scouted.
//!
//! Not here: how it is found out (`scout`, and the verdicts of `slo`).

/// What a measured load showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// It is inside the target.
    Inside,
    /// It is outside.
    Outside,
    /// As many requests as there was time for do not tell: it lies at the limit, or they were too few.
    Unsettled,
}
