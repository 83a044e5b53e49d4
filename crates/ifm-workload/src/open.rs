//! From the name of a workload to its items.
//!
//! Not here: what each data set makes of it (`dataset`).

use std::path::{Path, PathBuf};

use ifm_tokenizer::Tokenizer;

use crate::{
    dataset::{DATASETS, Dataset, DatasetKind, random},
    error::WorkloadError,
    facts::{RowCounts, WorkloadFacts},
    hub::{self, HubSet},
    lengths::{LengthPair, Lengths},
    list::{ItemList, Stored},
    options::Options,
    preset::{self, Preset},
    prompt::PromptMaker,
    request::{AfterLast, OnBadRow, WorkloadRequest},
    rng::Rng,
    source::{self, Columns, Rows},
};

/// Items that are taken from files where nobody asks for a number: more than a run sends,
/// and few enough to be counted at its start.
const ITEMS_MAX: u32 = 100_000;

/// A workload, ready to make items, and what it is.
pub struct OpenedWorkload {
    /// Makes the items.
    pub dataset: Box<dyn Dataset>,
    /// What to store with the run.
    pub facts: WorkloadFacts,
}

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
    if let Some(preset) = preset {
        for (name, column) in preset.columns {
            request.columns.entry(name).or_insert(column);
        }
        facts.ignore_eos = preset.ignore_eos.unwrap_or(facts.ignore_eos);
        facts.name.clone_from(&preset.name);
        facts.preset = Some(preset.name);
    }
    let mut opening = Opening { request: &request, tokenizer, body, options, facts };
    let dataset = (kind.open)(&mut opening)?;
    opening.options.finish()?;
    Ok(OpenedWorkload { dataset, facts: opening.facts })
}

