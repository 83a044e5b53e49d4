//! `inferometer workload`: shows what would be sent.

use crate::cli::args::workload::{WorkloadArgs, open};
use crate::exit::{Code, Failure};
use crate::terminal;
use clap::{Args, Subcommand};
use ifm_core::words::counted;
use ifm_core::{FormKind, FormSpec, form_key};
use ifm_form::Asked;
use ifm_workload::{
    DATASETS, LengthCounts, MediaFacts, MediaPreview, Preview, Sessions, WorkloadFacts,
};
use serde::Serialize;
use std::path::PathBuf;

/// Number of bars in a histogram.
const BARS: usize = 12;
/// Maximum length of a bar, characters.
const BAR_WIDTH: usize = 40;

/// Flags of `workload`.
#[derive(Debug, Args)]
pub struct WorkloadCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show lengths, samples and histograms of a workload; sends nothing
    Preview(PreviewArgs),
    /// List the presets and the kinds of datasets
    List(ListArgs),
}

#[derive(Debug, Args)]
struct PreviewArgs {
    #[command(flatten)]
    workload: Box<WorkloadArgs>,

    /// Number of items to inspect
    #[arg(short = 'n', long, default_value_t = 1000, value_name = "N")]
    items: u32,

    /// One JSON document on standard output
    #[arg(long)]
    json: bool,

    /// Print only ASCII characters (default on terminals without UTF-8)
    #[arg(long)]
    ascii: bool,
}

/// What `workload preview --json` writes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PreviewDocument<'a> {
    /// What the document is.
    #[cfg_attr(test, schemars(extend("const" = "inferometer_workload_preview")))]
    kind: &'static str,
    /// The workload's description of itself.
    facts: &'a WorkloadFacts,
    /// What counted the tokens.
    tokenizer: TokenizerName<'a>,
    /// What would be sent.
    preview: &'a Preview,
    /// Structured answers that would be requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    forms: Vec<PreviewedForm>,
}

/// A form of answers.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PreviewedForm {
    /// As typed, without its share.
    form: String,
    /// Its kind: `json`, `regex`.
    kind: &'static str,
    /// The requested share, 0 to 1.
    share: f64,
    /// Number of inspected items whose first request would have it.
    items: u32,
    /// Length of its schema, expression, choices or grammar, bytes.
    bytes: u64,
}

/// A tokenizer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TokenizerName<'a> {
    /// Name.
    name: &'a str,
    /// SHA-256 of its file.
    sha256: &'a str,
}

/// What `workload list --json` writes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkloadList {
    /// What the document is.
    #[cfg_attr(test, schemars(extend("const" = "inferometer_workload_list")))]
    kind: &'static str,
    /// Named workloads.
    presets: Vec<ListedPreset>,
    /// Kinds of datasets.
    datasets: Vec<ListedDataset>,
}

/// A named workload.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ListedPreset {
    /// Name.
    name: String,
    /// Its description, in one line.
    summary: String,
    /// The workload that the name refers to.
    workload: String,
}

/// A kind of dataset.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ListedDataset {
    /// The name before the colon.
    name: &'static str,
    /// Its notation.
    usage: &'static str,
    /// Its description.
    summary: &'static str,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Folder of your own workload presets
    #[arg(long, value_name = "DIR", env = "INFEROMETER_PRESETS")]
    presets: Option<PathBuf>,

    /// One JSON document on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &WorkloadCommand) -> Result<Code, Failure> {
    match &args.verb {
        Verb::Preview(preview) => self::preview(preview),
        Verb::List(list) => self::list(list),
    }
}

