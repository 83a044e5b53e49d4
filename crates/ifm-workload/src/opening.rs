//! What a data set has at hand while it is opened: what was asked, the files, the facts to store.
//!
//! Not here: from a name to a data set (`open`).

use ifm_made::Rng;
use ifm_tokenizer::Tokenizer;
use std::path::{Path, PathBuf};

use crate::{
    error::WorkloadError,
    facts::{RowCounts, WorkloadFacts},
    hub::{self, HubSet},
    item::Dataset,
    lengths::Lengths,
    list::{ItemList, Stored},
    marks::Marks,
    options::Options,
    prompt::PromptMaker,
    request::{AfterLast, Answers, WorkloadRequest},
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

/// Opens a workload by its name, for a data set that is made of others.
type Open = fn(&WorkloadRequest, &Tokenizer) -> Result<OpenedWorkload, WorkloadError>;

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
    /// Opens another workload.
    pub open: Open,
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

    /// Reads whose answers are carried: the option, the request, or a default.
    ///
    /// # Errors
    /// [`WorkloadError::Shape`].
    pub(crate) fn take_answers(&mut self, default: Answers) -> Result<Answers, WorkloadError> {
        let words = match self.request.answers.unwrap_or(default) {
            Answers::Recorded => ["recorded", "server"],
            Answers::Server => ["server", "recorded"],
        };
        Ok(match self.options.word("answers", &words)? {
            "recorded" => Answers::Recorded,
            _ => Answers::Server,
        })
    }

    /// Notes whose answers are carried.
    pub(crate) fn tell_answers(&mut self, answers: Answers) {
        self.rule(match answers {
            Answers::Recorded => "later turns carry the recorded answers",
            Answers::Server => "later turns carry the server's answers",
        });
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
            (Some(name), _) => hub::named(hub, &self.facts.kind, name, home)?,
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

    /// The rows of the files that the name stands for, each a whole document.
    ///
    /// # Errors
    /// As [`Opening::files`].
    pub(crate) fn documents(&mut self, home: Option<&HubSet>) -> Result<Rows, WorkloadError> {
        let columns = Columns::new(&self.request.columns)?.whole();
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
        self.list_of_rows(items, counts, None)
    }

    /// The same where an item is made of several rows: those that were kept are counted already.
    ///
    /// # Errors
    /// As [`Opening::list`].
    pub(crate) fn list_of_rows(
        &mut self,
        items: Vec<Stored>,
        mut counts: RowCounts,
        marks: Option<Marks>,
    ) -> Result<Box<dyn Dataset>, WorkloadError> {
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
        let list = list.marked(marks);
        if request.after_last == AfterLast::VllmOversample {
            self.rule("after the last item, vLLM's random.choice");
        }
        self.facts.rows = Some(counts);
        list.describe(&mut self.facts);
        Ok(Box::new(list))
    }
}
