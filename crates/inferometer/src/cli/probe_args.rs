//! The flags of a probe beside the load.
//!
//! Not here: sending it (`beside`).

use super::resolve::fresh_seed;
use super::workload_args::WorkloadArgs;
use crate::exit::Failure;
use crate::job::Job;
use clap::Args;
use ifm_core::duration::seconds;
use ifm_core::spec::{ProbeSpec, TrafficClass};
use ifm_wire::dialect;
use ifm_workload::OpenedWorkload;

/// What the class of a probe is called.
const NAME: &str = "probe";

/// What a bystander sends.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load")]
pub struct ProbeArgs {
    /// Also send small requests of this workload, one at a time over a connection of their own, to see
    /// what the load does to a bystander, such as random:32/8; they are in no number of the load
    #[arg(long, hide_short_help = true, value_name = "WORKLOAD")]
    probe: Option<String>,

    /// Pause from the end of one request of the probe to the start of the next
    #[arg(long, hide_short_help = true, value_parser = seconds, default_value = "1s", requires = "probe", value_name = "SPAN")]
    probe_pause: f64,
}

/// A probe that can be sent.
pub struct OpenedProbe {
    text: String,
    seed: u64,
    pause_s: f64,
    workload: OpenedWorkload,
}

impl ProbeArgs {
    /// Opens the workload of the probe; nothing where none is asked for.
    ///
    /// # Errors
    /// A workload that there is not, and one of conversations.
    pub fn open(&self, args: &WorkloadArgs) -> Result<Option<OpenedProbe>, Failure> {
        let Some(text) = self.probe.clone() else { return Ok(None) };
        // The next stream of the run's own seed: the same prompts would be in a cache.
        let seed = args.seed.map_or_else(fresh_seed, |seed| seed.wrapping_add(1 << 32));
        let mut asked = args.request(seed, None)?;
        asked.text.clone_from(&text);
        // What these say is said of the load.
        (asked.prompt_tokens, asked.output_tokens) = (None, None);
        asked.shared_prefix_tokens = 0;
        asked.columns.clear();
        let workload = ifm_workload::open(&asked, &args.tokenizer()?)
            .map_err(|error| Failure::usage(format!("--probe {text}: {error}")))?;
        if workload.dataset.has_conversations() || !workload.facts.classes.is_empty() {
            return Err(Failure::usage(format!("--probe {text}: its requests stand alone"))
                .hint("for example --probe random:32/8"));
        }
        Ok(Some(OpenedProbe { text, seed, pause_s: self.probe_pause, workload }))
    }
}

impl OpenedProbe {
    /// Sends it beside the load of a job.
    ///
    /// # Errors
    /// A class of the load with its name.
    pub fn add_to(self, job: &mut Job) -> Result<(), Failure> {
        let spec = &mut job.spec.workload;
        if spec.classes.iter().any(|class| class.name == NAME) {
            return Err(Failure::usage(format!("a class of the load is called {NAME} too"))
                .hint("give it another name: mix:NAME=SHARE*WORKLOAD"));
        }
        let class = u16::try_from(spec.classes.len()).unwrap_or(u16::MAX);
        let can_ignore_eos = dialect::of(job.spec.target.api).can_ignore_eos;
        spec.probe = Some(ProbeSpec {
            class,
            pause_s: self.pause_s,
            seed: self.seed,
            ignore_eos: self.workload.facts.ignore_eos && can_ignore_eos,
        });
        // It is beside the requests of the load, of which it has no share.
        let name = NAME.to_owned();
        spec.classes.push(TrafficClass { name, share: 0.0, model: None, workload: self.text });
        job.probe = Some(self.workload.dataset.into());
        Ok(())
    }
}