fn list(args: &ListArgs) -> Result<Code, Failure> {
    let presets = ifm_workload::presets(args.presets.as_deref())
        .map_err(|error| Failure::usage(error.to_string()))?;
    if args.json {
        let datasets = DATASETS.iter().map(|kind| ListedDataset {
            name: kind.name,
            usage: kind.usage,
            summary: kind.summary,
        });
        let presets = presets.into_iter().map(|preset| ListedPreset {
            name: preset.name,
            summary: preset.summary,
            workload: preset.workload,
        });
        terminal::print_document(&WorkloadList {
            kind: "inferometer_workload_list",
            presets: presets.collect(),
            datasets: datasets.collect(),
        });
        return Ok(Code::Done);
    }
    let mut out = String::from("Presets:\n");
    let width = presets.iter().map(|preset| preset.name.len()).max().unwrap_or(0);
    for preset in &presets {
        // A longer definition is for machines: `--json`, or `preview`.
        let workload = match preset.workload.len() <= SHORT_WORKLOAD {
            true => format!(" ({})", preset.workload),
            false => String::new(),
        };
        out.push_str(&format!("  {:<width$}  {}{workload}\n", preset.name, preset.summary));
    }
    out.push_str("\nLengths: 1024/256, 512-2048/128, normal(1000,100)/256, D(100,1000), N(480,240)/(300,150)\n\nData sets:\n");
    let width = DATASETS.iter().map(|kind| kind.usage.len()).max().unwrap_or(0).min(44);
    for kind in DATASETS {
        out.push_str(&format!("  {:<width$}  {}\n", kind.usage, kind.summary));
    }
    terminal::print(&terminal::folded(&out));
    Ok(Code::Done)
}

/// Maximum length of a preset's definition in the list.
const SHORT_WORKLOAD: usize = 48;

/// Shown characters of a sample's text; the JSON document has more.
const SAMPLE_CHARS: usize = 220;

fn preview(args: &PreviewArgs) -> Result<Code, Failure> {
    let tokenizer = args.workload.tokenizer()?;
    let request = args.workload.request(args.workload.seed.unwrap_or(0), Some(args.items))?;
    let opened = open(&request, &tokenizer)?;
    let preview = ifm_workload::preview(&*opened.dataset, args.items)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let forms = previewed_forms(args, preview.items)?;
    if args.json {
        terminal::print_document(&PreviewDocument {
            kind: "inferometer_workload_preview",
            facts: &opened.facts,
            tokenizer: TokenizerName { name: tokenizer.name(), sha256: tokenizer.sha256() },
            preview: &preview,
            forms,
        });
        return Ok(Code::Done);
    }
    let style = terminal::style(false, args.ascii);
    let mut out = facts(&opened.facts, tokenizer.name());
    out.push_str(&numbers(&preview));
    out.push_str(&forms_told(&forms, preview.items));
    out.push_str(&histogram("prompt tokens", &preview.prompt_lengths, style.ascii));
    out.push_str(&histogram("output tokens", &preview.output_lengths, style.ascii));
    for sample in &preview.samples {
        let tokens = |tokens: Option<u32>| tokens.map_or_else(|| "?".to_owned(), |n| n.to_string());
        let text: String = printable(&sample.text).chars().take(SAMPLE_CHARS).collect();
        let is_cut = sample.is_cut || text.len() < sample.text.len();
        let dots = if is_cut { " …" } else { "" };
        out.push_str(&format!(
            "\nitem {}: {} tokens in, {} out, {}\n  {}{dots}\n",
            sample.id,
            tokens(sample.prompt_tokens),
            tokens(sample.output_tokens),
            counted(sample.turns as u64, "turn"),
            text.trim_end()
        ));
    }
    terminal::print(&terminal::folded(&out));
    Ok(Code::Done)
}

/// The forms, and how many of the items' first requests draw each.
fn previewed_forms(args: &PreviewArgs, items: u32) -> Result<Vec<PreviewedForm>, Failure> {
    let asked = args.workload.asked_forms()?;
    let drawn = Asked::forms(&asked, args.workload.seed.unwrap_or(0));
    let draws: Vec<u16> =
        (0..items).filter_map(|item| drawn.draw(form_key(item, None, None))).collect();
    let told = |(index, spec): (usize, FormSpec)| PreviewedForm {
        form: spec.word,
        kind: spec.kind.word(),
        share: spec.share,
        items: draws.iter().filter(|drawn| usize::from(**drawn) == index).count() as u32,
        bytes: spec.bytes,
    };
    Ok(ifm_form::specs(&asked, false).into_iter().enumerate().map(told).collect())
}

