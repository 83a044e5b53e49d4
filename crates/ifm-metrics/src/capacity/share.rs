//! What a load comes to for each thing that carries it: a GPU, a kilowatt, a dollar an hour; and what
//! one session takes of them.
//!
//! Not here: which load it is, whether a search found it or stored results tell it.

use super::Price;
use ifm_core::Manifest;
use ifm_core::sheet::key;

const W_PER_KW: f64 = 1e3;

/// The user's settings for converting a capacity.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Worth {
    /// Pause of a person between two requests, seconds.
    pub think_s: Option<f64>,
    /// People to be served.
    pub target_people: Option<u32>,
    /// Share of a server that is kept free.
    pub headroom: f64,
    /// Price of a GPU for an hour, US dollars.
    pub usd_per_gpu_hour: Option<f64>,
    /// Price of the whole server for an hour, where that of a GPU is not known.
    pub usd_per_hour: Option<f64>,
    /// GPUs of the server; absent if not given.
    pub gpus: Option<f64>,
}

impl Worth {
    /// GPUs of the server: the user's number, else the number that its machine reports.
    pub fn gpus(&self, told: Option<f64>) -> Option<f64> {
        self.gpus.or(told)
    }

    /// Price of the whole server, which is assumed to have one GPU if the number is unknown.
    pub fn price(&self, told: Option<f64>) -> Option<Price> {
        let by_gpus = self.usd_per_gpu_hour.map(|usd| usd * self.gpus(told).unwrap_or(1.0));
        by_gpus.or(self.usd_per_hour).map(|per_hour| Price { per_hour })
    }
}

/// GPUs of the server of a run: the number given to its search for the capacity, the number of a
/// prediction, the number in a tag, or all GPUs of its machine; absent if unknown.
pub fn gpus_told(manifest: &Manifest) -> Option<f64> {
    let said = manifest.capacity.as_ref().and_then(|found| found.gpus);
    let predicted = || {
        let predicted = manifest.predicted.as_ref();
        predicted.map(|of| f64::from(of.gpus.saturating_mul(of.replicas)))
    };
    let tagged = || manifest.tags.get(key::TENSOR_PARALLEL)?.parse().ok();
    let of_machine = || manifest.facts.as_ref().map(|facts| facts.gpus.len() as f64);
    said.or_else(predicted).or_else(tagged).or_else(of_machine).filter(|gpus| *gpus > 0.0)
}

/// Hardware that carries a load. Unknown values are absent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Carriers {
    /// GPUs of the server.
    pub gpus: Option<f64>,
    /// Mean power at that load, watts.
    pub watts: Option<f64>,
    /// Price of the whole server for an hour, US dollars.
    pub usd_per_hour: Option<f64>,
    /// Sessions that come to their end in an hour at that load.
    pub sessions_per_hour: Option<f64>,
}

/// How a [`Share`] is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareUnit {
    /// So much of the load.
    Load,
    /// US dollars.
    Usd,
    /// Watt-hours.
    WattHours,
}

/// A figure that follows from a load and what carries it.
#[derive(Debug)]
pub struct Share {
    /// Its field in documents.
    pub field: &'static str,
    /// The head of its column.
    pub head: &'static str,
    /// What it is counted in.
    pub unit: ShareUnit,
    /// The figure for a load and its carriers; absent where one of them is not known.
    pub of: fn(f64, &Carriers) -> Option<f64>,
}

/// All of them. To add one, add a line.
pub static SHARES: [Share; 6] = [
    Share {
        field: "per_gpu",
        head: "per GPU",
        unit: ShareUnit::Load,
        of: |load, by| Some(load / some(by.gpus)?),
    },
    Share {
        field: "per_kw",
        head: "per kW",
        unit: ShareUnit::Load,
        of: |load, by| Some(load / (some(by.watts)? / W_PER_KW)),
    },
    Share {
        field: "per_usd_per_hour",
        head: "per $/h",
        unit: ShareUnit::Load,
        of: |load, by| Some(load / some(by.usd_per_hour)?),
    },
    Share {
        field: "usd_per_hour_each",
        head: "$/h each",
        unit: ShareUnit::Usd,
        of: |load, by| Some(some(by.usd_per_hour)? / some(Some(load))?),
    },
    Share {
        field: "usd_per_session",
        head: "$/session",
        unit: ShareUnit::Usd,
        of: |_, by| Some(some(by.usd_per_hour)? / some(by.sessions_per_hour)?),
    },
    Share {
        field: "wh_per_session",
        head: "Wh/session",
        unit: ShareUnit::WattHours,
        of: |_, by| Some(some(by.watts)? / some(by.sessions_per_hour)?),
    },
];

/// A number that something can be divided by.
fn some(number: Option<f64>) -> Option<f64> {
    number.filter(|number| *number > 0.0 && number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(load: f64, by: Carriers) -> Vec<(&'static str, f64)> {
        SHARES.iter().filter_map(|share| Some((share.field, (share.of)(load, &by)?))).collect()
    }

    /// 24 agents on 4 GPUs that draw 1.6 kW together and cost $8 an hour, 40 sessions an hour.
    #[test]
    fn a_load_is_shared_out_over_what_carries_it() {
        let all = Carriers {
            gpus: Some(4.0),
            watts: Some(1600.0),
            usd_per_hour: Some(8.0),
            sessions_per_hour: Some(40.0),
        };
        let expect = [
            ("per_gpu", 6.0),
            ("per_kw", 15.0),
            ("per_usd_per_hour", 3.0),
            ("usd_per_hour_each", 8.0 / 24.0),
            ("usd_per_session", 0.2),
            ("wh_per_session", 40.0),
        ];
        assert_eq!(shares(24.0, all), expect);
        // An unknown value, or zero, is not divided by.
        let none = Carriers { watts: Some(0.0), ..Carriers::default() };
        assert_eq!(shares(24.0, none), []);
        let sessions = Carriers { sessions_per_hour: Some(40.0), ..none };
        assert_eq!(shares(24.0, sessions), []);
    }

    #[test]
    fn a_price_is_for_all_gpus_that_are_known() {
        let worth = Worth { usd_per_gpu_hour: Some(2.0), ..Worth::default() };
        let hour = |worth: Worth, told| worth.price(told).map(|price| price.per_hour);
        assert_eq!((hour(worth, None), hour(worth, Some(8.0))), (Some(2.0), Some(16.0)));
        let said = Worth { gpus: Some(0.5), ..worth };
        assert_eq!((said.gpus(Some(8.0)), hour(said, Some(8.0))), (Some(0.5), Some(1.0)));
        let whole = Worth { usd_per_gpu_hour: None, usd_per_hour: Some(9.0), ..worth };
        assert_eq!((hour(whole, Some(8.0)), hour(Worth::default(), None)), (Some(9.0), None));
    }
}
