//! From the name of a workload to its items.
//!
//! Not here: what a data set has at hand for it (`opening`), and what it makes of it (`dataset`).

use ifm_core::{ImageDetail, MediumKind, words::nearest};
use ifm_tokenizer::Tokenizer;

use crate::{
    dataset::{DATASETS, DatasetKind, mix, random},
    error::WorkloadError,
    facts::WorkloadFacts,
    known::MediaFacts,
    lengths::LengthPair,
    media::Wanted,
    opening::{OpenedWorkload, Opening},
    options::Options,
    preset::{self, Preset},
    request::{AfterLast, OnBadRow, WorkloadRequest},
};

/// What a name stands for.
struct Named {
    kind: &'static DatasetKind,
    body: String,
    options: Options,
    preset: Option<Preset>,
}

/// Makes a workload of what is asked.
///
/// Files are read here, from their beginning as far as they are needed; afterwards
/// items are made from memory.
///
/// # Errors
/// [`WorkloadError`] for a name, an option, a file, a row or a column that cannot be used.
pub fn open(
    request: &WorkloadRequest,
    tokenizer: &Tokenizer,
) -> Result<OpenedWorkload, WorkloadError> {
    let Named { kind, body, mut options, preset } = resolve(request)?;
    let mut request = request.clone();
    take_common(&mut request, &mut options)?;
    let mut facts = WorkloadFacts {
        kind: kind.name.to_owned(),
        seed: request.seed,
        turns_max: 1,
        ignore_eos: kind.ignore_eos,
        ..WorkloadFacts::default()
    };
    let preset_text = preset.as_ref().map(|preset| preset.workload.clone()).unwrap_or_default();
    if let Some(preset) = preset {
        for (name, column) in preset.columns {
            request.columns.entry(name).or_insert(column);
        }
        facts.ignore_eos = preset.ignore_eos.unwrap_or(facts.ignore_eos);
        facts.name.clone_from(&preset.name);
        facts.preset = Some(preset.name);
    }
    let mut opening = Opening { request: &request, tokenizer, body, options, facts, open };
    let dataset = (kind.open)(&mut opening).map_err(|error| alone(kind, &opening.body, error))?;
    let wanted = Wanted::take(&mut opening.options, request.image_detail)?;
    opening.options.finish()?;
    let mut facts = opening.facts;
    let dataset = match wanted {
        Some(wanted) => {
            // A preset, or a kind, whose own the media are says so by its name.
            let told = format!("{preset_text} {}", facts.kind);
            let laws = wanted.laws().filter(|(kind, _)| !told.contains(kind));
            let more: String = laws.map(|(kind, law)| format!(" + {kind} {law}")).collect();
            facts.name.push_str(&more);
            wanted.dress(dataset, &request, &mut facts)?
        }
        None => dataset,
    };
    let has_images = |media: &MediaFacts| media.has(MediumKind::Image);
    if let Some(detail) = request.image_detail
        && !facts.media.as_ref().is_some_and(has_images)
    {
        let text = format!("image_detail={}", detail.word());
        let reason = "the workload has no images; give it some, as image=720p".to_owned();
        return Err(WorkloadError::Shape { text, reason });
    }
    Ok(OpenedWorkload { dataset, facts })
}

fn resolve(request: &WorkloadRequest) -> Result<Named, WorkloadError> {
    let text = request.text.trim();
    let (name, mut options) = split(text)?;
    let presets = preset::load(request.preset_folder.as_deref())?;
    let found = presets.into_iter().find(|preset| preset.is_called(name));
    let Some(preset) = found else {
        let (kind, body) = find_kind(name)?;
        return Ok(Named { kind, body, options, preset: None });
    };
    let (inner, defaults) = split(&preset.workload)?;
    let (kind, body) = find_kind(inner)?;
    options.fill(defaults);
    Ok(Named { kind, body, options, preset: Some(preset) })
}

/// A name and its options. Each class of a mix has options of its own.
fn split(text: &str) -> Result<(&str, Options), WorkloadError> {
    match text.split_once(':') {
        Some((word, _)) if mix::KIND.is_called(word) => Ok((text, Options::default())),
        _ => Options::split(text),
    }
}

