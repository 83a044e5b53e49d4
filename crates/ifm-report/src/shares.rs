//! A load for each GPU, kilowatt and dollar an hour, and what one session takes: in words, as fields
//! of a document, as columns.
//!
//! Not here: the arithmetic, which is [`ifm_metrics::capacity::SHARES`].

use crate::format::{meant, number};
use ifm_core::words::counted;
use ifm_metrics::capacity::{Carriers, SHARES, Share, ShareUnit};
use ifm_rules::insight::Meant;
use serde_json::{Map, Value};

const W_PER_KW: f64 = 1e3;

/// A figure as it is written in a column.
pub fn share_cell(share: &Share, value: f64) -> String {
    match share.unit {
        ShareUnit::Load | ShareUnit::WattHours => number(value),
        ShareUnit::Usd => meant(value, Meant::Usd),
    }
}

/// All figures of a load in a line, and in brackets what they rest on; absent where nothing is known
/// that carries it: `6.00 per GPU, 15.0 per kW (4 GPUs, 1.60 kW)`.
pub fn shares_line(load: f64, by: &Carriers) -> Option<String> {
    let word = |share: &Share| {
        let value = share_cell(share, (share.of)(load, by)?);
        Some(match share.unit {
            ShareUnit::Usd => share.head.replacen('$', &value, 1),
            ShareUnit::Load | ShareUnit::WattHours => format!("{value} {}", share.head),
        })
    };
    let words: Vec<String> = SHARES.iter().filter_map(word).collect();
    let gpus = by.gpus.map(|gpus| match gpus.fract() == 0.0 {
        true => counted(gpus as u64, "GPU"),
        false => format!("{} GPUs", number(gpus)),
    });
    let power = by.watts.map(|watts| match watts < W_PER_KW {
        true => meant(watts, Meant::W),
        false => format!("{} kW", number(watts / W_PER_KW)),
    });
    let price = by.usd_per_hour.map(|usd| format!("{}/h", meant(usd, Meant::Usd)));
    let of: Vec<String> = [gpus, power, price].into_iter().flatten().collect();
    (!words.is_empty()).then(|| format!("{} ({})", words.join(", "), of.join(", ")))
}

/// The same for programs, with what carries the load.
pub fn shares_fields(load: f64, by: &Carriers) -> Map<String, Value> {
    let carriers = [
        ("gpus", by.gpus),
        ("watts_mean", by.watts),
        ("usd_per_hour", by.usd_per_hour),
        ("sessions_per_hour", by.sessions_per_hour),
    ];
    let shares = SHARES.iter().map(|share| (share.field, (share.of)(load, by)));
    let known = carriers.into_iter().chain(shares);
    known.filter_map(|(name, value)| Some((name.to_owned(), value?.into()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_what_it_rests_on() {
        let none = Carriers::default();
        assert_eq!((shares_line(24.0, &none), shares_fields(24.0, &none).len()), (None, 0));
        let by = Carriers {
            gpus: Some(4.0),
            watts: Some(1600.0),
            usd_per_hour: Some(8.0),
            sessions_per_hour: Some(40.0),
        };
        assert_eq!(
            shares_line(24.0, &by).expect("all is known"),
            "6.00 per GPU, 15.0 per kW, 3.00 per $/h, $0.33/h each, $0.20/session, 40.0 Wh/session \
             (4 GPUs, 1.60 kW, $8.00/h)"
        );
        let one = Carriers { gpus: Some(1.0), watts: Some(312.0), ..none };
        let line = shares_line(24.0, &one).expect("some are known");
        assert_eq!(line, "24.0 per GPU, 76.9 per kW (1 GPU, 312 W)");
        let fields = shares_fields(24.0, &one);
        assert_eq!((&fields["per_gpu"], &fields["watts_mean"]), (&24.0.into(), &312.0.into()));
        assert!(!fields.contains_key("usd_per_session"));
    }
}
