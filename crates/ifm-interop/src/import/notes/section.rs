//! Where in a text one is: the headings above, and what they and the lines between them set.
//!
//! A setting holds until its heading ends: a line `GPU: …` below a heading applies to the content
//! under that heading, a section named `Hardware` to the section around it.

use super::super::heading;
use super::super::known;
use super::super::measure::{lex, plain, setting};
use super::super::outline::Heading;
use super::command::{self, DATA_PARALLEL, PIPELINE_PARALLEL};
use ifm_core::sheet::{Factors, key};

/// Longest line that may say what was set, bytes.
const LINE_BYTES_MAX: usize = 400;
/// Different processors of one text that are remembered.
const GPUS_MAX: usize = 8;

/// Words for the two sides of a comparison of models.
pub(super) const SIDES: &[(&str, &[&str])] = &[
    (
        "base",
        &["base", "original", "baseline", "uncompressed", "unquantized", "dense", "reference"],
    ),
    (
        "compressed",
        &["compressed", "quantized", "quantised", "optimized", "optimised", "pruned", "sparse"],
    ),
];

/// A heading that one is below.
#[derive(Debug)]
struct Section {
    level: u8,
    title: String,
    factors: Factors,
    /// What the last command set.
    command: Factors,
    /// The factor that the whole section is about, such as a processor.
    about: Option<About>,
}

/// What a section gives the value of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Setting(&'static str),
    /// The model on one side of a comparison.
    Side(&'static str),
}

/// The headings above a line.
#[derive(Debug, Default)]
pub(super) struct Sections {
    open: Vec<Section>,
    /// What holds before the first heading and for the whole text.
    outer: Factors,
    outer_command: Factors,
    models: Vec<(&'static str, String)>,
    quantization: Option<String>,
    gpus: Vec<String>,
    /// The ones that the text counts, in its words.
    counted: Vec<String>,
}

impl Sections {
    /// Goes on below a heading.
    pub fn enter(&mut self, heading: &Heading) {
        while self.open.last().is_some_and(|section| section.level >= heading.level) {
            self.open.pop();
        }
        let title = heading.title.clone();
        let mut factors = heading::factors(&title);
        if let Some(side) = side(&title) {
            match self.model_of(side) {
                Some(model) => factors.set(key::MODEL, model),
                None => factors.set(key::CONDITION, side),
            }
        }
        self.see_gpu(factors.get(key::GPU).map(str::to_owned));
        self.see_counted(&factors);
        let about = about(&title);
        let level = heading.level;
        self.open.push(Section { level, title, factors, command: Factors::default(), about });
    }

    /// Titles above, from the outermost.
    pub fn path(&self) -> Vec<String> {
        self.open.iter().map(|section| section.title.clone()).collect()
    }

    /// What is set here.
    pub fn factors(&self) -> Factors {
        let outer = self.outer_command.within(&self.outer);
        self.open
            .iter()
            .fold(outer, |outer, section| section.command.within(&section.factors.within(&outer)))
    }

    /// Looks for settings in a line between blocks; whether it was one and nothing else.
    pub fn learn(&mut self, line: &str) -> bool {
        let text = line.trim();
        if text.is_empty() || self.learn_command(text) {
            return true;
        }
        if text.len() > LINE_BYTES_MAX {
            return false;
        }
        if let Some(gpu) = device(text) {
            self.see_gpu(Some(gpu.to_owned()));
            self.set(Factors::default().with(key::GPU, gpu));
            return true;
        }
        if self.value_of_section(text) || self.assigned(text) {
            return true;
        }
        if let Some(gpu) = own_gpu(text) {
            self.see_gpu(Some(gpu.to_owned()));
            let machine = machine(text, gpu);
            self.see_counted(&machine);
            self.set(machine);
        }
        false
    }

    /// Takes the settings of a whole command line; whether it was one.
    pub fn learn_command(&mut self, line: &str) -> bool {
        let Some(settings) = command::settings(line) else { return false };
        let last = match self.open.last_mut() {
            Some(section) => &mut section.command,
            None => &mut self.outer_command,
        };
        *last = if command::is_server(line) { settings } else { devices(last).over(settings) };
        true
    }

