//! Several workloads at once, each with its share of the requests: mixed traffic.
//!
//! Which class an item belongs to is drawn from the seed, each by itself, so that shares are met on
//! average and neighbours are independent. Each class has items of its own, from its first one on.
//!
//! Not here: what the classes are made of (the other data sets).

use std::sync::{Arc, Mutex};

use ifm_core::spec::TrafficClass;
use ifm_made::{Rng, Stream};
use serde_json::{Map, Value};

use super::{Dataset, DatasetKind, WorkItem};
use crate::{
    error::WorkloadError,
    facts::WorkloadFacts,
    item::FAR_ITEM,
    opening::Opening,
    request::{AfterLast, WorkloadRequest},
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "mix",
    aliases: &["classes"],
    usage: "mix:NAME=SHARE@MODEL*WORKLOAD;…",
    summary: "several workloads, or one for several models, each with its share of the requests",
    ignore_eos: true,
    hub: &[],
    open,
};

/// Classes at most.
const CLASSES_MAX: usize = 64;
/// Items between two numbers that are remembered.
const STRIDE: u32 = 1024;
/// What seeds of classes lie apart: an odd number without a pattern, 2^64 over the golden ratio.
const SEED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// One class as written: `[NAME=]SHARE[@MODEL]*WORKLOAD`.
#[derive(Debug, Clone, PartialEq)]
struct Written {
    name: Option<String>,
    weight: f64,
    model: Option<String>,
    workload: String,
}

fn read_class(text: &str) -> Result<Written, WorkloadError> {
    let wrong = |reason: &str| WorkloadError::Shape {
        text: text.to_owned(),
        reason: format!(
            "{reason}; a class is NAME=SHARE@MODEL*WORKLOAD, as chat=0.7*random:128/32"
        ),
    };
    let (head, workload) = text.split_once('*').ok_or_else(|| wrong("it has no workload"))?;
    let (name, rest) = match head.split_once('=') {
        Some((name, rest)) => (Some(name.trim()), rest),
        None => (None, head),
    };
    let (weight, model) = match rest.split_once('@') {
        Some((weight, model)) => (weight, Some(model.trim())),
        None => (rest, None),
    };
    let weight = weight.trim().parse::<f64>().ok().filter(|it| it.is_finite() && *it > 0.0);
    let weight = weight.ok_or_else(|| wrong("its share is a number above 0"))?;
    if [name, model, Some(workload.trim())].into_iter().flatten().any(str::is_empty) {
        return Err(wrong("a part of it is empty"));
    }
    Ok(Written {
        name: name.map(str::to_owned),
        weight,
        model: model.map(str::to_owned),
        workload: workload.trim().to_owned(),
    })
}

/// The workload that asks several models alike, each with its share: `a=0.7,b=0.3`. Nothing where the
/// text is the name of one model.
pub fn of_models(models: &str, workload: &str) -> Option<String> {
    let shares = models.split(',').map(|part| {
        let (model, share) = part.rsplit_once('=')?;
        let is_share = share.trim().parse::<f64>().is_ok();
        (is_share && !model.trim().is_empty()).then(|| (model.trim(), share.trim()))
    });
    let shares = shares.collect::<Option<Vec<_>>>().filter(|shares| shares.len() > 1)?;
    let classes = shares.iter().map(|(model, share)| format!("{model}={share}@{model}*{workload}"));
    Some(format!("mix:{}", classes.collect::<Vec<_>>().join(";")))
}

