//! The flags of an open loop: requests are sent at a rate, however slow the server is.

use crate::exit::Failure;
use clap::Args;
use ifm_core::duration::seconds;
use ifm_core::spec::{ArrivalLaw, ArrivalSpec, RateCurve, RateStretch};

/// Arrival times of requests.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Load")]
pub struct ArrivalArgs {
    /// Requests per second: 5, or in a sweep 2,4,8
    ///
    /// Requests are sent on schedule, however slow the server is. With run, inf sends all at once,
    /// up to --max-in-flight
    #[arg(short = 'q', long, visible_alias = "request-rate", value_name = "RATE", conflicts_with_all = ["ramp", "steps", "replay", "bursts"])]
    pub rate: Option<String>,

    /// Changing rate: 1-50/60s is linear; 1-50/60s:exp is exponential
    #[arg(long, value_name = "FROM-TO/SPAN", conflicts_with_all = ["steps", "replay", "bursts"])]
    pub ramp: Option<String>,

    /// Rates in sequence, each for the same time: 1,2,4,8/30s
    #[arg(long, value_name = "RATES/SPAN", conflicts_with_all = ["replay", "bursts"])]
    pub steps: Option<String>,

    /// Send N requests every SPAN: 64/5s
    ///
    /// Requests over the limit of --max-in-flight wait in order
    #[arg(long, value_name = "N/SPAN", conflicts_with_all = ["replay", "arrivals", "burstiness"])]
    pub bursts: Option<String>,

    /// Replay a trace at its recorded times; --replay=10 is 10x as fast
    #[arg(long, value_name = "SPEED", num_args = 0..=1, require_equals = true, default_missing_value = "1", conflicts_with = "arrivals")]
    pub replay: Option<f64>,

    /// Arrival process: poisson, constant, gamma:SHAPE, burst:N [default: poisson]
    ///
    /// A gamma shape below 1 makes requests arrive in bunches
    #[arg(long, value_name = "LAW")]
    pub arrivals: Option<String>,

    #[arg(long, hide = true, value_name = "SHAPE", conflicts_with = "arrivals")]
    pub burstiness: Option<f64>,

    /// Maximum requests in flight in an open loop
    ///
    /// A request over the limit waits, and its wait counts
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = crate::cli::args::level_list::level)]
    pub max_in_flight: u32,
}

impl ArrivalArgs {
    /// Whether there is a rate.
    pub fn is_open_loop(&self) -> bool {
        let shapes = [&self.rate, &self.ramp, &self.steps, &self.bursts];
        self.replay.is_some() || shapes.into_iter().any(Option::is_some)
    }

    /// Whether to send all requests at once.
    ///
    /// # Errors
    /// An arrival process for requests without spacing.
    pub fn is_all_at_once(&self) -> Result<bool, Failure> {
        let is_infinite = self.rate.as_deref().is_some_and(|rate| rate.trim() == "inf");
        if is_infinite && self.arrivals.is_some() {
            return Err(Failure::usage("--arrivals spaces nothing where --rate is inf"));
        }
        Ok(is_infinite)
    }

    /// The schedule of each level, all from one seed; empty for a closed loop.
    ///
    /// # Errors
    /// The flag that is invalid, and what it should be.
    pub fn schedules(&self, seed: u64) -> Result<Vec<ArrivalSpec>, Failure> {
        if !self.is_open_loop() {
            return Ok(Vec::new());
        }
        if let Some(speed) = self.replay {
            // The rate is that of the trace, which has not been opened yet.
            let law = ArrivalLaw::Replay(speed);
            return Ok(vec![ArrivalSpec { law, stretches: Vec::new(), seed }]);
        }
        if let Some(bursts) = &self.bursts {
            let (size, span_s) = bursts_of(bursts)?;
            let stretches = vec![flat(f64::from(size) / span_s, None)];
            return Ok(vec![ArrivalSpec { law: ArrivalLaw::Burst(size), stretches, seed }]);
        }
        let law = self.law()?;
        let stretches: Vec<Vec<RateStretch>> = match (&self.rate, &self.ramp, &self.steps) {
            (Some(rates), ..) => {
                rates_of("--rate", rates)?.into_iter().map(|rate| vec![flat(rate, None)]).collect()
            }
            (None, Some(ramp), _) => vec![vec![ramp_of(ramp)?]],
            (None, None, steps) => vec![steps_of(steps.as_deref().unwrap_or_default())?],
        };
        Ok(stretches.into_iter().map(|stretches| ArrivalSpec { law, stretches, seed }).collect())
    }

