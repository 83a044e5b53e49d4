//! `kernel gemm` and `kernel bandwidth`: measure the maximum that this machine reaches.

use super::course_args::CourseArgs;
use super::size::{bytes, product};
use crate::exit::Failure;
use crate::interrupt::Interrupts;
use clap::Args;
use ifm_bench::kernel::{Ask, Case, Masks, Operation};
use ifm_core::sheet::kernel::{GEMM, TRANSFERS};

/// Side of the product, and bytes of the array, measured before attention.
const SIDE: u64 = 1024;
const BYTES: u64 = 256 << 20;
/// Default sides of products.
const SIDES: [u64; 3] = [512, 1024, 2048];
/// Default types of products, for a CPU and for a GPU: models use different types on each.
const TYPES: &[&str] = &["f32"];
const GPU_TYPES: &[&str] = &["f32", "bf16"];
/// How much larger both are on a GPU. An H200 multiplies 16-bit matrices at 119 TFLOP/s where the side
/// is 1,024, and at 646 where it is 8,192.
const SIDE_GROWS: u64 = 8;
const SIDES_GROW: u64 = 4;

/// The product that the kernels of a type are compared with.
pub fn product_of(kind: &str) -> Case {
    Case { grows: SIDE_GROWS, ..gemm((SIDE, SIDE, SIDE), kind) }
}

/// The transfer that kernels are compared with.
pub fn triad() -> Case {
    transfer("triad", BYTES)
}

fn gemm((m, n, k): (u64, u64, u64), kind: &str) -> Case {
    Case {
        implementation: GEMM.to_owned(),
        kind: kind.to_owned(),
        operation: Operation::Gemm { m, n, k },
        grows: 0,
    }
}

fn transfer(kernel: &str, bytes: u64) -> Case {
    Case {
        implementation: kernel.to_owned(),
        kind: "f32".to_owned(),
        operation: Operation::Bandwidth { bytes },
        grows: 0,
    }
}

/// Flags of `kernel gemm`.
#[derive(Debug, Args)]
pub struct GemmArgs {
    /// Providers: native, torch, command [default: torch with a GPU --device; native, and torch where this
    /// host has a GPU and PyTorch]
    #[arg(help_heading = "Kernels", long, value_name = "NAME,…", value_delimiter = ',')]
    provider: Vec<String>,

    /// Sizes: SIDE, or ROWSxCOLUMNSxDEPTH [default: 512,1024,2048; on a GPU 2048,4096,8192]
    #[arg(help_heading = "Kernels", long = "size", value_name = "SIZE,…", value_delimiter = ',', value_parser = product)]
    sizes: Vec<(u64, u64, u64)>,

    /// Types: f32, f16, bf16, int8 [default: f32; on a GPU f32 and bf16]
    ///
    /// PyTorch on a GPU also supports tf32 and fp8
    #[arg(
        help_heading = "Kernels",
        long = "type",
        visible_alias = "dtype",
        value_name = "TYPE,…",
        value_delimiter = ','
    )]
    types: Vec<String>,

    #[command(flatten)]
    pub course: CourseArgs,
}

/// Flags of `kernel bandwidth`.
#[derive(Debug, Args)]
pub struct BandwidthArgs {
    /// Providers: native, torch, command [default: torch with a GPU --device; native, and torch where this
    /// host has a GPU and PyTorch]
    #[arg(help_heading = "Kernels", long, value_name = "NAME,…", value_delimiter = ',')]
    provider: Vec<String>,

    /// Transfers: read, write, copy, triad
    #[arg(help_heading = "Kernels", long = "kind", value_name = "NAME,…", value_delimiter = ',', value_parser = TRANSFERS)]
    kinds: Vec<String>,

    /// Bytes of one array; auto is four times the largest cache
    ///
    /// An array that fits in a cache measures that cache
    #[arg(help_heading = "Kernels", long = "bytes", default_value = "auto", value_name = "BYTES,…", value_delimiter = ',', value_parser = bytes)]
    bytes: Vec<u64>,

    #[command(flatten)]
    pub course: CourseArgs,
}

impl GemmArgs {
    /// The requested cases.
    ///
    /// # Errors
    /// There is no such provider.
    pub fn ask(&self, interrupts: &Interrupts) -> Result<Ask, Failure> {
        let usual = SIDES.map(|side| (side, side, side));
        let (sizes, grows) = match self.sizes.as_slice() {
            [] => (usual.as_slice(), SIDES_GROW),
            given => (given, 0),
        };
        self.course.of_each(&self.provider, interrupts, |is_gpu| {
            let usual = if is_gpu { GPU_TYPES } else { TYPES };
            let usual: Vec<String> = usual.iter().map(|kind| (*kind).to_owned()).collect();
            let types = if self.types.is_empty() { &usual } else { &self.types };
            let of = |kind: &str| -> Vec<Case> {
                sizes.iter().map(|size| Case { grows, ..gemm(*size, kind) }).collect()
            };
            types.iter().flat_map(|kind| of(kind)).collect()
        })
    }
}

impl BandwidthArgs {
    /// The requested cases.
    ///
    /// # Errors
    /// There is no such provider.
    pub fn ask(&self, interrupts: &Interrupts) -> Result<Ask, Failure> {
        let all: Vec<String> = TRANSFERS.map(str::to_owned).to_vec();
        let kinds = if self.kinds.is_empty() { &all } else { &self.kinds };
        let cases = self
            .bytes
            .iter()
            .flat_map(|bytes| kinds.iter().map(move |kind| transfer(kind, *bytes)));
        let cases: Vec<Case> = cases.collect();
        self.course.of_each(&self.provider, interrupts, |_| cases.clone())
    }
}

impl CourseArgs {
    /// The cases of each provider, which may depend on whether it computes on a GPU.
    fn of_each(
        &self,
        names: &[String],
        interrupts: &Interrupts,
        cases: impl Fn(bool) -> Vec<Case>,
    ) -> Result<Ask, Failure> {
        let mut all = Vec::new();
        for (provider, is_gpu) in self.providers(names, interrupts)? {
            all.extend(cases(is_gpu).into_iter().map(|case| (provider.clone(), case)));
        }
        self.ask((all, String::new()), Masks::default(), true, interrupts)
    }
}
