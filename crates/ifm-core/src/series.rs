//! A quantity sampled over time.

use serde::{Deserialize, Serialize};

/// One sampled quantity. The two columns have the same length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What was sampled, unit last: `client_cpu_share`, `requests_in_flight`.
    pub name: String,
    /// Unit in words: `share`, `requests`, `bytes`.
    pub unit: String,
    /// Who measured it: `client`, `vLLM /metrics`, `NVML GPU 0`.
    pub source: String,
    /// Nanoseconds since the run's origin.
    pub at_ns: Vec<u64>,
    /// Values.
    pub value: Vec<f64>,
}

crate::vocabulary! {
    /// What servers and devices report in addition to the answers. The words are stored, so they
    /// never change.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Signal {
        /// Requests that the server has ended, of all clients. A counter.
        ServerRequests = "server_requests_total",
        /// Prompt tokens of the server's requests, those that came from a cache included. A counter.
        ServerPromptTokens = "server_prompt_tokens_total",
        /// Tokens that the server has generated. A counter.
        ServerOutputTokens = "server_output_tokens_total",
        /// What the server has looked up in its prefix cache. A counter.
        ServerCacheQueries = "server_cache_queries_total",
        /// How much of that it has found. A counter, in the same unit.
        ServerCacheHits = "server_cache_hits_total",
        /// Requests that lost their place in the batch and began again. A counter.
        ServerPreemptions = "server_preemptions_total",
        /// Requests in the batch.
        ServerRunning = "server_requests_running",
        /// Requests that wait for a place in the batch.
        ServerWaiting = "server_requests_waiting",
        /// Share of the memory for keys and values that is in use.
        ServerKvShare = "server_kv_cache_share",
        /// Drafts that the server has verified, in speculative decoding: one for each request of a
        /// step. A counter.
        ServerDrafts = "server_drafts_total",
        /// Tokens of these drafts. A counter.
        ServerDraftTokens = "server_draft_tokens_total",
        /// How many of them the server has accepted. A counter.
        ServerAcceptedTokens = "server_accepted_draft_tokens_total",
        /// What it has accepted at one place of the drafts; the source names the place, from 0. A
        /// counter.
        ServerAcceptedAt = "server_accepted_draft_tokens_at_position_total",
        /// Power that a GPU draws.
        GpuPower = "gpu_power_w",
        /// Energy that a GPU has drawn since some moment. A counter.
        GpuEnergy = "gpu_energy_j",
        /// Clock of a GPU's processors.
        GpuClock = "gpu_clock_mhz",
        /// Clock of a GPU's memory.
        GpuMemoryClock = "gpu_memory_clock_mhz",
        /// Temperature of a GPU.
        GpuTemperature = "gpu_temperature_c",
        /// Why a GPU's clock is lower than it could be: the bits of NVML.
        GpuThrottleReasons = "gpu_throttle_reasons",
        /// Memory in use on a GPU.
        GpuMemory = "gpu_memory_bytes",
        /// Share of the time in which a GPU did something.
        GpuBusyShare = "gpu_busy_share",
        /// Energy that a processor package, or its memory, has drawn since some moment. A counter.
        CpuEnergy = "cpu_energy_j",
        /// Power that the user says the server draws; not measured.
        StatedPower = "stated_power_w",
    }
}

impl Signal {
    /// Its unit, unless the source counts in another.
    pub fn unit(self) -> &'static str {
        match self {
            Signal::ServerRequests
            | Signal::ServerPreemptions
            | Signal::ServerRunning
            | Signal::ServerWaiting => "requests",
            Signal::ServerDrafts => "drafts",
            Signal::ServerPromptTokens
            | Signal::ServerOutputTokens
            | Signal::ServerCacheQueries
            | Signal::ServerCacheHits
            | Signal::ServerDraftTokens
            | Signal::ServerAcceptedTokens
            | Signal::ServerAcceptedAt => "tokens",
            Signal::ServerKvShare | Signal::GpuBusyShare => "share",
            Signal::GpuPower | Signal::StatedPower => "watts",
            Signal::GpuEnergy | Signal::CpuEnergy => "joules",
            Signal::GpuClock | Signal::GpuMemoryClock => "megahertz",
            Signal::GpuTemperature => "degrees Celsius",
            Signal::GpuThrottleReasons => "bits",
            Signal::GpuMemory => "bytes",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quantity_has_a_word_of_its_own() {
        let words: std::collections::BTreeSet<&str> =
            Signal::ALL.into_iter().map(Signal::word).collect();
        assert_eq!(words.len(), Signal::ALL.len());
    }
}