    /// `GPU: H100`, `**Model:** name`.
    fn assigned(&mut self, text: &str) -> bool {
        let bare = text.trim_start_matches(['-', '*', '•', ' ']);
        let Some((name, value)) = bare.split_once(':') else { return false };
        let (name, value) = (plain(name).to_lowercase(), plain(value.trim_start_matches("**")));
        let short = !value.is_empty() && value.len() <= 80 && value.split_whitespace().count() <= 8;
        let Some(factor) = setting(&name).filter(|_| short) else { return false };
        if name.len() < 2 || value.ends_with('.') {
            return false;
        }
        if factor == key::GPU {
            let Some(gpu) = known::gpu(&value).and_then(|range| value.get(range)) else {
                return false;
            };
            self.see_gpu(Some(gpu.to_owned()));
            let machine = machine(&value, gpu);
            self.see_counted(&machine);
            self.set(machine);
            return true;
        }
        self.set(Factors::default().with(factor, value));
        true
    }

    /// The one line below a heading such as `Hardware` or `Base Model`.
    fn value_of_section(&mut self, text: &str) -> bool {
        let Some(about) = self.open.last_mut().and_then(|section| section.about.take()) else {
            return false;
        };
        let value = plain(text);
        if value.len() > 80 || value.ends_with('.') {
            return false;
        }
        let found = match about {
            About::Setting(key::GPU) => {
                known::gpu(&value).and_then(|range| value.get(range)).map(str::to_owned)
            }
            About::Setting(key::QUANTIZATION) => known::quantization(&value),
            About::Setting(_) | About::Side(_) => Some(value.clone()),
        };
        let written = value;
        let Some(value) = found else { return false };
        match about {
            About::Setting(key::QUANTIZATION) => self.quantization = Some(value),
            About::Setting(factor) => {
                if factor == key::GPU {
                    self.see_gpu(Some(value.clone()));
                }
                let around = self.open.len().checked_sub(2).and_then(|at| self.open.get_mut(at));
                let factors = around.map_or(&mut self.outer, |section| &mut section.factors);
                if factor == key::GPU && written != value {
                    *factors = devices(&heading::factors(&written)).over(factors.clone());
                    factors.set(key::HARDWARE, written);
                }
                factors.set(factor, value);
            }
            About::Side(side) => {
                if let Some(section) = self.open.last_mut() {
                    let named = Factors::default().with(key::MODEL, &value);
                    section.factors = named.within(&heading::factors(&section.title));
                }
                self.models.push((side, value));
            }
        }
        true
    }

    fn set(&mut self, factors: Factors) {
        match self.open.last_mut() {
            Some(section) => section.factors = factors.within(&section.factors),
            None => self.outer = factors.within(&self.outer),
        }
    }

    fn see_gpu(&mut self, gpu: Option<String>) {
        if let Some(gpu) = gpu.filter(|gpu| !self.gpus.contains(gpu) && self.gpus.len() < GPUS_MAX)
        {
            self.gpus.push(gpu);
        }
    }

    fn see_counted(&mut self, factors: &Factors) {
        if let Some(counted) = factors.get(key::HARDWARE)
            && self.counted.len() < GPUS_MAX
            && !self.counted.iter().any(|other| other == counted)
        {
            self.counted.push(counted.to_owned());
        }
    }

    /// The only number of processors that the text gives, with what it counts.
    pub fn only_counted(&self) -> Option<&str> {
        match self.counted.as_slice() {
            [counted] => Some(counted),
            _ => None,
        }
    }

    /// The only processor that the text names.
    pub fn only_gpu(&self) -> Option<&str> {
        match self.gpus.as_slice() {
            [gpu] => Some(gpu),
            _ => None,
        }
    }

    /// The model on a side of the comparison, if the text named it.
    pub fn model_of(&self, side: &str) -> Option<&str> {
        self.models.iter().find(|(name, _)| *name == side).map(|(_, model)| model.as_str())
    }

    /// The format of the weights that a section of its own gives, and of which models it is: those
    /// of the compressed side where there are two sides.
    pub fn quantization(&self) -> Option<(&str, Option<&str>)> {
        Some((self.quantization.as_deref()?, self.model_of("compressed")))
    }
}

/// The side of a comparison that a text is about: `Results for the base model`.
pub(super) fn side(text: &str) -> Option<&'static str> {
    let tokens = lex(text);
    let mut found = None;
    for (at, token) in tokens.iter().enumerate() {
        let side = SIDES.iter().find(|(_, words)| words.iter().any(|word| token.is(word)));
        let model =
            tokens.iter().skip(at + 1).take(4).any(|next| next.is("model") || next.is("models"));
        match (side.filter(|_| model), found) {
            (Some((side, _)), None) => found = Some(*side),
            (Some((side, _)), Some(before)) if before != *side => return None,
            _ => {}
        }
    }
    found
}

