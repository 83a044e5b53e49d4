//! The answers of a run as an object: how many fit, and what the load that fits was like.

use super::load::{
    Between, LoadNumber, NS_PER_S, State, Term, between, number_of, rate_of, users_of,
};
use super::objects;
use ifm_core::spec::SloSpec;
use ifm_metrics::answer::{self, UsersState};
use ifm_metrics::level::Load;
use ifm_metrics::slo;
use ifm_metrics::telemetry::tokens_per_kwh;

fn numbers(loads: &[Load]) -> Vec<LoadNumber> {
    loads.iter().map(|load| number_of(*load)).collect()
}

fn word(state: UsersState) -> &'static str {
    match state {
        UsersState::Found => "found",
        UsersState::AtLeast => "at_least",
        UsersState::None => "none",
        UsersState::Unknown => "unknown",
    }
}

objects! {
    /// How many fit, and how sure that is.
    Answers of answers: &answer::Answers {
        /// The latency target.
        slo: Slo = (&answers.slo).into(),
        /// Largest load inside the target.
        users: Users = (&answers.users).into(),
        /// What the load that fits, or else the first one, was like.
        at: At = (&answers.at).into(),
        /// The load from which on more load brings latency and hardly any output.
        knee: Option<Knee> = answers.knee.map(Knee::from),
        /// How many checks passed.
        trust: Trust = (&answers.trust).into(),
    }

    /// The latency target.
    Slo of slo: &SloSpec {
        /// Preset, or `custom`.
        name: String = slo.name.clone(),
        /// As it is typed.
        terms: String = slo::words(slo),
    }

    /// Largest load inside the target.
    Users of users: &answer::UsersAnswer {
        /// Whether there is one.
        #[cfg_attr(feature = "schema",
            schemars(extend("enum" = ["found", "at_least", "none", "unknown"])))]
        state: &'static str = word(users.state),
        /// Users.
        users: Option<u32> = users_of(users.load),
        /// Requests per second.
        req_per_s: Option<f64> = rate_of(users.load),
        /// Lower end of the interval: the largest load that is surely inside while every lower one is.
        low: Option<LoadNumber> = users.low.map(number_of),
        /// Upper end: the last load before the smallest that is surely outside.
        high: Option<LoadNumber> = users.high.map(number_of),
        /// Whether the intervals say so too.
        is_sure: bool = users.is_sure,
        /// Whether a search for the capacity found it, from all repeats of a load together.
        is_searched: bool = users.is_searched,
        /// Smallest load that a search could not settle.
        unsettled_from: Option<LoadNumber> = users.unsettled.map(|(from, _)| number_of(from)),
        /// Largest load that a search could not settle.
        unsettled_to: Option<LoadNumber> = users.unsettled.map(|(_, to)| number_of(to)),
        /// Ends of a search that a later repeat surely contradicts.
        contradicted: Option<Vec<LoadNumber>> =
            (!users.contradicted.is_empty()).then(|| numbers(&users.contradicted)),
        /// The smallest load outside.
        next_worse: Option<NextWorse> = users.next_worse.as_ref().map(NextWorse::from),
        /// Larger loads that were inside although one between was not.
        inside_above: Vec<LoadNumber> = numbers(&users.inside_above),
    }

    /// The smallest load outside.
    NextWorse of worse: &answer::NextWorse {
        /// Users.
        users: Option<u32> = users_of(Some(worse.load)),
        /// Requests per second.
        req_per_s: Option<f64> = rate_of(Some(worse.load)),
        /// Whether the target is kept.
        state: State = worse.state.into(),
        /// Its terms.
        terms: Vec<Term> = worse.terms.iter().map(Term::from).collect(),
        /// Share of failures.
        error_rate: Option<f64> = worse.error_rate,
    }

    /// What a load was like.
    At of at: &answer::LevelAnswer {
        /// Index of the level.
        level: u16 = at.level,
        /// How often the load was measured; figures are means over it.
        repeats: u32 = at.repeats,
        /// Users.
        users: Option<u32> = users_of(at.load),
        /// Requests per second asked for.
        req_per_s_asked: Option<f64> = rate_of(at.load),
        /// Median decode speed of a user, tokens per second.
        user_tok_per_s_p50: Option<f64> = at.user_tok_per_s.filter(|_| !at.user_speed_is_estimated),
        /// The same where events are counted as tokens.
        user_tok_per_s_p50_estimated: Option<f64> =
            at.user_tok_per_s.filter(|_| at.user_speed_is_estimated),
        /// Complete answers per second, in the window of the output.
        req_per_s: Option<f64> = at.req_per_s,
        /// Median time to first token, seconds; at a rate from the due time, as targets count it.
        ttft_s_p50: Option<f64> = at.ttft_ns_p50.map(|ns| ns / NS_PER_S),
        /// 99th percentile, seconds.
        ttft_s_p99: Option<f64> = at.ttft_ns_p99.map(|(ns, _)| ns / NS_PER_S),
        /// Output tokens per second.
        output_tok_per_s: Option<f64> = at.output_tok_per_s,
        /// Output tokens per second over the repeats; absent where there was one.
        output_tok_per_s_between: Option<Between> = between(&at.output_tok_per_s_between, 1.0),
        /// Output tokens per hour.
        output_tok_per_hour: Option<f64> = at.output_tok_per_hour,
        /// Joules per output token.
        energy_j_per_output_token: Option<f64> = at.joules_per_output_token,
        /// Output tokens per kilowatt-hour.
        output_tokens_per_kwh: Option<f64> = at.joules_per_output_token.map(tokens_per_kwh),
        /// Output rate as a share of the best level.
        share_of_best: Option<f64> = at.share_of_best,
        /// Over which stretch.
        window: Option<&'static str> = at.window.map(|window| window.word()),
    }

    /// The load from which on more load brings latency and hardly any output.
    Knee of load: Load {
        /// Users.
        users: Option<u32> = users_of(Some(load)),
        /// Requests per second.
        req_per_s: Option<f64> = rate_of(Some(load)),
    }

    /// How many checks passed.
    Trust of trust: &answer::Trust {
        /// Checks that the run has data for.
        checks: u32 = trust.checks,
        /// Passed.
        passed: u32 = trust.passed,
        /// Call for caution.
        cautions: u32 = trust.cautions,
        /// Make the result invalid.
        invalid: u32 = trust.invalid,
    }
}