fn resolve(request: &WorkloadRequest) -> Result<Named, WorkloadError> {
    let (name, mut options) = Options::split(request.text.trim())?;
    let presets = preset::load(request.preset_folder.as_deref())?;
    let found = presets.into_iter().find(|preset| preset.is_called(name));
    let Some(preset) = found else {
        let (kind, body) = find_kind(name)?;
        return Ok(Named { kind, body, options, preset: None });
    };
    let (inner, defaults) = Options::split(&preset.workload)?;
    let (kind, body) = find_kind(inner)?;
    options.fill(defaults);
    Ok(Named { kind, body, options, preset: Some(preset) })
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

fn unknown(name: &str) -> WorkloadError {
    let presets = preset::embedded().unwrap_or_default();
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

/// What a data set has at hand while it is opened.
pub(crate) struct Opening<'request> {
    /// What was asked, options of all data sets included.
    pub request: &'request WorkloadRequest,
    /// Counts tokens.
    pub tokenizer: &'request Tokenizer,
    /// What stands after the colon.
    pub body: String,
    /// What stands after the question mark.
    pub options: Options,
    /// What is found out.
    pub facts: WorkloadFacts,
}

impl Opening<'_> {
    /// The seed of a choice, with a rule's own default.
    pub(crate) fn selection_seed(&mut self, default: u64) -> u64 {
        let seed = self.request.selection_seed.unwrap_or(default);
        self.facts.selection_seed = Some(seed);
        seed
    }

    /// Makes prompts of words.
    ///
    /// # Errors
    /// What the tokenizer says.
    pub(crate) fn prompts(&self, rng: &Rng) -> Result<PromptMaker, WorkloadError> {
        PromptMaker::new(self.tokenizer, rng, self.request.scale)
    }

    /// How many items are taken from files at most.
    pub(crate) fn wanted(&self) -> usize {
        self.request.items_max.unwrap_or(ITEMS_MAX) as usize
    }

    /// Notes that there may be more rows than were taken, where nobody asked for so many.
    pub(crate) fn tell_bound(&mut self, items: usize) {
        if self.request.items_max.is_none() && items >= ITEMS_MAX as usize {
            self.rule(format!("the first {ITEMS_MAX} items; ask for a number to have more"));
        }
    }

    /// Notes a rule that makes the workload.
    pub(crate) fn rule(&mut self, rule: impl Into<String>) {
        self.facts.rules.push(rule.into());
    }

    /// The lengths to ask for, where the user gave them.
    pub(crate) fn output_override(&mut self) -> Option<Lengths> {
        let lengths = self.request.output_tokens.clone();
        self.facts.output_tokens = lengths.as_ref().map(Lengths::to_string);
        lengths
    }

    /// A name, unless a preset gave one.
    pub(crate) fn name(&mut self, name: impl FnOnce() -> String) {
        if self.facts.preset.is_none() {
            self.facts.name = name();
        }
    }

    /// The files that the name stands for: a path, a folder, `hub:OWNER/NAME`, or with
    /// nothing after the colon the data set's own home on the hub.
    ///
    /// # Errors
    /// [`WorkloadError::Hub`], [`WorkloadError::Read`], [`WorkloadError::File`], and
    /// [`WorkloadError::Shape`] where a file has to be named.
    pub(crate) fn files(&mut self, home: Option<&HubSet>) -> Result<Vec<PathBuf>, WorkloadError> {
        let hub = &self.request.hub;
        let files = match (self.body.strip_prefix("hub:"), home) {
            (Some(name), _) => {
                let slash = name.match_indices('/').nth(1).map(|(place, _)| place);
                let (repository, file) = match slash {
                    Some(place) => (name.get(..place), name.get(place + 1..)),
                    None => (Some(name), None),
                };
                let repository = repository.unwrap_or(name);
                let known = home.filter(|set| set.repository == repository);
                hub::find(
                    hub,
                    &self.facts.kind,
                    repository,
                    file.or(known.and_then(|set| set.file)),
                )?
            }
            (None, Some(home)) if self.body.is_empty() => {
                hub::find(hub, &self.facts.kind, home.repository, home.file)?
            }
            (None, None) if self.body.is_empty() => {
                let kind = &self.facts.kind;
                return Err(WorkloadError::Shape {
                    text: kind.clone(),
                    reason: format!("name the file, as in {kind}:PATH"),
                });
            }
            (None, _) => source::files_at(Path::new(&self.body))?,
        };
        self.facts.files = source::describe(&files)?;
        let first = self.facts.files.first().map(|file| file.name.clone()).unwrap_or_default();
        let kind = self.facts.kind.clone();
        self.name(|| format!("{kind}:{first}"));
        Ok(files)
    }

    /// The rows of the files that the name stands for, with the columns that must be there.
    ///
    /// # Errors
    /// As [`Opening::files`].
    pub(crate) fn rows(
        &mut self,
        home: Option<&HubSet>,
        needed: &[&[&str]],
    ) -> Result<Rows, WorkloadError> {
        let mut columns = Columns::new(&self.request.columns)?;
        for any_of in needed {
            columns = columns.need(any_of);
        }
        Ok(Rows::new(self.files(home)?, columns, self.request.on_bad_row))
    }

    /// A data set of these items.
    ///
    /// # Errors
    /// [`WorkloadError::NoRows`] when there is none.
    pub(crate) fn list(
        &mut self,
        items: Vec<Stored>,
        mut counts: RowCounts,
    ) -> Result<Box<dyn Dataset>, WorkloadError> {
        counts.kept = items.len() as u64;
        let told = counts.dropped.values().sum::<u64>() + counts.bad + counts.kept;
        counts.unused = counts.read.saturating_sub(told);
        if items.is_empty() {
            let file = self.facts.files.first().map(|file| file.name.clone());
            return Err(WorkloadError::NoRows {
                file: file.unwrap_or_default(),
                read: counts.read,
                reasons: counts.reasons(),
            });
        }
        self.tell_bound(items.len());
        let request = self.request;
        let seed = self.facts.selection_seed.unwrap_or(0);
        let list = ItemList::new(items, request.after_last, request.items_max, seed)?;
        if request.after_last == AfterLast::VllmOversample {
            self.rule("after the last item, vLLM's random.choice");
        }
        self.facts.rows = Some(counts);
        list.describe(&mut self.facts);
        Ok(Box::new(list))
    }
}