    /// Rejects an arrival process for requests without scheduled times.
    ///
    /// # Errors
    /// --arrivals without a rate.
    pub fn check_law_is_used(&self) -> Result<(), Failure> {
        match &self.arrivals {
            Some(law) if !self.is_open_loop() => {
                Err(Failure::usage(format!("--arrivals {law} needs --rate, --ramp or --steps")))
            }
            _ => Ok(()),
        }
    }

    /// The arrival process.
    ///
    /// # Errors
    /// An unknown name.
    pub fn law(&self) -> Result<ArrivalLaw, Failure> {
        if let Some(shape) = self.burstiness {
            return Ok(ArrivalLaw::Gamma(shape));
        }
        let text = self.arrivals.as_deref().unwrap_or("poisson");
        let (name, number) = text.split_once(':').unwrap_or((text, ""));
        let law = match name {
            "poisson" if number.is_empty() => Some(ArrivalLaw::Poisson),
            "constant" if number.is_empty() => Some(ArrivalLaw::Constant),
            "gamma" => number.parse().ok().map(ArrivalLaw::Gamma),
            "burst" => number.parse().ok().map(ArrivalLaw::Burst),
            _ => None,
        };
        law.ok_or_else(|| {
            Failure::usage(format!("--arrivals {text} is not a law"))
                .hint("there are poisson, constant, gamma:0.5 and burst:8")
        })
    }
}

fn flat(rate: f64, seconds: Option<f64>) -> RateStretch {
    let curve = RateCurve::Linear;
    RateStretch { from_req_per_s: rate, to_req_per_s: rate, curve, seconds }
}

fn rate_of(flag: &str, text: &str) -> Result<f64, Failure> {
    match text.trim().parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate.is_finite() => Ok(rate),
        _ => Err(Failure::usage(format!(
            "{flag}: \"{text}\" is not a rate above 0, in requests per second"
        ))),
    }
}

fn rates_of(flag: &str, text: &str) -> Result<Vec<f64>, Failure> {
    text.split(',').map(|part| rate_of(flag, part)).collect()
}

fn span_of(flag: &str, text: &str) -> Result<f64, Failure> {
    seconds(text).map_err(|error| Failure::usage(format!("{flag}: {error}")))
}

/// `1-50/60s`, `1-50/60s:exp`.
fn ramp_of(text: &str) -> Result<RateStretch, Failure> {
    let usage = || {
        Failure::usage(format!(
            "--ramp {text}: a ramp goes from one rate to another within a span of time"
        ))
        .hint("write 1-50/60s, or 1-50/60s:exp")
    };
    let (rates, span) = text.split_once('/').ok_or_else(usage)?;
    let (from, to) = rates.split_once('-').ok_or_else(usage)?;
    let (span, curve) = match span.split_once(':') {
        None => (span, RateCurve::Linear),
        Some((span, "exp")) => (span, RateCurve::Exponential),
        Some(_) => return Err(usage()),
    };
    Ok(RateStretch {
        from_req_per_s: rate_of("--ramp", from)?,
        to_req_per_s: rate_of("--ramp", to)?,
        curve,
        seconds: Some(span_of("--ramp", span)?),
    })
}

/// `64/5s`.
fn bursts_of(text: &str) -> Result<(u32, f64), Failure> {
    let usage = || {
        Failure::usage(format!("--bursts {text}: bursts are a number of requests and a span"))
            .hint("write 64/5s")
    };
    let (size, span) = text.split_once('/').ok_or_else(usage)?;
    let size = size.trim().parse::<u32>().ok().filter(|size| *size > 0).ok_or_else(usage)?;
    Ok((size, span_of("--bursts", span)?))
}