/// What a section with such a title gives.
fn about(title: &str) -> Option<About> {
    let lower = plain(title).to_lowercase();
    let lower = lower.trim_end_matches(':').trim();
    let words: Vec<&str> = lower.split_whitespace().collect();
    if let ([_, "model"], Some(side)) = (words.as_slice(), side(title)) {
        return Some(About::Side(side));
    }
    let bare =
        lower.strip_suffix(" scheme").or_else(|| lower.strip_suffix(" used")).unwrap_or(lower);
    match setting(bare) {
        Some(factor) if bare.len() > 2 => Some(About::Setting(factor)),
        _ => None,
    }
}

/// A processor with the number of them, and the number that shares a model, as a line says them.
fn machine(text: &str, gpu: &str) -> Factors {
    let mut factors = devices(&heading::factors(text)).over(Factors::default());
    if let Some(counted) = known::counted_gpu(text) {
        factors.set(key::HARDWARE, counted);
    }
    factors.with(key::GPU, gpu)
}

/// Settings that say how a model is spread over processors.
const SPREAD: [&str; 3] = [key::TENSOR_PARALLEL, PIPELINE_PARALLEL, DATA_PARALLEL];

/// How many processors share a model, of factors.
fn devices(factors: &Factors) -> Devices {
    let found = SPREAD.iter().filter_map(|name| Some((*name, factors.get(name)?.to_owned())));
    Devices(found.collect())
}

