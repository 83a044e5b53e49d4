//! The words of the page with their formulas, and what a document calls them.

use crate::page::{Block, Columns, Section};
use ifm_core::sheet::RowRole;
use ifm_results::Results;

/// A term of inferometer, what it means here, and other words for it in documents, in small letters.
struct Word {
    word: &'static str,
    meaning: &'static str,
    others: &'static [&'static str],
}

/// Words of every page.
const OURS: [Word; 8] = [
    Word {
        word: "TTFT",
        meaning: "time to first token: from sending the request to its first token",
        others: &["time to first token"],
    },
    Word {
        word: "ITL",
        meaning: "inter-token latency: time between two tokens of one stream, over all gaps",
        others: &["inter-token latency", "inter token latency"],
    },
    Word {
        word: "TPOT",
        meaning: "time per output token of one request: (E2E − TTFT) / (output tokens − 1)",
        others: &["time per output token"],
    },
    Word {
        word: "decode speed",
        meaning: "tokens per second that one user gets after the first: 1 / TPOT",
        others: &["per-user decode speed", "per-user speed", "per-user throughput", "decode speed"],
    },
    Word {
        word: "system throughput",
        meaning: "output tokens of all users together per second",
        others: &["total throughput", "system throughput", "aggregate throughput"],
    },
    Word {
        word: "efficiency",
        meaning: "decode speed with N users / decode speed with one",
        others: &["scaling efficiency"],
    },
    Word {
        word: "E2E",
        meaning: "end to end: from sending the request to the end of its answer",
        others: &["end-to-end latency", "end to end latency"],
    },
    Word {
        word: "users",
        meaning: "requests in flight: each user sends the next when the previous one is answered",
        others: &["concurrent", "concurrency", "simultaneous"],
    },
];

/// Words that only documents use.
const THEIRS: [Word; 6] = [
    Word {
        word: "prefill",
        meaning: "reading the prompt, before the first token; most of the TTFT of one user",
        others: &["prefill"],
    },
    Word {
        word: "decode",
        meaning: "making the tokens after the first, one step of the model for each",
        others: &["decode"],
    },
    Word {
        word: "context length",
        meaning: "tokens of the prompt and of the answer so far, which each step reads again",
        others: &["context length", "contexts", "context"],
    },
    Word {
        word: "memory bandwidth",
        meaning: "bytes per second between the GPU and its memory: weights and contexts pass it in \
                  every step",
        others: &["memory bandwidth"],
    },
    Word {
        word: "KV cache",
        meaning: "keys and values of the tokens so far, kept so that no step computes them again",
        others: &["kv cache"],
    },
    Word {
        word: "peak, best, worst case",
        meaning: "the highest or lowest of the stated figures, not a percentile of requests",
        others: &["peak", "best", "worst case", "best-case", "worst-case"],
    },
];

/// The glossary; of a document that only states figures with the words that its sentences use.
pub(super) fn section(stated: Option<&Results>) -> Section {
    let said: String = stated.map(sentences).unwrap_or_default();
    let mut columns = Columns::<Word>::default()
        .name("word", |word| word.word.to_owned())
        .text("meaning", |word| word.meaning.to_owned());
    if stated.is_some() {
        columns = columns.text("in the document", |word| used(word, &said).join(", "));
    }
    let theirs = THEIRS.iter().filter(|word| !used(word, &said).is_empty());
    let table = columns.table("Definitions of the terms used here.", OURS.iter().chain(theirs));
    Section::new("Glossary", vec![Block::Table(table)])
}

/// All sentences that state something, in small letters.
fn sentences(results: &Results) -> String {
    let stated = results.of_role(RowRole::Stated).filter_map(|point| point.text.as_deref());
    stated.map(str::to_lowercase).collect::<Vec<_>>().join("\n")
}

/// What a document calls it: the longest of words that hold each other.
fn used(word: &Word, said: &str) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = Vec::new();
    for other in word.others {
        if said.contains(other) && !found.iter().any(|longer| longer.contains(other)) {
            found.push(other);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_its_own_words_for_things() {
        let efficiency = &OURS[5];
        assert_eq!(used(efficiency, "scaling efficiency is 41%"), ["scaling efficiency"]);
        assert!(used(efficiency, "efficiency").is_empty());
        let speed = &OURS[3];
        assert_eq!(used(speed, "per-user decode speed is 5"), ["per-user decode speed"]);
        let Block::Table(table) = &section(None).blocks[0] else { panic!("a table") };
        assert_eq!((table.heads.len(), table.rows.len()), (2, OURS.len()));
    }
}
