//! The flags of the background probe.
//!
//! Not here: sending the background probe.

use crate::cli::args::resolve::{fresh_seed, made_up_lengths};
use crate::cli::args::workload::WorkloadArgs;
use crate::exit::Failure;
use crate::job::Job;
use crate::job::prompt_lengths::{self, LengthsAsk, LengthsWord};
use crate::session::request_template;
use crate::terminal;
use clap::Args;
use ifm_core::duration::seconds;
use ifm_core::spec::{ProbeSpec, PromptLengths, TrafficClass};
use ifm_probe::prompt_calibration::CalibrationAsk;
use ifm_probe::server_tokenizer::ServerTokenizer;
use ifm_tokenizer::Tokenizer;
use ifm_wire::dialect;
use ifm_workload::{LengthScale, OpenedWorkload, WorkloadRequest};

/// Class name of a probe.
const NAME: &str = "probe";

/// The background probe.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load")]
pub struct ProbeArgs {
    /// Also send small background requests of this workload, such as random:32/8
    ///
    /// They are sent one at a time over their own connection, to see what the load does to a
    /// bystander. No number of the load includes them
    #[arg(long, hide_short_help = true, value_name = "WORKLOAD")]
    probe: Option<String>,

    /// Pause between the end of a probe request and the next start
    #[arg(long, hide_short_help = true, value_parser = seconds, default_value = "1s", requires = "probe", value_name = "SPAN")]
    probe_pause: f64,
}

/// A probe that can be sent.
pub struct OpenedProbe {
    asked: WorkloadRequest,
    tokenizer: Tokenizer,
    /// Whether the user declared that tokenizer to be the model's own.
    is_given: bool,
    pause_s: f64,
    workload: OpenedWorkload,
}

impl ProbeArgs {
    /// Opens the workload of the probe; `None` if no probe is requested.
    ///
    /// # Errors
    /// An unknown workload, or one of conversations.
    pub fn open(&self, args: &WorkloadArgs) -> Result<Option<OpenedProbe>, Failure> {
        let Some(text) = self.probe.clone() else { return Ok(None) };
        // The next stream of the run's own seed: the same prompts would be in a cache.
        let seed = args.seed.map_or_else(fresh_seed, |seed| seed.wrapping_add(1 << 32));
        let mut asked = args.request(seed, None)?;
        asked.text.clone_from(&text);
        // These flags describe the load, not the probe.
        (asked.prompt_tokens, asked.output_tokens) = (None, None);
        asked.shared_prefix_tokens = 0;
        asked.columns.clear();
        let tokenizer = args.tokenizer()?;
        let workload = open(&asked, &tokenizer)?;
        if workload.dataset.has_conversations() || !workload.facts.classes.is_empty() {
            return Err(Failure::usage(format!(
                "--probe {text}: requests of a probe are independent"
            ))
            .hint("for example --probe random:32/8"));
        }
        let is_given = args.tokenizer.is_some();
        let pause_s = self.probe_pause;
        Ok(Some(OpenedProbe { asked, tokenizer, is_given, pause_s, workload }))
    }
}

impl OpenedProbe {
    /// Adds the probe to the load of a job.
    ///
    /// # Errors
    /// A class of the load with its name.
    pub fn add_to(mut self, job: &mut Job) -> Result<(), Failure> {
        let (scale, prompt_lengths) = self.lengths(job)?;
        if scale != self.asked.scale {
            self.asked.scale = scale;
            self.workload = open(&self.asked, &self.tokenizer)?;
        }
        let spec = &mut job.spec.workload;
        if spec.classes.iter().any(|class| class.name == NAME) {
            return Err(Failure::usage(format!("a class of the load is also named {NAME}"))
                .hint("give it another name: mix:NAME=SHARE*WORKLOAD"));
        }
        let class = u16::try_from(spec.classes.len()).unwrap_or(u16::MAX);
        let is_rejected = job.rejected.iter().any(|field| field.field == "ignore_eos");
        let can_ignore_eos = dialect::of(job.spec.target.api).can_ignore_eos && !is_rejected;
        spec.probe = Some(ProbeSpec {
            class,
            pause_s: self.pause_s,
            seed: self.asked.seed,
            ignore_eos: self.workload.facts.ignore_eos && can_ignore_eos,
            prompt_lengths,
        });
        // It is in addition to the requests of the load, and has no share of them.
        let name = NAME.to_owned();
        spec.classes.push(TrafficClass {
            name,
            share: 0.0,
            model: None,
            workload: self.asked.text,
        });
        job.probe = Some(self.workload.dataset.into());
        Ok(())
    }

    /// Length of its prompts by the server's count: as for the load, if that was calibrated.
    fn lengths(&self, job: &mut Job) -> Result<(LengthScale, Option<PromptLengths>), Failure> {
        let Some(prompt_tokens) = made_up_lengths(&self.workload.facts) else {
            return Ok((LengthScale::EXACT, None));
        };
        let of_load = &job.spec.workload.prompt_lengths;
        if let Some(lengths) = of_load.as_ref().filter(|_| job.spec.workload.classes.is_empty()) {
            let template_tokens = job.scale.template_tokens();
            if template_tokens >= prompt_tokens.min() {
                terminal::warn(&format!(
                    "--probe {}: the server adds {template_tokens} tokens to each prompt, so that its \
                     prompts are longer than asked",
                    self.asked.text
                ));
            }
            return Ok((job.scale, Some(lengths.clone())));
        }
        let template = request_template(job, "probe")?;
        let Some(mut preflight) = job.preflight(template) else {
            return Ok((LengthScale::EXACT, None));
        };
        let server = &job.inspection.info;
        let ask = LengthsAsk {
            word: LengthsWord::Auto,
            is_given: self.is_given,
            has_template: dialect::of(job.spec.target.api).has_template(),
            server,
            is_quiet: job.quiet,
        };
        let calibration = CalibrationAsk {
            tokenizer: &self.tokenizer,
            prompt_tokens,
            seed: self.asked.seed,
            context_tokens: server.context_tokens,
            server: ServerTokenizer::of(server.kind.as_deref(), &job.inspection.model),
        };
        let (scale, lengths) = prompt_lengths::settle(&ask, &mut preflight, &calibration)?;
        job.rejected.extend_from_slice(preflight.rejected());
        Ok((scale, Some(lengths)))
    }
}

fn open(asked: &WorkloadRequest, tokenizer: &Tokenizer) -> Result<OpenedWorkload, Failure> {
    ifm_workload::open(asked, tokenizer)
        .map_err(|error| Failure::usage(format!("--probe {}: {error}", asked.text)))
}
