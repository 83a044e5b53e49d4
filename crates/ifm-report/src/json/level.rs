//! One load as an object: windows, latencies, tokens, turns, steps, energy, the server's counters.

use super::forms::Forms;
use super::load::{
    Between, Distribution, S, Verdict, between, plain, rate_of, seconds, sources, users_of,
};
use super::media::{Media, MediaPerSecond};
use super::metrics::LevelMetrics;
use super::objects;
use super::part::Part;
use super::session::Sessions;
use ifm_core::LevelEnd;
use ifm_core::Metric;
use ifm_metrics::level::{self, GapLabel};
use ifm_metrics::stat::Estimate;
use ifm_metrics::telemetry::{self, tokens_per_kwh};
use ifm_metrics::{LevelSummary, Repeated, goodput, speculation};
use std::collections::BTreeMap;

objects! {
    /// One load.
    Level of level: &LevelSummary {
        /// Index into the levels of the spec.
        level: u16 = level.level,
        /// Requests in flight that were asked for.
        concurrency_asked: Option<u32> = level.concurrency_asked(),
        /// Requests per second that were asked for.
        req_per_s_asked: Option<f64> = rate_of(level.load()),
        /// Whether it ran to its end.
        complete: Option<bool> = level.complete,
        /// Whether it only told a search for the capacity where to measure: no verdict, answer or
        /// comparison uses it.
        scout: Option<bool> = level.is_scout().then_some(true),
        /// What ended it.
        ended_by: Option<LevelEnd> = level.ended_by,
        /// Index of the level that was measured instead of this one, because this one was worse
        /// than a larger load; no answer is taken from it.
        measured_again: Option<u16> = level.measured_again,
        /// Requests that were sent in the measured phase, by how they ended.
        requests: Requests = (&level.counts).into(),
        /// The start of the level was not warm.
        warming: Option<Warming> = level.warming.as_ref().map(Warming::from),
        /// The first request of every user, all of which begin together: left out of latency and
        /// verdict.
        first_wave: Option<FirstWave> = level.first_wave.as_deref().map(FirstWave::from),
        /// Without first wave, warm-up and drain.
        steady: Option<Window> =
            level.steady.as_ref().map(|steady| Window::from((steady, level.generates))),
        /// Why there is no steady window.
        steady_absent_because: Option<String> = level.steady_absent_because.clone(),
        /// From the first to the last request.
        whole: Option<Window> =
            level.whole.as_ref().map(|whole| Window::from((whole, level.generates))),
        /// Latencies of the complete answers after the first wave.
        latency: Latencies = (&level.latencies).into(),
        /// Tokens of the complete answers.
        tokens: Tokens = (&level.tokens).into(),
        /// Answers inside the target.
        goodput: Option<Goodput> = level.goodput.as_ref().map(Goodput::from),
        /// The time to first token as a sum of parts, where the server reported its own.
        ttft_parts: Option<TtftParts> = level.ttft_parts.as_deref().map(TtftParts::from),
        /// Images, recordings and videos; absent where prompts were text alone.
        media: Option<Media> = level.media.as_deref().map(Media::from),
        /// By class of mixed traffic.
        classes: Option<Vec<Class>> =
            (!level.classes.is_empty()).then(|| level.classes.iter().map(Class::from).collect()),
        /// By form of the answers, where some are to have one.
        forms: Option<Forms> = level.forms.as_deref().map(Forms::from),
        /// The probe that ran during the level; no other number of the level includes it.
        probe: Option<Probe> = level.probe.as_deref().map(Probe::from),
        /// By turn of the conversation.
        turns: Option<Vec<Turn>> =
            (!level.turns.is_empty()).then(|| level.turns.iter().map(Turn::from).collect()),
        /// Conversations as wholes.
        sessions: Option<Sessions> = level.sessions.as_deref().map(Sessions::from),
        /// By step of the rate, where it goes up in steps.
        steps: Option<Vec<Step>> =
            (!level.steps.is_empty()).then(|| level.steps.iter().map(Step::from).collect()),
        /// Recordings in prompts.
        heard: Option<Heard> =
            level.heard.as_deref().map(|heard| Heard::from((heard, &level.latencies))),
        /// Sound in answers.
        spoken: Option<Spoken> =
            level.spoken.as_deref().map(|spoken| Spoken::from((spoken, &level.latencies))),
        /// Energy of the level.
        energy: Option<Energy> = level.energy.as_ref().map(Energy::from),
        /// The server's own counters, warm-up and other clients included.
        server: Option<Server> = level.server.as_ref().map(Server::from),
        /// Speculative decoding: drafted tokens, and how many were accepted.
        speculation: Option<Speculation> = level.speculation.as_ref().map(Speculation::from),
        /// The latency target, compared with this level.
        verdict: Verdict = (&level.verdict).into(),
    }

    /// Requests that were sent in the measured phase, by how they ended.
    Requests of counts: &level::Counts {
        /// Sent.
        sent: u64 = counts.sent,
        /// Complete answers.
        ok: u64 = counts.ok,
        /// Failed.
        failed: u64 = counts.failed,
        /// Cut off by the end of the level.
        cancelled: u64 = counts.cancelled,
        /// Due and never sent, for the limit in flight was reached.
        dropped: u64 = counts.dropped,
        /// Share of failures among those that ended.
        error_rate: Option<f64> = counts.error_rate(),
        /// Requests by outcome.
        outcomes: BTreeMap<&'static str, u64> =
            counts.outcomes.iter().map(|(outcome, count)| (outcome.word(), *count)).collect(),
        /// Answers by HTTP status.
        http_statuses: BTreeMap<String, u64> =
            counts.statuses.iter().map(|(status, count)| (status.to_string(), *count)).collect(),
        /// Requests by the server's finish reason, as it wrote it.
        finish_reasons: Option<BTreeMap<String, u64>> = (!counts.finish_reasons.is_empty())
            .then(|| counts.finish_reasons.iter().cloned().collect()),
        /// Longest pause that the server asked for, seconds.
        retry_after_s_max: Option<u32> = counts.retry_after_s_max,
    }

    /// The start of the level was not warm.
    Warming of head: &level::Warming {
        /// Requests of it.
        requests: u64 = head.requests,
        /// Time of it, seconds.
        seconds: f64 = head.seconds,
        /// What shows it.
        metric: &'static str = head.metric,
        /// The start compared with the rest.
        ratio: f64 = head.ratio,
    }

    /// What is left out of latencies and verdict, and both with it.
    FirstWave of wave: &level::FirstWave {
        /// Requests of it.
        requests: u64 = wave.requests,
        /// Latencies of all complete answers, these among them.
        latency_with: Latencies = (&wave.latencies_with).into(),
        /// The latency target, compared with all of them.
        verdict_with: Verdict = (&wave.verdict_with).into(),
        /// Goodput of the requests that the verdict is of, without the first wave.
        goodput_without: Option<Goodput> = wave.goodput_without.as_ref().map(Goodput::from),
    }

    /// Answers inside the target.
    Goodput of goodput: &goodput::Goodput {
        /// Inside.
        good: u64 = goodput.good,
        /// Sent.
        sent: u64 = goodput.sent,
        /// Complete ones among them of which a term of the target is not known and none is broken:
        /// they count on neither side.
        unknown: Option<u64> = Some(goodput.unknown).filter(|unknown| *unknown > 0),
        /// Share inside.
        attainment: Option<f64> = goodput.attainment(),
    }

    /// Energy of the level.
    Energy of energy: &telemetry::LevelEnergy {
        /// What drew it.
        of: &'static str = energy.of.word(),
        /// Devices.
        devices: u32 = energy.devices,
        /// How it was measured.
        method: &'static str = energy.method.word(),
        /// Over which stretch.
        window: &'static str = energy.window.word(),
        /// Duration, seconds.
        duration_s: f64 = energy.seconds,
        /// Energy, joules.
        energy_j: f64 = energy.joules,
        /// Mean power, watts.
        power_w_mean: f64 = energy.watts_mean,
        /// Largest power, watts.
        power_w_peak: Option<f64> = energy.watts_peak,
        /// Power limit of the GPUs together, watts, as the facts of the machine report it.
        power_w_limit: Option<f64> = energy.watts_limit,
        /// Joules per output token.
        energy_j_per_output_token: Option<f64> = energy.joules_per_output_token,
        /// Joules per complete answer.
        energy_j_per_request: Option<f64> = energy.joules_per_request,
        /// Output tokens per second for each watt of the mean power: output tokens per joule.
        output_tokens_per_s_per_w: Option<f64> = energy.joules_per_output_token.map(f64::recip),
        /// Output tokens per kilowatt-hour.
        output_tokens_per_kwh: Option<f64> = energy.joules_per_output_token.map(tokens_per_kwh),
    }

    /// The server's own counters, warm-up and other clients included.
    Server of server: &telemetry::ServerCounters {
        /// Where they were read.
        source: String = server.source.clone(),
        /// First reading, seconds since the run's origin.
        start_s: f64 = server.span_ns.0 as f64 * S,
        /// Last reading, seconds since the run's origin.
        end_s: f64 = server.span_ns.1 as f64 * S,
        /// Requests.
        requests: Option<f64> = server.requests,
        /// Prompt tokens.
        prompt_tokens: Option<f64> = server.prompt_tokens,
        /// Output tokens.
        output_tokens: Option<f64> = server.output_tokens,
        /// Tokens looked up in the prefix cache.
        cache_queries: Option<f64> = server.cache_queries,
        /// Of these, found.
        cache_hits: Option<f64> = server.cache_hits,
        /// Share that was found, 0 to 1.
        cache_hit_share: Option<f64> = server.cache_share(),
        /// Requests preempted for other requests.
        preemptions: Option<f64> = server.preemptions,
        /// Most requests running.
        running_max: Option<f64> = server.running_max,
        /// Most requests waiting.
        waiting_max: Option<f64> = server.waiting_max,
        /// Largest share of the KV cache in use, 0 to 1.
        kv_cache_share_max: Option<f64> = server.kv_share_max,
        /// Whether a counter fell: the server restarted.
        began_anew: bool = server.began_anew,
    }

    /// The time to first token as a sum: the first is the sum of the four after it.
    TtftParts of parts: &level::TtftParts {
        /// Complete answers whose server reported its own times.
        requests: u64 = parts.requests,
        /// How many of them have parts that fit into the whole; the times are over these.
        adding_up: u64 = parts.adding_up,
        /// Start to first token, seconds.
        ttft_s: Option<Distribution> = seconds(&Some(parts.ttft_ns.clone())),
        /// Until the server's machine had acknowledged the last byte of the request, or, where the
        /// client's kernel does not report that, until it had left the client, seconds.
        upload_s: Option<Distribution> = seconds(&Some(parts.upload_ns.clone())),
        /// How many of the requests are known to have had their last byte acknowledged.
        upload_acknowledged: u64 = parts.acked,
        /// Network, frontend and everything else that was not timed, seconds; includes the queue
        /// where the server does not report it.
        rest_s: Option<Distribution> = seconds(&Some(parts.rest_ns.clone())),
        /// Arrival at the server until scheduled, seconds, as reported by the server.
        queue_s: Option<Distribution> = seconds(&parts.queue_ns),
        /// Scheduled to first token, seconds, as reported by the server.
        first_token_s: Option<Distribution> = seconds(&Some(parts.first_token_ns.clone())),
    }

    /// Recordings in the prompts of complete answers.
    Heard of given: (&level::HeardAudio, &level::Latencies) {
        /// Complete answers to prompts with recordings.
        requests: u64 = given.0.requests,
        /// Length of all their recordings, seconds; absent if unknown for one of them.
        audio_s: Option<f64> = given.0.audio_ns.map(|ns| ns as f64 * S),
        /// Seconds of audio over E2E, of each request.
        rtfx: Option<Distribution> = plain(given.1.get(Metric::Rtfx)),
        /// Seconds of audio for each second, over the window of the headline rates.
        level_rtfx: Option<f64> = given.0.level_rtfx,
    }

    /// Sound in complete answers.
    Spoken of given: (&level::SpokenAudio, &level::Latencies) {
        /// Complete answers with sound.
        requests: u64 = given.0.requests,
        /// Length of all of it, seconds; absent if unknown for one of them.
        audio_s: Option<f64> = given.0.audio_ns.map(|ns| ns as f64 * S),
        /// Start to the first byte of sound.
        ttfa_s: Option<Distribution> = seconds(given.1.get(Metric::Ttfa)),
        /// E2E over the length of the sound, of each request.
        rtf: Option<Distribution> = plain(given.1.get(Metric::Rtf)),
        /// Time in which a listener who begins with the first byte hears nothing.
        silence_s: Option<Distribution> = seconds(given.1.get(Metric::Silence)),
        /// Share of the answers in which such a listener hears a pause, 0 to 1.
        silent_share: Option<f64> = given.0.silent_share,
    }

    /// Drafted tokens of speculative decoding, and how many were accepted.
    Speculation of found: &speculation::Speculation {
        /// Who counted them.
        counted_by: &'static str = found.counted_by.word(),
        /// Whose metrics page it is, where counters were read.
        source: Option<String> = found.source.clone(),
        /// Complete answers that reported it, where answers did.
        answers: Option<u64> = found.answers,
        /// Drafts that were verified.
        drafts: Option<f64> = found.drafts,
        /// Their tokens.
        draft_tokens: Option<f64> = found.draft_tokens,
        /// Tokens of them that were accepted.
        accepted_tokens: Option<f64> = found.accepted_tokens,
        /// 1 + accepted tokens / drafts: tokens for each pass of the model over a request.
        acceptance_length: Option<f64> = found.acceptance_length,
        /// Whether that was computed from output tokens, requests and passes, because accepted
        /// tokens are not counted.
        is_length_derived: bool = found.is_length_derived,
        /// Accepted over draft tokens, 0 to 1.
        acceptance_rate: Option<f64> = found.acceptance_rate,
        /// Share of the drafts whose token at this place was accepted, 0 to 1, from the first.
        by_position: Option<Vec<f64>> =
            (!found.by_position.is_empty()).then(|| found.by_position.clone()),
        /// Output tokens for each event.
        tokens_per_event: Option<f64> = found.tokens_per_event,
    }

    /// One turn of the conversations.
    Turn of turn: &level::TurnSummary {
        /// Whether it is a turn of sub-agents; absent where it is not.
        of_sub_agents: Option<bool> = turn.is_of_sub_agents.then_some(true),
        /// Number of the turn.
        turn: u16 = turn.turn,
        /// Whether later turns are in it too.
        and_later: bool = turn.and_later,
        /// Its requests.
        #[serde(flatten)]
        part: Part = (&turn.part).into(),
    }

    /// One class of mixed traffic.
    Class of class: &level::ClassSummary {
        /// Name.
        name: String = class.name.clone(),
        /// Share of the requests that was asked for, 0 to 1.
        share_asked: f64 = class.share,
        /// Model, where it is not that of the run.
        model: Option<String> = class.model.clone(),
        /// Its requests.
        #[serde(flatten)]
        part: Part = (&class.part).into(),
    }

    /// A probe: small requests of another workload, sent one at a time during a level.
    Probe of probe: &level::ProbeSummary {
        /// Name of its class.
        name: String = probe.name.clone(),
        /// Its workload, as it was typed.
        workload: String = probe.workload.clone(),
        /// Its requests during the level.
        beside: Part = (&probe.beside).into(),
        /// Its requests before all load.
        alone: Option<Part> = probe.alone.as_ref().map(Part::from),
        /// Median time to first token during the level divided by that without load.
        ttft_times: Option<Times> = probe.ttft_times.map(Times::from),
        /// Median time from start to last token during the level divided by that without load.
        e2e_times: Option<Times> = probe.e2e_times.map(Times::from),
    }

    /// How many times as large one value is as another, with a 95 % interval.
    Times of times: Estimate {
        /// The ratio.
        value: f64 = times.value,
        /// Lower bound.
        low: f64 = times.low,
        /// Upper bound.
        high: f64 = times.high,
    }

    /// One step of a rate that goes up in steps.
    Step of step: &level::StepSummary {
        /// Requests per second that were asked for.
        req_per_s_asked: f64 = step.req_per_s_asked,
        /// When it began, seconds since the run's origin.
        start_s: f64 = step.start_ns as f64 * S,
        /// How long it lasted, seconds; less than was asked where the level was ended in it.
        duration_s: f64 = step.seconds(),
        /// Requests that were due in it.
        due: u64 = step.due(),
        /// Requests that were due in it and sent.
        sent: u64 = step.counts.sent,
        /// Complete answers to them.
        ok: u64 = step.counts.ok,
        /// How many of them failed.
        failed: u64 = step.counts.failed,
        /// Complete answers that ended while it lasted, of whatever step, per second.
        req_per_s: f64 = step.req_per_s_served,
        /// Due time to first token of the requests that were due in it, seconds.
        ttft_s: Option<Distribution> = seconds(&step.ttft_ns),
        /// Due time to last token of the requests that were due in it, seconds.
        e2e_s: Option<Distribution> = seconds(&step.e2e_ns),
    }

    /// A stretch of time and what was done in it.
    Window of given: (&level::WindowSummary, bool) {
        /// Start, seconds since the run's origin.
        start_s: f64 = given.0.window.start_ns as f64 * S,
        /// End, seconds since the run's origin.
        end_s: f64 = given.0.window.end_ns as f64 * S,
        /// Duration, seconds.
        duration_s: f64 = given.0.window.seconds(),
        /// Complete answers that ended in it.
        ok: u64 = given.0.ok,
        /// Complete answers per second.
        req_per_s: f64 = given.0.req_per_s,
        /// Answers per second inside the latency target.
        good_req_per_s: Option<f64> = given.0.good_req_per_s,
        /// Output tokens per second; absent where nothing is generated.
        output_tok_per_s: Option<f64> = given.1.then_some(given.0.output_tok_per_s),
        /// Prompt and output tokens per second.
        total_tok_per_s: Option<f64> = given.0.total_tok_per_s,
        /// Output tokens.
        output_tokens: f64 = given.0.output_tokens,
        /// Of these, of answers that did not end well.
        output_tokens_incomplete: f64 = given.0.output_tokens_incomplete,
        /// Of these, counted as events.
        output_tokens_estimated: f64 = given.0.output_tokens_estimated,
        /// Prompt tokens of the answers.
        prompt_tokens: Option<u64> = given.0.prompt_tokens,
        /// Media of the complete answers, per second.
        media: Option<MediaPerSecond> =
            given.0.media.as_ref().filter(|rates| rates.has_pictures()).map(MediaPerSecond::from),
        /// Requests in flight.
        concurrency: Concurrency = given.0.concurrency.into(),
    }

    /// Requests in flight over a stretch of time.
    Concurrency of concurrency: level::Concurrency {
        /// Mean over time.
        mean: f64 = concurrency.mean,
        /// Median over time.
        p50: u32 = concurrency.p50,
        /// 95th percentile over time.
        p95: u32 = concurrency.p95,
        /// Most.
        max: u32 = concurrency.max,
    }

    /// Latencies of complete answers.
    Latencies of latencies: &level::Latencies {
        /// A distribution for each metric of requests that has values here.
        #[serde(flatten)]
        metrics: LevelMetrics = latencies.into(),
        /// Equals `tpot_s`, which leaves out the tokens of the first event too; only where the server
        /// counts with each event. Kept for readers of earlier versions.
        tpot_s_after_first_event: Option<Distribution> =
            seconds(latencies.get(Metric::Tpot)).filter(|_| latencies.get(Metric::ItlPerToken).is_some()),
        /// Sequences of two tokens or more whose time per output token is not known.
        tpot_absent: Option<TpotAbsent> = Some(latencies.tpot_absent)
            .filter(|absent| absent.total() > 0)
            .map(TpotAbsent::from),
        /// What `gap_s` may be called: `itl` where at most 1 % of the events carry several tokens,
        /// otherwise `inter_event`. The same gaps are under `itl_s` or `inter_event_s`.
        gap_label: Option<&'static str> =
            latencies.get(Metric::Itl).map(|_| latencies.gap_label.word()),
        /// Gaps between events, each of one token, seconds.
        itl_s: Option<Distribution> =
            seconds(latencies.get(Metric::Itl)).filter(|_| latencies.gap_label == GapLabel::InterToken),
        /// Gaps between events that are not known to be tokens, seconds.
        inter_event_s: Option<Distribution> =
            seconds(latencies.get(Metric::Itl)).filter(|_| latencies.gap_label != GapLabel::InterToken),
        /// Share of events with more than one token.
        several_token_event_share: Option<f64> = latencies.several_token_event_share,
    }

    /// Sequences without a time per output token, by why.
    TpotAbsent of absent: level::TpotAbsences {
        /// All or nearly all of their tokens came in one read, or the whole answer had been buffered.
        at_once: u64 = absent.at_once,
        /// Tokens were counted that did not come, and nothing says when they were generated.
        not_sent: u64 = absent.not_sent,
    }

    /// Tokens of the complete answers.
    Tokens of facts: &level::TokenFacts {
        /// Output tokens asked for, mean.
        output_asked_mean: Option<f64> = facts.output_asked_mean,
        /// Output tokens, mean.
        output_mean: Option<f64> = facts.output_mean,
        /// Output tokens.
        output_total: Option<u64> = facts.output_total,
        /// Requests by who counted their output tokens.
        output_counted_by: BTreeMap<&'static str, u64> = sources(&facts.output_from),
        /// Prompt tokens asked for, mean.
        prompt_asked_mean: Option<f64> = facts.prompt_asked_mean,
        /// Tokens that the server adds to a prompt.
        prompt_added: Option<u32> = facts.prompt_added,
        /// Prompt tokens, mean.
        prompt_mean: Option<f64> = facts.prompt_mean,
        /// Prompt tokens.
        prompt_total: Option<u64> = facts.prompt_total,
        /// Requests by who counted their prompt tokens.
        prompt_counted_by: BTreeMap<&'static str, u64> = sources(&facts.prompt_from),
        /// Prompt tokens from a cache.
        cached_total: Option<u64> = facts.cached_total,
        /// Share of the prompt tokens that came from a cache.
        cached_share: Option<f64> = facts.cached_share,
        /// Share of the prompt tokens that a cache which forgets nothing would know.
        ideal_cached_share: Option<f64> = facts.ideal_share,
        /// Reasoning tokens.
        reasoning_total: Option<u64> = facts.reasoning_total,
        /// Reasoning tokens that were counted and not sent.
        hidden_reasoning_total: Option<u64> = facts.hidden_reasoning.map(|hidden| hidden.tokens),
        /// Streamed answers whose tokens were counted and came in no event.
        empty_answers: Option<u64> = Some(facts.empty_answers).filter(|answers| *answers > 0),
        /// Draft tokens accepted.
        accepted_draft_total: Option<u64> = facts.accepted_draft_total,
        /// Draft tokens rejected.
        rejected_draft_total: Option<u64> = facts.rejected_draft_total,
        /// Events with tokens.
        events: u64 = facts.events,
        /// Events that shared their read, and so their stamp, with another.
        co_arrived_events: u64 = facts.co_arrived_events,
        /// Events and tokens, where they disagree.
        disagreement: Option<Disagreement> = facts.disagreement.as_ref().map(Disagreement::from),
    }

    /// Events and tokens, where they disagree.
    Disagreement of both: &level::CountDisagreement {
        /// Events.
        events: u64 = both.events,
        /// Tokens.
        tokens: u64 = both.tokens,
        /// Difference as a share.
        share: f64 = both.share(),
    }

    /// The repeats of one load, taken together.
    Repeats of repeated: &Repeated {
        /// Users.
        users: Option<u32> = users_of(Some(repeated.load)),
        /// Requests per second asked for.
        req_per_s_asked: Option<f64> = rate_of(Some(repeated.load)),
        /// Indices of the levels.
        levels: Vec<u16> = repeated.levels.clone(),
        /// How many of them are inside the target.
        inside: u32 = repeated.inside,
        /// How many of them are outside.
        outside: u32 = repeated.outside,
        /// Requests per second.
        req_per_s: Option<Between> = between(&repeated.req_per_s, 1.0),
        /// Output tokens per second.
        output_tok_per_s: Option<Between> = between(&repeated.output_tok_per_s, 1.0),
        /// Median decode speed of a user, tokens per second.
        user_tok_per_s_p50: Option<Between> =
            between(&repeated.user_tok_per_s, 1.0).filter(|_| !repeated.user_speed_is_estimated),
        /// The same where events are counted as tokens.
        user_tok_per_s_p50_estimated: Option<Between> =
            between(&repeated.user_tok_per_s, 1.0).filter(|_| repeated.user_speed_is_estimated),
        /// Median time to first token, seconds.
        ttft_s_p50: Option<Between> = between(&repeated.ttft_ns_p50, S),
        /// 99th percentile of it, seconds.
        ttft_s_p99: Option<Between> = between(&repeated.ttft_ns_p99, S),
        /// Median gap between events, seconds.
        gap_s_p50: Option<Between> = between(&repeated.gap_ns_p50, S),
        /// 99th percentile of it, seconds.
        gap_s_p99: Option<Between> = between(&repeated.gap_ns_p99, S),
    }
}