/// The models that a list of shares names, in order; nothing where the text names one model.
pub fn models(models: &str) -> Option<Vec<&str>> {
    of_models(models, "1/1")?;
    Some(models.split(',').filter_map(|part| Some(part.rsplit_once('=')?.0.trim())).collect())
}

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    if opening.request.is_class {
        // By another name too: a preset may be a mix, and even hold itself.
        return Err(WorkloadError::Shape {
            text: opening.request.text.clone(),
            reason: "a mix within a mix: name all classes in one".to_owned(),
        });
    }
    let texts = opening.body.split(';').map(str::trim).filter(|text| !text.is_empty());
    let written = texts.map(read_class).collect::<Result<Vec<_>, _>>()?;
    if written.len() < 2 || written.len() > CLASSES_MAX {
        return Err(WorkloadError::Shape {
            text: opening.body.clone(),
            reason: format!("a mix has 2 to {CLASSES_MAX} classes, separated by semicolons"),
        });
    }
    let sum: f64 = written.iter().map(|class| class.weight).sum();
    let (mut classes, mut told, mut facts) = (Vec::new(), Vec::new(), Vec::new());
    let mut below = 0.0;
    for (class, place) in written.into_iter().zip(0_u64..) {
        let request = WorkloadRequest {
            text: class.workload.clone(),
            is_class: true,
            seed: opening.request.seed.wrapping_add(place.wrapping_mul(SEED_STEP)),
            ..opening.request.clone()
        };
        let opened = (opening.open)(&request, opening.tokenizer)?;
        below += class.weight / sum;
        let model = class.model.as_ref();
        let fields = model.map(|model| {
            Arc::new(Map::from_iter([("model".to_owned(), Value::String(model.clone()))]))
        });
        let name = class.name.or_else(|| class.model.clone()).unwrap_or(opened.facts.name.clone());
        if told.iter().any(|other: &TrafficClass| other.name == name) {
            return Err(WorkloadError::Shape {
                text: name,
                reason: "two classes have this name; give each its own, as NAME=SHARE*…".to_owned(),
            });
        }
        classes.push(Class { below, dataset: opened.dataset, fields });
        told.push(TrafficClass {
            name,
            share: class.weight / sum,
            model: class.model,
            workload: class.workload,
        });
        facts.push(opened.facts);
    }
    describe(&mut opening.facts, &told, facts);
    opening.name(|| {
        let names = told.iter().map(|class| format!("{} {:.0} %", class.name, class.share * 100.0));
        format!("mix of {}", names.collect::<Vec<_>>().join(", "))
    });
    let draws = Rng::new(opening.request.seed).stream("class");
    let mut mix = Mix { classes, draws, known: Mutex::default(), items: None };
    let repeats = opening.request.after_last != AfterLast::Stop;
    if !repeats && mix.classes.iter().any(|class| class.dataset.items().is_some()) {
        mix.items = Some(mix.count_items());
        opening.facts.items = mix.items;
        opening.rule("the mix ends where the first of its classes has no more items");
    }
    opening.facts.classes = told;
    Ok(Box::new(mix))
}

/// What the classes have in common, and their files.
fn describe(facts: &mut WorkloadFacts, told: &[TrafficClass], classes: Vec<WorkloadFacts>) {
    facts.turns_max = 1;
    facts.ignore_eos = classes.iter().all(|class| class.ignore_eos);
    let is_alike = classes.iter().all(|class| class.ignore_eos == facts.ignore_eos);
    if !is_alike {
        facts
            .rules
            .push("answers may end by themselves in every class, as some want it".to_owned());
    }
    let counted = |of: fn(&WorkloadFacts) -> Option<u32>| {
        classes.iter().map(of).collect::<Option<Vec<_>>>()?.into_iter().max()
    };
    facts.prompt_tokens_max = counted(|class| class.prompt_tokens_max);
    facts.output_tokens_max = counted(|class| class.output_tokens_max);
    // Whoever asks how the server counts asks for one law.
    let laws: Vec<&str> = classes.iter().filter_map(|it| it.prompt_tokens.as_deref()).collect();
    if !laws.is_empty() {
        facts.prompt_tokens = Some(laws.join("; "));
        let rule = "made-up prompts are as long as asked by the tokenizer's count; what a server adds \
                    to them, such as its chat template, comes on top";
        facts.rules.push(rule.to_owned());
    }
    facts.total_tokens_max = classes.iter().filter_map(|class| class.total_tokens_max).max();
    for (class, told) in classes.into_iter().zip(told) {
        facts.turns_max = facts.turns_max.max(class.turns_max);
        if let Some(media) = class.media {
            facts.media = Some(media.joined(facts.media.take()));
        }
        facts.files.extend(class.files);
        facts.rules.extend(class.rules.iter().map(|rule| format!("{}: {rule}", told.name)));
    }
}

