//! `kernel attention`: from the flags to cases, mask by mask.

use super::ceiling;
use super::course_args::CourseArgs;
use super::size::{Heads, heads};
use crate::exit::Failure;
use crate::interrupt::Interrupts;
use clap::{Args, ValueEnum};
use ifm_bench::kernel::{
    Ask, Attention, Case, Masks, Operation, PRESETS, Pass, Preset, Provider, preset, wire,
};

/// Known kernels.
pub const KERNELS: &[(&str, &str)] = &[
    ("naive", "inferometer's: row by row, as in the definition"),
    ("tiled", "inferometer's: tiles with an online softmax, every block computed"),
    ("sparse", "inferometer's: the same, empty blocks skipped"),
    ("torch:sdpa", "scaled_dot_product_attention without a mask, or causal"),
    ("torch:sdpa-mask", "the same with a mask as a tensor"),
    ("torch:sdpa-causal", "the same, causal whatever the mask: attention-gym's first contender"),
    ("torch:sdpa-flash", "the same by one backend; also -efficient, -cudnn, -math"),
    ("torch:flex", "FlexAttention, compiled"),
    ("torch:flex-eager", "FlexAttention, not compiled"),
    ("torch:fa2", "the package flash_attn; also fa3"),
];

/// Known masks.
pub const MASKS: &[(&str, &str)] = &[
    ("full", "every key"),
    ("causal", "keys up to the query"),
    ("alibi", "every key, with a bias by distance"),
    ("sliding:1024", "the query's own key and 1024 before it"),
    ("prefix:1024", "the first 1024 keys, and those up to the query"),
    ("document:12", "causal inside of twelve documents; or their lengths: document:100+28"),
    ("softcap:30", "every key, scores held below 30 by tanh; also softcap-approx:30"),
    ("expr:q-k<99&&q>=k", "any condition on q, k and the head h"),
    ("blocks:FILE", "a file of rows of 1 and 0, a digit for each block"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Way {
    /// Forward
    #[value(alias = "forward")]
    Fwd,
    /// Backward
    #[value(alias = "backward")]
    Bwd,
}

/// Flags of `kernel attention`.
#[derive(Debug, Args)]
pub struct AttentionArgs {
    /// Kernels, such as tiled,sparse,torch:sdpa,torch:flex; see --list
    #[arg(
        help_heading = "Kernels",
        short,
        long = "impl",
        value_name = "NAME,…",
        value_delimiter = ','
    )]
    kernels: Vec<String>,

    /// Masks, such as causal,sliding:1024; join with &: "alibi&causal"; see --list
    #[arg(
        help_heading = "Kernels",
        short,
        long = "mask",
        value_name = "MASK,…",
        value_delimiter = ','
    )]
    masks: Vec<String>,

    /// Sizes: BATCHxHEADSxTOKENSxWIDTH
    ///
    /// Fewer key heads, or another number of keys, follow a slash: 1x32/8x512/4096x128
    #[arg(help_heading = "Kernels", long = "size", visible_alias = "shape", value_name = "SIZE,…", value_delimiter = ',', value_parser = heads)]
    sizes: Vec<Heads>,

    /// Types: f32, f16, bf16
    #[arg(
        help_heading = "Kernels",
        long = "type",
        visible_alias = "dtype",
        value_name = "TYPE,…",
        value_delimiter = ','
    )]
    types: Vec<String>,

    /// Passes [default: both]
    #[arg(help_heading = "Kernels", long = "pass", value_name = "PASS,…", value_delimiter = ',')]
    passes: Vec<Way>,

    /// Named kernels, masks and size: quick, cpu, gym [default: quick; gym with a GPU --device]
    ///
    /// gym is attention-gym's benchmark and runs in PyTorch
    #[arg(help_heading = "Kernels", long, value_name = "NAME")]
    preset: Option<String>,

    /// Side of a block of the mask, tokens
    #[arg(help_heading = "Kernels", long, default_value_t = 128, value_parser = clap::value_parser!(u64).range(1..=65_536), value_name = "N")]
    block: u64,

    /// Kernel to compare the others with [default: naive, else the first]
    #[arg(help_heading = "Kernels", long, value_name = "NAME")]
    reference: Option<String>,

    #[command(flatten)]
    pub course: CourseArgs,

    /// Check results against 64-bit floats, without timing
    #[arg(help_heading = "Repeats", long)]
    check_only: bool,

    /// Skip the ceilings of this machine
    ///
    /// They are a matrix product and a triad, measured before each provider's kernels
    #[arg(help_heading = "Repeats", long)]
    no_limit: bool,

    /// List presets, kernels and masks, and exit
    #[arg(help_heading = "Results", long)]
    pub list: bool,
}

