//! Several looks at one load, taken together.

use crate::level::behind_first_wave;
use ifm_core::spec::RunSpec;
use ifm_core::{Phase, RequestRecord};

/// The measured requests of some levels as if they were of the first one. All users began together
/// in each of them; the judge leaves the first wave out once, so those of the others go here.
pub fn pooled(spec: &RunSpec, looks: &[u16], records: &[RequestRecord]) -> Vec<RequestRecord> {
    let Some(&first) = looks.first() else { return Vec::new() };
    let of_look = |look: &u16| {
        let is_of =
            |record: &&RequestRecord| record.level == *look && record.phase == Phase::Measure;
        let measured: Vec<&RequestRecord> = records.iter().filter(is_of).collect();
        match *look == first {
            true => measured,
            false => behind_first_wave(spec.levels.get(usize::from(*look)), &measured),
        }
    };
    let of_looks = looks.iter().flat_map(of_look);
    of_looks.map(|record| RequestRecord { level: first, ..record.clone() }).collect()
}