/// `1,2,4/30s`.
fn steps_of(text: &str) -> Result<Vec<RateStretch>, Failure> {
    let usage = || {
        Failure::usage(format!("--steps {text}: steps are rates and the span of each"))
            .hint("write 1,2,4,8/30s")
    };
    let (rates, span) = text.split_once('/').ok_or_else(usage)?;
    let span = span_of("--steps", span)?;
    Ok(rates_of("--steps", rates)?.into_iter().map(|rate| flat(rate, Some(span))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(rate: Option<&str>, ramp: Option<&str>, steps: Option<&str>) -> ArrivalArgs {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        ArrivalArgs {
            rate: owned(rate),
            ramp: owned(ramp),
            steps: owned(steps),
            ..ArrivalArgs::default()
        }
    }

    #[test]
    fn rates_ramps_and_steps_become_schedules() {
        let rates = args(Some("2,4.5"), None, None).schedules(7).unwrap();
        assert_eq!(rates.len(), 2);
        assert_eq!(rates[1].stretches, [flat(4.5, None)]);
        assert_eq!((rates[0].law, rates[0].seed), (ArrivalLaw::Poisson, 7));
        let ramp = args(None, Some("1-50/1m:exp"), None).schedules(0).unwrap();
        assert_eq!(ramp[0].stretches[0].curve, RateCurve::Exponential);
        assert_eq!(ramp[0].stretches[0].seconds, Some(60.0));
        let steps = args(None, None, Some("1,2/30s")).schedules(0).unwrap();
        assert_eq!(steps[0].stretches, [flat(1.0, Some(30.0)), flat(2.0, Some(30.0))]);
        assert!(args(None, None, None).schedules(0).unwrap().is_empty());
    }

    #[test]
    fn bursts_come_again_after_each_span() {
        let bursts = |text: &str| {
            let args = ArrivalArgs { bursts: Some(text.to_owned()), ..args(None, None, None) };
            args.schedules(3)
        };
        let schedule = bursts("64/5s").unwrap().remove(0);
        assert_eq!(schedule.law, ArrivalLaw::Burst(64));
        assert_eq!(schedule.stretches, [flat(12.8, None)]);
        let due: Vec<u64> = ifm_workload::Arrivals::new(&schedule).unwrap().take(130).collect();
        let s = |seconds: u64| seconds * 1_000_000_000;
        assert_eq!([due[0], due[63], due[64], due[127], due[128]], [0, 0, s(5), s(5), s(10)]);
        for wrong in ["64", "0/5s", "x/5s", "64/0s", "64/"] {
            assert!(bursts(wrong).is_err(), "{wrong}");
        }
        let inf = args(Some("inf"), None, None);
        assert!(inf.is_all_at_once().unwrap() && inf.schedules(0).is_err());
    }

    #[test]
    fn laws_are_named() {
        let lonely = ArrivalArgs { arrivals: Some("poisson".to_owned()), ..args(None, None, None) };
        assert!(lonely.check_law_is_used().is_err());
        let law = |text: &str| {
            let args =
                ArrivalArgs { arrivals: Some(text.to_owned()), ..args(Some("1"), None, None) };
            args.schedules(0).ok().map(|schedules| schedules[0].law)
        };
        assert_eq!(law("constant"), Some(ArrivalLaw::Constant));
        assert_eq!(law("gamma:0.5"), Some(ArrivalLaw::Gamma(0.5)));
        assert_eq!(law("burst:8"), Some(ArrivalLaw::Burst(8)));
        for wrong in ["gamma", "constant:2", "uniform", ""] {
            assert_eq!(law(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_shape_that_cannot_be_read_is_told_the_right_form() {
        for (ramp, steps, form) in [
            (Some("5/2s"), None, "1-50/60s"),
            (Some("5"), None, "1-50/60s"),
            (None, Some("1,2"), "1,2,4,8/30s"),
        ] {
            let failure = args(None, ramp, steps).schedules(0).expect_err("wrong");
            let said = format!("{failure:?}");
            let wrong = ramp.or(steps).unwrap_or_default();
            assert!(said.contains(form) && said.contains(&format!("{wrong}: ")), "{said}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        for (rate, ramp, steps) in [
            (Some("0"), None, None),
            (Some("2,x"), None, None),
            (Some("inf"), None, None),
            (None, Some("5/60s"), None),
            (None, Some("1-5/60s:log"), None),
            (None, None, Some("1,2")),
        ] {
            assert!(args(rate, ramp, steps).schedules(0).is_err(), "{rate:?} {ramp:?} {steps:?}");
        }
    }
}
