//! Several looks at one load, taken together.

use crate::level::{Seen, behind_first_wave};
use ifm_core::spec::RunSpec;
use ifm_core::{EndedSession, Phase, RequestRecord};

/// What was seen of some levels, as if it were of the first one.
#[derive(Debug, Clone, Default)]
pub struct Pooled {
    /// Measured requests.
    pub requests: Vec<RequestRecord>,
    /// Sessions of which no request shows how they ended.
    pub ended: Vec<EndedSession>,
}

impl Pooled {
    /// As what was seen of one level.
    pub fn seen(&self) -> Seen<'_> {
        Seen { requests: &self.requests, ended: &self.ended }
    }
}

/// Records of several levels, merged as if they were of the first one. In each of them all users
/// began together; the judge removes only one first wave, so the first waves of the other levels
/// are removed here.
pub fn pooled(spec: &RunSpec, looks: &[u16], seen: Seen) -> Pooled {
    let Some(&first) = looks.first() else { return Pooled::default() };
    let of_look = |look: &u16| {
        let is_of =
            |record: &&RequestRecord| record.level == *look && record.phase == Phase::Measure;
        let measured: Vec<&RequestRecord> = seen.requests.iter().filter(is_of).collect();
        match *look == first {
            true => measured,
            false => behind_first_wave(spec.levels.get(usize::from(*look)), &measured),
        }
    };
    let of_looks = looks.iter().flat_map(of_look);
    let ended = seen.ended.iter().filter(|ended| looks.contains(&ended.level));
    Pooled {
        requests: of_looks.map(|record| RequestRecord { level: first, ..record.clone() }).collect(),
        ended: ended.map(|ended| EndedSession { level: first, ..*ended }).collect(),
    }
}
