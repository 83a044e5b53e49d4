//! `inferometer kernel`: attention under masks, matrix products and transfers.

mod attention;
mod ceiling;
mod course_args;
mod size;

pub use attention::{KERNELS, MASKS};

use crate::cli::growing_document::{GrowingDocument, shown};
use crate::cli::id_list::{Entry, List};
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::output;
use crate::terminal;
use clap::{Args, Subcommand};
use course_args::CourseArgs;
use ifm_bench::kernel::{self, Ask, Done};
use ifm_core::Sheet;
use ifm_report::kind::kernel_overview;
use ifm_report::page::{self, Block, Page, Section};
use ifm_results::Results;
use ifm_store::Import;
use serde::Serialize;

/// Maximum number of sentences above the table.
const BRIEF_REMARKS: usize = 3;

/// Flags of `kernel`.
#[derive(Debug, Args)]
pub struct KernelCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Attention with masks, forward and backward: time, arithmetic rate, skipped blocks
    Attention(Box<attention::AttentionArgs>),
    /// Matrix products: arithmetic rate of this machine, by type and size
    Gemm(Box<ceiling::GemmArgs>),
    /// Memory transfers: bandwidth of this machine for reading, writing and copying
    Bandwidth(Box<ceiling::BandwidthArgs>),
}

/// What `kernel … --json` writes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KernelDocument<'a> {
    /// What kind of document this is.
    #[cfg_attr(test, schemars(extend("const" = "inferometer_kernel")))]
    kind: &'static str,
    /// Cases in which some pass has no result.
    failed: usize,
    /// The measurements, as they are stored.
    import: &'a Import,
}

/// Runs the command.
///
/// # Errors
/// An invalid flag, no result at all, or results that cannot be stored.
pub fn run(command: &KernelCommand) -> Result<Code, Failure> {
    match &command.what {
        What::Attention(args) if args.list => {
            list().tell(args.course.kept.json);
            Ok(Code::Done)
        }
        What::Attention(args) => {
            let interrupts = interrupt::watch();
            let ask = args.ask(&interrupts)?;
            measured(&ask, &args.course)
        }
        What::Gemm(args) => {
            let interrupts = interrupt::watch();
            measured(&args.ask(&interrupts)?, &args.course)
        }
        What::Bandwidth(args) => {
            let interrupts = interrupt::watch();
            measured(&args.ask(&interrupts)?, &args.course)
        }
    }
}

/// Measures, stores and prints.
fn measured(ask: &Ask, course: &CourseArgs) -> Result<Code, Failure> {
    let (args, files) = (&course.kept, &course.out);
    files.iter().try_for_each(|path| output::check_path(path))?;
    let kept = GrowingDocument::new(args)?;
    let import_of =
        |all: &[Done]| kept.import(kernel::sheet(ask, kept.name(), &args.factors(), all));
    let all = kernel::measure(ask, |all, index| {
        args.say(&kernel::line(ask, all, index));
        let done: Vec<Done> = all.iter().filter(|done| done.is_begun).cloned().collect();
        if done.iter().any(Done::is_timed) {
            kept.keep(&import_of(&done));
        }
    });
    let import = import_of(&all);
    if !args.quiet {
        kernel::disturbed(&all).iter().for_each(|text| terminal::warn(text));
    }
    let failed = all.iter().filter(|done| !done.is_good()).count();
    let is_nothing =
        all.iter().all(|done| if ask.times { !done.is_timed() } else { !done.is_good() });
    if args.json {
        let document = KernelDocument { kind: "inferometer_kernel", failed, import: &import };
        terminal::print_document(&document);
    } else if let Some(page) = shown(&import.sheets).filter(|_| ask.times && !is_nothing) {
        let page = if course.verbose { page } else { brief(page, &import.sheets) };
        terminal::print(&page::terminal(&page, &args.style()));
    }
    if let Some(page) = shown(&import.sheets).filter(|_| !is_nothing) {
        args.write(&page, files)?;
    }
    kept.end()?;
    if let Some(code) = interrupt::code(&ask.limits.interrupts) {
        return Ok(code);
    }
    match (failed, all.iter().find_map(Done::why)) {
        (0, _) => Ok(Code::Done),
        (_, why) if is_nothing => {
            let sentence = format!("no kernel gave a result: {}", why.unwrap_or("none ran"));
            let failure = Failure::new(Code::Invalid, sentence);
            // A provider that did not start cannot describe itself.
            let lost = all.iter().find(|done| done.about.is_none());
            let hint = lost.and_then(|done| ask.providers.get(done.provider)?.hint());
            Err(match hint {
                Some(hint) => failure.hint(hint),
                None => failure,
            })
        }
        _ => Ok(Code::Partly),
    }
}

/// A page that fits on a screen: one table instead of a chapter per mask.
fn brief(page: Page, sheets: &[Sheet]) -> Page {
    let Some(table) = kernel_overview(&Results::of_sheets(sheets)) else { return page };
    let more = "-v shows each mask with its skipped blocks, rooflines and errors".to_owned();
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(
        page.sections
            .iter()
            .flat_map(|section| &section.blocks)
            .filter(|block| matches!(block, Block::List(_)))
            .cloned(),
    );
    blocks.push(Block::Prose(more));
    let remarks = page.remarks.into_iter().take(BRIEF_REMARKS).collect();
    Page { sections: vec![Section::new("Attention kernels", blocks)], remarks, ..page }
}

/// Prints what can be requested by name.
fn list() -> List {
    let presets = kernel::PRESETS.iter().map(|preset| Entry {
        group: Some("preset"),
        id: preset.name,
        title: format!("{}, {} {}", preset.title, preset.kind, preset.size),
    });
    let kernels = KERNELS.iter().map(|(id, title)| Entry {
        group: Some("kernel"),
        id,
        title: (*title).to_owned(),
    });
    let masks = MASKS.iter().map(|(id, title)| Entry {
        group: Some("mask"),
        id,
        title: (*title).to_owned(),
    });
    List::new("kernels", presets.chain(kernels).chain(masks))
}