/// The forms as lines; empty if all answers are free.
fn forms_told(forms: &[PreviewedForm], items: u32) -> String {
    if forms.is_empty() {
        return String::new();
    }
    let mut out = "\nstructured answers\n".to_owned();
    for form in forms {
        let share = (form.share * 1000.0).round() / 10.0;
        let length = match form.bytes {
            0 => String::new(),
            bytes => format!(", {bytes} bytes of {}", form.kind),
        };
        let unique = if form.kind == FormKind::JsonUnique.word() {
            ", another schema for each request"
        } else {
            ""
        };
        out.push_str(&format!(
            "  {}: {share} % of the requests, {} of the first {items}{length}{unique}\n",
            printable(&form.form),
            form.items
        ));
    }
    let free = items - forms.iter().map(|form| form.items).sum::<u32>();
    if free > 0 {
        out.push_str(&format!("  free: {free} of the first {items}\n"));
    }
    out
}

fn facts(facts: &WorkloadFacts, tokenizer: &str) -> String {
    let mut out = format!("{} ({})\n", facts.name, facts.kind);
    for file in &facts.files {
        out.push_str(&format!(
            "  file      {}, {} bytes, sha256 {}\n",
            file.name, file.bytes, file.sha256
        ));
    }
    if let Some(rows) = &facts.rows {
        out.push_str(&format!("  rows      {} read, {} kept", rows.read, rows.kept));
        for (reason, count) in &rows.dropped {
            out.push_str(&format!(", {count} {reason}"));
        }
        if rows.bad > 0 {
            out.push_str(&format!(", {} malformed", rows.bad));
        }
        out.push('\n');
        for row in &rows.bad_rows {
            out.push_str(&format!("  malformed {}\n", printable(row)));
        }
    }
    for rule in &facts.rules {
        out.push_str(&format!("  rule      {rule}\n"));
    }
    if let Some(ratio) = &facts.range_ratio {
        out.push_str(&format!("  ratio     {ratio}\n"));
    }
    out.push_str(&facts.media.as_ref().map(media_facts).unwrap_or_default());
    let items = facts.items.map_or_else(|| "without end".to_owned(), |items| items.to_string());
    out.push_str(&format!(
        "  items     {items}\n  tokenizer {tokenizer}\n  seed      {}\n",
        facts.seed
    ));
    out
}

/// The workload's media.
fn media_facts(media: &MediaFacts) -> String {
    let mut out = String::new();
    for kind in &media.kinds {
        let mean = kind.file_bytes_mean.map(|bytes| format!(", mean {:.1} kB", bytes / 1e3));
        out.push_str(&format!(
            "  {:<9} {} a request, {}: {}{}\n",
            kind.kind,
            kind.count,
            kind.law,
            kind.made,
            mean.unwrap_or_default()
        ));
    }
    let reuse = match (media.distinct, &media.reuse) {
        (Some(distinct), Some(reuse)) => format!("{distinct} different ones, {reuse}"),
        (Some(distinct), None) => format!("{distinct} different ones"),
        (None, _) => "every request has its own".to_owned(),
    };
    out.push_str(&format!("  reuse     {reuse}\n"));
    out
}

fn numbers(preview: &Preview) -> String {
    let mut out = format!(
        "\nof {} items: {} different first prompts",
        preview.items, preview.distinct_prompts
    );
    if let Some(share) = preview.shared_prefix_share {
        out.push_str(&format!(
            ", {:.1} % of their bytes are also a prefix of an earlier one",
            share * 100.0
        ));
    }
    out.push('\n');
    if let Some(span_ns) = preview.span_ns {
        out.push_str(&format!("sent within {:.1} s\n", span_ns as f64 / 1e9));
    }
    if let Some(found) = &preview.sessions {
        out.push_str(&sessions(found, &preview.turns));
    }
    if let Some(found) = &preview.media {
        out.push_str(&media(found));
    }
    out
}