/// See [`devices`].
struct Devices(Vec<(&'static str, String)>);

impl Devices {
    /// These, where `factors` say nothing of them.
    fn over(self, mut factors: Factors) -> Factors {
        for (name, value) in self.0 {
            if factors.get(name).is_none() {
                factors.set(name, value);
            }
        }
        factors
    }
}

/// The processor that a sentence says was used: `on one RTX 4090`, and nothing about others.
fn own_gpu(text: &str) -> Option<&str> {
    let range = known::gpu(text)?;
    let before = text.get(..range.start)?.split_whitespace().next_back()?.to_lowercase();
    let counted = before.strip_suffix(['x', '×']).is_some_and(|count| count.parse::<u32>().is_ok());
    let used = counted
        || known::counted_gpu(text).is_some()
        || ["one", "single", "a", "an", "our", "two", "four", "eight"].contains(&before.as_str());
    let others = ["reference", "compared", "than", "versus", "unlike", "would", "instead"];
    let alone = !lex(text).iter().any(|token| others.iter().any(|word| token.is(word)));
    text.get(range).filter(|_| used && alone)
}

/// A line in which a program names the processor: `Device 0: NVIDIA …, compute capability`.
fn device(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("Device ").or_else(|| line.strip_prefix("GPU "))?;
    let (number, name) = rest.split_once(": ")?;
    let _: u32 = number.parse().ok()?;
    let name = name.split([',', '(']).next()?.trim();
    (!name.is_empty() && name.len() <= 80).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heading(level: u8, title: &str) -> Heading {
        Heading { line: 1, level, title: title.to_owned() }
    }

    #[test]
    fn settings_hold_below_their_heading() {
        let mut sections = Sections::default();
        sections.enter(&heading(10, "llama.cpp"));
        sections.enter(&heading(20, "gemma-2b"));
        sections.enter(&heading(30, "300W"));
        assert!(
            sections.learn("  Device 0: NVIDIA H100 80GB HBM3, compute capability 9.0, VMM: yes")
        );
        let all = sections.factors();
        let of = |name| all.get(name);
        assert_eq!(of(key::POWER_LIMIT_W), Some("300"));
        assert_eq!(of(key::MODEL), Some("gemma-2b"));
        assert_eq!(of(key::GPU), Some("NVIDIA H100 80GB HBM3"));
        sections.enter(&heading(20, "Other"));
        assert_eq!(sections.factors().get(key::GPU), None);
        assert_eq!(sections.only_gpu(), Some("NVIDIA H100 80GB HBM3"));
    }

    #[test]
    fn sides_of_a_comparison_are_models() {
        let mut sections = Sections::default();
        sections.enter(&heading(10, "Comparison"));
        for (title, line) in [
            ("Hardware", "Two L40S cards"),
            ("Baseline Model", "some-8b"),
            ("Quantised Model", "some-8b-int8"),
            ("Quantization Scheme", "Int W8A8"),
        ] {
            sections.enter(&heading(20, title));
            assert!(sections.learn(line), "{title}");
        }
        sections.enter(&heading(20, "Results for compressed model"));
        assert_eq!(sections.factors().get(key::MODEL), Some("some-8b-int8"));
        assert_eq!(sections.factors().get(key::GPU), Some("L40S"));
        assert_eq!(sections.factors().get(key::HARDWARE), Some("Two L40S cards"));
        assert_eq!(sections.quantization(), Some(("W8A8", Some("some-8b-int8"))));
        assert_eq!(side("the base model and the compressed model"), None);
    }

    #[test]
    fn commands_set_what_their_flags_say() {
        let mut sections = Sections::default();
        assert!(
            sections.learn(
                "❯ vllm bench serve --dataset-name sharegpt --model a/b --max-concurrency=8"
            )
        );
        let all = sections.factors();
        assert_eq!(all.get(key::CONCURRENCY), Some("8"));
        assert_eq!(all.get(key::WORKLOAD), Some("sharegpt"));
        assert!(sections.learn("$ ls"));
        assert_eq!(sections.factors().get(key::CONCURRENCY), None);
        assert!(!sections.learn("we used 8 of them -- twice."));
    }

    #[test]
    fn the_number_of_processors_is_read() {
        let of = |lines: &[&str]| {
            let mut sections = Sections::default();
            sections.enter(&heading(10, "Llama-3.1-70B-Instruct"));
            for line in lines {
                match line.strip_prefix("## ") {
                    Some(title) => sections.enter(&heading(20, title)),
                    None => _ = sections.learn(line),
                }
            }
            let factors = sections.factors();
            let of = |name| factors.get(name).unwrap_or_default().to_owned();
            (of(key::GPU), of(key::HARDWARE), of(key::TENSOR_PARALLEL))
        };
        for (lines, gpu, hardware, shared) in [
            (
                &["Hardware: 8x NVIDIA H100 80GB HBM3"][..],
                "NVIDIA H100 80GB HBM3",
                "8x NVIDIA H100 80GB HBM3",
                "",
            ),
            (
                &["## Hardware", "8x NVIDIA H100 SXM", "## Run"],
                "NVIDIA H100 SXM",
                "8x NVIDIA H100 SXM",
                "",
            ),
            (&["**GPU**: 8x H100 SXM"], "H100 SXM", "8x H100 SXM", ""),
            (&["GPU: NVIDIA H100 SXM (x8)"], "NVIDIA H100 SXM", "NVIDIA H100 SXM (x8)", ""),
            (&["GPUs: 4 H100 SXM (TP4)"], "H100 SXM", "4 H100 SXM", "4"),
            (&["Eight H100 SXM GPUs, tensor parallel 8."], "H100 SXM", "Eight H100 SXM", "8"),
            (&["vllm serve m -tp 8"], "", "", "8"),
            (
                &["$ vllm serve m -tp 8", "$ vllm bench serve --model m --num-prompts 9"],
                "",
                "",
                "8",
            ),
            (&["$ vllm serve m -tp 8", "$ vllm serve n"], "", "", ""),
            (&["GPU: NVIDIA L40S"], "NVIDIA L40S", "", ""),
        ] {
            let expected = (gpu.to_owned(), hardware.to_owned(), shared.to_owned());
            assert_eq!(of(lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn lines_that_assign() {
        let mut sections = Sections::default();
        assert!(sections.learn("**Model:** `x-7b`") && sections.learn("- GPU: 2x RTX 4090"));
        assert_eq!(sections.factors().get(key::MODEL), Some("x-7b"));
        assert_eq!(sections.factors().get(key::GPU), Some("RTX 4090"));
        assert!(!sections.learn("Model: this one is better than all others that we ever tried."));
    }
}