/// One class.
struct Class {
    /// Draws below this, and not below that of the class before, are its own.
    below: f64,
    dataset: Box<dyn Dataset>,
    /// Fields of each of its requests.
    fields: Option<Arc<Map<String, Value>>>,
}

/// How many items of each class come before some items.
#[derive(Default)]
struct Known {
    /// Before every [`STRIDE`]-th item.
    marks: Vec<Vec<u32>>,
    /// The item that comes next, and what comes before it.
    next: u32,
    before: Vec<u32>,
}

/// Several data sets in one.
struct Mix {
    classes: Vec<Class>,
    draws: Stream,
    known: Mutex<Known>,
    items: Option<u32>,
}

impl Mix {
    fn class_of(&self, id: u32) -> usize {
        let drawn = self.draws.item(u64::from(id)).unit();
        let found = self.classes.iter().position(|class| drawn < class.below);
        // The last bound may be a hair below 1.
        found.unwrap_or(self.classes.len() - 1)
    }

    /// The class of an item, and its number within the class.
    fn place(&self, id: u32) -> (usize, u32) {
        if id >= FAR_ITEM {
            return (self.class_of(id), id);
        }
        let mut known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let known = &mut *known;
        if known.marks.is_empty() {
            known.marks.push(vec![0; self.classes.len()]);
            known.before = vec![0; self.classes.len()];
        }
        let mark = (id / STRIDE).min(known.marks.len() as u32 - 1);
        if id < known.next || known.next < mark * STRIDE {
            known.next = mark * STRIDE;
            known.before.clone_from(&known.marks[mark as usize]);
        }
        loop {
            if known.next as usize == known.marks.len() * STRIDE as usize {
                known.marks.push(known.before.clone());
            }
            let class = self.class_of(known.next);
            let number = known.before[class];
            known.before[class] += 1;
            known.next += 1;
            if known.next > id {
                return (class, number);
            }
        }
    }

    /// Items before the first of a class that has no more.
    fn count_items(&self) -> u32 {
        let left: Vec<Option<u32>> =
            self.classes.iter().map(|class| class.dataset.items()).collect();
        (0..u32::MAX)
            .find(|&id| {
                let (class, number) = self.place(id);
                left[class].is_some_and(|items| number >= items)
            })
            .unwrap_or(u32::MAX)
    }
}

/// Notes what of the prompts that begin anew was said before: the first prompt of a class is the first
/// that says what its own prompts share, and so is said before those that follow it in its session.
fn know_shared(item: &mut WorkItem, of_first: u32, of_others: u32) {
    let agents = item.agents.iter_mut().map(|agent| &mut agent.turns);
    let threads = std::iter::once(&mut item.turns).chain(agents);
    for (thread, turns) in threads.enumerate() {
        for (number, turn) in turns.iter_mut().enumerate() {
            let is_anew = number == 0 || turn.keeps.is_some_and(|keep| keep.messages == 0);
            if turn.known_tokens.is_none() && is_anew {
                let shared = if (thread, number) == (0, 0) { of_first } else { of_others };
                turn.known_tokens = Some(shared.min(turn.prompt_tokens.unwrap_or(u32::MAX)));
            }
        }
    }
}