/// The media as lines.
fn media(found: &MediaPreview) -> String {
    let mut out = format!("\nmedia of {}\n", counted(found.requests, "request"));
    let known = |value: Option<String>| value.unwrap_or_else(|| "not known".to_owned());
    let pixels = known(found.pixels.map(|pixels| format!("{:.1} million", pixels as f64 / 1e6)));
    if found.images > 0 {
        out.push_str(&format!("  images    {}\n", found.images));
    }
    if found.audios > 0 {
        let length = known(found.audio_s.map(|seconds| format!("{seconds:.1} s")));
        out.push_str(&format!("  audios    {}, length in all {length}\n", found.audios));
    }
    if found.videos > 0 {
        let frames = known(found.frames.map(|frames| frames.to_string()));
        out.push_str(&format!("  videos    {}, frames in all {frames}\n", found.videos));
    }
    if found.images + found.videos > 0 {
        out.push_str(&format!("  pixels    {pixels}\n"));
    }
    let all = (found.images + found.audios + found.videos).max(1);
    let bytes = found.file_bytes.map(|bytes| {
        let mean = bytes as f64 / all as f64;
        format!("{:.2} MB in all, mean {:.1} kB", bytes as f64 / 1e6, mean / 1e3)
    });
    out.push_str(&format!("  files     {} (before base64)\n", known(bytes)));
    out.push_str(&format!(
        "  different {} of {all}; {:.1} % were sent before: what a cache that forgets nothing would \
         know\n",
        found.distinct,
        found.known_share * 100.0
    ));
    out
}

/// The sessions as lines.
fn sessions(found: &Sessions, turns: &LengthCounts) -> String {
    let range = |counts: &LengthCounts, unit: &str, divisor: f64| {
        let bounds = (counts.min_tokens(), counts.max_tokens(), counts.mean_tokens());
        let (Some(min), Some(max), Some(mean)) = bounds else { return "none".to_owned() };
        let [mean, min, max] = [mean, f64::from(min), f64::from(max)].map(|it| it / divisor);
        let digits = usize::from(divisor > 1.0);
        format!("mean {mean:.1}{unit}, {min:.digits$} to {max:.digits$}{unit}")
    };
    let mut out = format!(
        "\n{} of {}\n  turns     {}\n",
        counted(u64::from(found.sessions), "session"),
        counted(found.requests, "request"),
        range(turns, "", 1.0)
    );
    if found.sub_agents > 0 {
        out.push_str(&format!(
            "  agents    {} in addition, turns {}, at most {} of a session in flight at once\n",
            counted(u64::from(found.sub_agents), "sub-agent"),
            range(&found.agent_turns, "", 1.0),
            counted(u64::from(found.parallel), "request"),
        ));
    }
    out.push_str(&format!("  prompts   {} tokens\n", range(&found.context_lengths, "", 1.0)));
    out.push_str(&format!("  pauses    {}\n", range(&found.pauses_ms, " s", 1000.0)));
    match found.ideal_hit_share {
        Some(share) => out.push_str(&format!(
            "  ideal hit {:.1} % of prompt tokens were said before: what a cache that forgets \
             nothing would find\n",
            share * 100.0
        )),
        None => out.push_str("  ideal hit not known: not all tokens were counted\n"),
    }
    out
}

/// Mean and bounds, and a bar for each range of lengths.
fn histogram(name: &str, lengths: &LengthCounts, ascii: bool) -> String {
    let (Some(min), Some(max), Some(mean)) =
        (lengths.min_tokens(), lengths.max_tokens(), lengths.mean_tokens())
    else {
        return format!("\n{name}: not counted\n");
    };
    let mut out = format!("\n{name}: mean {mean:.1}, {min} to {max}\n");
    if min == max {
        return out;
    }
    let width = (u64::from(max - min) + 1).div_ceil(BARS as u64).max(1);
    let mut counts = [0_u64; BARS];
    for (tokens, count) in lengths.iter() {
        let place = (u64::from(tokens - min) / width) as usize;
        counts[place.min(BARS - 1)] += count;
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    for (place, count) in counts.iter().enumerate() {
        let from = u64::from(min) + place as u64 * width;
        if from > u64::from(max) {
            break;
        }
        let to = (from + width - 1).min(u64::from(max));
        let length = (*count as f64 / most as f64 * BAR_WIDTH as f64).round() as usize;
        let bar = if ascii { "#" } else { "█" }.repeat(length);
        out.push_str(&format!("  {:>7} - {:<7} {:>8}  {bar}\n", from, to, count));
    }
    out
}

/// Text from a file, on one line and without control characters.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