impl AttentionArgs {
    /// The requested cases.
    ///
    /// # Errors
    /// An unknown name, or masks that do not fit the size.
    pub fn ask(&self, interrupts: &Interrupts) -> Result<Ask, Failure> {
        let usual = if self.course.is_on_gpu() { "gym" } else { "quick" };
        let name = self.preset.as_deref().unwrap_or(usual);
        let preset = preset(name).ok_or_else(|| {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            Failure::usage(format!("there is no preset \"{name}\""))
                .hint(format!("there are {}", names.join(", ")))
        })?;
        let kernels = given(&self.kernels, preset.kernels);
        let types = given(&self.types, &[preset.kind]);
        let mut masks = Masks::default();
        let (mut cases, mut ceilings) = (Vec::new(), Vec::new());
        for (name, sizes) in self.masks_and_sizes(preset)? {
            let mask = masks.add(&name, self.block).map_err(Failure::usage)?;
            for size in sizes {
                let wired = wire(&mask, size.queries, size.keys)
                    .map_err(|why| Failure::usage(format!("mask {name}: {why}")))?;
                let attention = self.attention(size, wired, preset);
                for kind in &types {
                    for kernel in &kernels {
                        let (provider, own) = self.course.provider(kernel)?;
                        let case = Case {
                            implementation: own.to_owned(),
                            kind: kind.clone(),
                            operation: Operation::Attention(attention.clone()),
                            grows: 0,
                        };
                        self.add_ceiling(&mut ceilings, &provider, kind);
                        cases.push((provider, case));
                    }
                }
            }
        }
        let reference = self.reference.clone().unwrap_or_else(|| {
            let naive = kernels.iter().find(|kernel| *kernel == "naive");
            naive.or(kernels.first()).cloned().unwrap_or_default()
        });
        if !kernels.contains(&reference) {
            return Err(Failure::usage(format!(
                "--reference {reference} is not a kernel of --impl"
            )));
        }
        // The machine's ceilings come first: the following rows are compared with them.
        ceilings.extend(cases);
        self.course.ask((ceilings, reference), masks, !self.check_only, interrupts)
    }

    /// A product and a triad by a provider, once for each type.
    fn add_ceiling(&self, all: &mut Vec<(Provider, Case)>, provider: &Provider, kind: &str) {
        if self.no_limit || self.check_only || matches!(provider, Provider::Command(_)) {
            return;
        }
        for case in [ceiling::product_of(kind), ceiling::triad()] {
            let case = (provider.clone(), case);
            if !all.contains(&case) {
                all.push(case);
            }
        }
    }

    /// The masks with the sizes of each.
    fn masks_and_sizes(&self, preset: &Preset) -> Result<Vec<(String, Vec<Heads>)>, Failure> {
        let read = |text: &str| heads(text).map_err(Failure::usage);
        let of = |own: Option<&str>| -> Result<Vec<Heads>, Failure> {
            match self.sizes.is_empty() {
                false => Ok(self.sizes.clone()),
                true => Ok(vec![read(own.unwrap_or(preset.size))?]),
            }
        };
        if self.masks.is_empty() {
            let masks = preset.masks.iter();
            return masks.map(|(mask, own)| Ok(((*mask).to_owned(), of(*own)?))).collect();
        }
        self.masks.iter().map(|mask| Ok((mask.clone(), of(None)?))).collect()
    }

    fn attention(&self, size: Heads, mask: ifm_bench::kernel::Mask, preset: &Preset) -> Attention {
        let passes = match self.passes.is_empty() {
            true => preset.passes.to_vec(),
            false => {
                let of = |way: &Way| match way {
                    Way::Fwd => Pass::Forward,
                    Way::Bwd => Pass::Backward,
                };
                self.passes.iter().map(of).collect()
            }
        };
        Attention {
            batch: size.batch,
            query_heads: size.query_heads,
            kv_heads: size.kv_heads,
            queries: size.queries,
            keys: size.keys,
            width: size.width,
            passes,
            mask,
            block: self.block,
            // The last of each is enough: an error in heads or sequences shows up there.
            check_batch: size.batch - 1,
            check_kv_head: size.kv_heads - 1,
        }
    }
}

/// The given value, else the default.
fn given(words: &[String], usual: &[&str]) -> Vec<String> {
    match words.is_empty() {
        true => usual.iter().map(|word| (*word).to_owned()).collect(),
        false => words.to_vec(),
    }
}