impl Dataset for Mix {
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        if let Some(items) = self.items.filter(|items| id >= *items) {
            return Err(WorkloadError::Exhausted { items: u64::from(items) });
        }
        let (place, number) = self.place(id);
        let class = &self.classes[place];
        let mut item = class.dataset.item(number)?;
        item.id = id;
        item.class = u16::try_from(place).ok();
        item.at_ns = None;
        if let Some(shared) = class.dataset.shared_tokens() {
            know_shared(&mut item, if number == 0 { 0 } else { shared }, shared);
        }
        if let Some(fields) = &class.fields {
            let turns = item.agents.iter_mut().flat_map(|agent| &mut agent.turns);
            for turn in item.turns.iter_mut().chain(turns) {
                turn.fields = Some(match turn.fields.take() {
                    None => fields.clone(),
                    Some(own) => {
                        let mut all = (**fields).clone();
                        all.extend((*own).clone());
                        Arc::new(all)
                    }
                });
            }
        }
        Ok(item)
    }

    fn make_ahead(&self, from: u32, needed: u32, go_on: &dyn Fn() -> bool) {
        let mut asked: Vec<Option<(u32, u32)>> = vec![None; self.classes.len()];
        for id in from..from.saturating_add(needed) {
            let (place, number) = self.place(id);
            asked[place].get_or_insert((number, 0)).1 += 1;
        }
        for (class, (first, count)) in
            self.classes.iter().zip(asked).filter_map(|(c, a)| Some((c, a?)))
        {
            class.dataset.make_ahead(first, count, go_on);
        }
    }

    fn distinct_items(&self) -> u64 {
        // The first class that begins again is the first that a cache could help.
        let first = self.classes.iter().map(|class| class.dataset.distinct_items()).min();
        first.unwrap_or(0)
    }

    fn items(&self) -> Option<u32> {
        self.items
    }

    fn has_conversations(&self) -> bool {
        self.classes.iter().any(|class| class.dataset.has_conversations())
    }

    fn parallel(&self) -> u32 {
        self.classes.iter().map(|class| class.dataset.parallel()).max().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::open as open_workload;
    use crate::opening::OpenedWorkload;
    use ifm_tokenizer::Tokenizer;

    fn mix(text: &str) -> Result<OpenedWorkload, WorkloadError> {
        open_workload(&WorkloadRequest::new(text, 7), &Tokenizer::embedded().unwrap())
    }

    #[test]
    fn shares_are_met_and_items_are_those_of_their_class() {
        let opened = mix("mix:short=3*random:16/4;long=1@lora-b*random:64/8").unwrap();
        let names: Vec<_> = opened.facts.classes.iter().map(|class| class.name.as_str()).collect();
        assert_eq!(names, ["short", "long"]);
        assert_eq!(opened.facts.classes[1].share, 0.25);
        assert_eq!(opened.facts.prompt_tokens_max, Some(64));
        let items: Vec<_> = (0..4000).map(|id| opened.dataset.item(id).unwrap()).collect();
        let long = items.iter().filter(|item| item.class == Some(1)).count();
        assert!((900..1100).contains(&long), "{long}");
        for (id, item) in items.iter().enumerate() {
            let is_long = item.class == Some(1);
            let turn = &item.turns[0];
            assert_eq!(
                (item.id as usize, turn.prompt_tokens),
                (id, Some([16, 64][usize::from(is_long)]))
            );
            let model = turn.fields.as_ref().map(|fields| fields["model"].as_str().unwrap());
            assert_eq!(model, is_long.then_some("lora-b"));
        }
        // Any item at any time, and no prompt twice.
        for id in [3999, 0, 2047, 2048, 1] {
            assert_eq!(opened.dataset.item(id).unwrap(), items[id as usize]);
        }
        let mut prompts: Vec<_> =
            items.iter().map(|item| item.turns[0].prompt.canonical_bytes().into_owned()).collect();
        prompts.sort();
        prompts.dedup();
        assert_eq!(prompts.len(), items.len());
    }

    /// Counting up to it would take hours.
    #[test]
    fn items_beside_a_run_are_made_at_once() {
        let opened = mix("mix:a=1*16/4;b=1*16/4?image=8x8").unwrap();
        let items: Vec<_> = (0..8).map(|id| opened.dataset.item(FAR_ITEM + id).unwrap()).collect();
        assert!(items.iter().any(|item| item.class == Some(1)));
        assert!(items.iter().zip(FAR_ITEM..).all(|(item, id)| item.id == id));
    }

    #[test]
    fn options_stay_with_their_class() {
        let opened = mix("mix:a=1*random:16/4?turns=3;b=1*random:16/4?prefix=8").unwrap();
        assert!(opened.dataset.has_conversations());
        let turns = |class| {
            let of = |item: &WorkItem| item.class == Some(class);
            let mut items = (0..50).map(|id| opened.dataset.item(id).unwrap());
            items.find(of).map(|item| item.turns.len())
        };
        assert_eq!((turns(0), turns(1)), (Some(3), Some(1)));
    }

    #[test]
    fn a_mix_of_a_preset_keeps_the_options_of_its_classes_and_holds_no_mix() {
        let folder = tempfile::tempdir().unwrap();
        let preset = |name: &str, workload: &str| {
            let text = format!("name = '{name}'\nsummary = 's'\nworkload = '{workload}'\n");
            std::fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
        };
        preset("both", "mix:a=1*random:16/4?turns=3;b=1*random:16/4?prefix=8");
        preset("again", "mix:a=1*again;b=1*random:16/4");
        preset("other", "classes:a=1*both;b=1*random:16/4");
        let open = |text: &str| {
            let mut request = WorkloadRequest::new(text, 7);
            request.preset_folder = Some(folder.path().to_owned());
            open_workload(&request, &Tokenizer::embedded().unwrap())
        };
        let both = open("both?items=9").unwrap();
        assert_eq!((both.facts.turns_max, both.facts.classes.len()), (3, 2));
        for name in ["again", "other", "mix:a=1*both;b=1*16/4"] {
            let error = open(name).err().expect(name).to_string();
            assert!(error.contains("within a mix"), "{name}: {error}");
        }
    }

    #[test]
    fn what_a_class_shares_is_known_from_its_second_item_on() {
        let opened = mix("mix:a=1*random:16/4?prefix=8;b=1*random:32/4?prefix=20&turns=2;c=1*16/4");
        let opened = opened.unwrap();
        let mut seen = [0; 3];
        for id in 0..60 {
            let item = opened.dataset.item(id).unwrap();
            let class = usize::from(item.class.unwrap());
            let shared = if seen[class] == 0 { 0 } else { [8, 20, 0][class] };
            let known = item.turns.iter().map(|turn| turn.known_tokens);
            let later = item.turns.len() - 1;
            let expect: Vec<_> = [Some(shared)].into_iter().chain(vec![None; later]).collect();
            assert_eq!(known.collect::<Vec<_>>(), expect, "{id} of {class}");
            seen[class] += 1;
        }
        assert!(seen.iter().all(|items| *items > 1), "{seen:?}");
    }

    #[test]
    fn made_up_lengths_of_classes_are_said_to_be_those_of_the_tokenizer() {
        let facts = mix("mix:a=1*random:16/4;b=1*32-64/4").unwrap().facts;
        assert_eq!(facts.prompt_tokens.as_deref(), Some("16; 32-64"));
        assert!(facts.rules.iter().any(|rule| rule.contains("comes on top")), "{:?}", facts.rules);
    }

    #[test]
    fn a_mix_is_as_wide_as_its_widest_class() {
        let agents = "agents:64/8?turns=4&spawn=1&agents=3&agent_turns=2&agent_prompt=16";
        let alone = mix(agents).unwrap().dataset.parallel();
        assert!(alone > 1, "{alone}");
        let mixed = mix(&format!("mix:a=1*{agents};b=1*random:16/4")).unwrap();
        assert_eq!(mixed.dataset.parallel(), alone);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, part) in [
            ("mix:a=1*16/4", "2 to 64 classes"),
            ("mix:a=1*16/4;b=0*16/4", "a number above 0"),
            ("mix:a=1*16/4;b=1", "no workload"),
            ("mix:a=1*16/4;a=1*8/4", "two classes have this name"),
            ("mix:a=1*16/4;b=1*mix:c=1*8/4", "within a mix"),
            ("mix:a=1*16/4;b=1*classes:c=1*8/4", "within a mix"),
            ("mix:a=1*16/4;b=1*nothing:8", "nothing"),
            ("mix:a=1*16/4;=1*8/4", "is empty"),
        ] {
            let error = mix(text).err().expect(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn shares_of_models_are_a_mix() {
        assert_eq!(of_models("llama", "chat"), None);
        assert_eq!(of_models("a=b", "chat"), None);
        let text = of_models("base=0.7,lora/x=0.3", "16/4").unwrap();
        assert_eq!(text, "mix:base=0.7@base*16/4;lora/x=0.3@lora/x*16/4");
        assert_eq!(models("base=0.7,lora/x=0.3"), Some(vec!["base", "lora/x"]));
        assert_eq!(mix(&text).unwrap().facts.name, "mix of base 70 %, lora/x 30 %");
    }
}