/// The data set of a name, and what stands after the colon.
fn find_kind(name: &str) -> Result<(&'static DatasetKind, String), WorkloadError> {
    if LengthPair::is_like(name) {
        return Ok((&random::KIND, name.to_owned()));
    }
    let (word, body) = name.split_once(':').unwrap_or((name, ""));
    if let Some(kind) = DATASETS.iter().find(|kind| kind.is_called(word)) {
        return Ok((kind, body.to_owned()));
    }
    // A data set of the hub by its own name, or as vLLM's `hf`: the kind that is made for
    // it, else rows of prompts.
    if word == "hub" || word == "hf" {
        let repository = body.split('/').take(2).collect::<Vec<_>>().join("/");
        let known = |kind: &&DatasetKind| kind.hub.iter().any(|set| set.repository == repository);
        let word = if DATASETS.iter().any(|kind| known(&kind)) { "" } else { "custom" };
        let kind = DATASETS.iter().find(|kind| known(kind) || kind.name == word);
        if let Some(kind) = kind {
            return Ok((kind, format!("hub:{body}")));
        }
    }
    Err(unknown(name))
}

/// What is wrong with a kind that was named alone, though it needs more.
fn alone(kind: &DatasetKind, body: &str, error: WorkloadError) -> WorkloadError {
    match error {
        WorkloadError::Shape { text, reason } if body.is_empty() && text.is_empty() => {
            let reason = format!("it is written {}; {reason}", kind.usage);
            WorkloadError::Shape { text: kind.name.to_owned(), reason }
        }
        other => other,
    }
}

fn unknown(name: &str) -> WorkloadError {
    let presets = preset::embedded().unwrap_or_default();
    let word = name.split(':').next().unwrap_or(name);
    let named = DATASETS.iter().flat_map(|kind| kind.aliases.iter().copied().chain([kind.name]));
    let near = nearest(word, named.chain(presets.iter().map(|preset| preset.name.as_str())));
    if let Some(near) = near {
        let reason = format!("did you mean '{near}'? `inferometer workload list` shows all");
        return WorkloadError::Shape { text: name.to_owned(), reason };
    }
    let presets = presets.iter().map(|preset| preset.name.as_str()).collect::<Vec<_>>().join(", ");
    let kinds = DATASETS.iter().map(|kind| kind.usage).collect::<Vec<_>>().join(", ");
    WorkloadError::Shape {
        text: name.to_owned(),
        reason: format!("there are {presets}; or give lengths as 1024/256, or {kinds}"),
    }
}

/// Options that every data set has.
fn take_common(request: &mut WorkloadRequest, options: &mut Options) -> Result<(), WorkloadError> {
    if let Some(seed) = options.value("seed", "a whole number")? {
        request.seed = seed;
        request.selection_seed = Some(seed);
    }
    if let Some(items) = options.value("items", "a number of items")? {
        request.items_max = Some(request.items_max.map_or(items, |max| max.min(items)));
    }
    if let Some(word) = options.text("image_detail") {
        let words = ImageDetail::ALL.map(ImageDetail::word).join(", ");
        let detail = ImageDetail::from_word(&word);
        request.image_detail = Some(detail.ok_or_else(|| choice("image_detail", &word, &words))?);
    }
    if let Some(columns) = options.text("columns") {
        for pair in columns.split(',') {
            let Some((name, column)) = pair.split_once(':') else {
                return Err(WorkloadError::Shape {
                    text: pair.to_owned(),
                    reason: "write columns as columns=prompt:NAME,answer:NAME".to_owned(),
                });
            };
            request.columns.insert(name.trim().to_owned(), column.trim().to_owned());
        }
    }
    if let Some(word) = options.text("bad_rows") {
        request.on_bad_row = match word.as_str() {
            "stop" => OnBadRow::Stop,
            "skip" => OnBadRow::Skip,
            _ => return Err(choice("bad_rows", &word, "stop, skip")),
        };
    }
    if let Some(word) = options.text("after") {
        request.after_last = match word.as_str() {
            "stop" => AfterLast::Stop,
            "repeat" => AfterLast::Repeat,
            "vllm" => AfterLast::VllmOversample,
            _ => return Err(choice("after", &word, "stop, repeat, vllm")),
        };
    }
    Ok(())
}

fn choice(name: &str, given: &str, words: &str) -> WorkloadError {
    WorkloadError::Shape {
        text: format!("{name}={given}"),
        reason: format!("'{name}' is one of {words}"),
    }
}
