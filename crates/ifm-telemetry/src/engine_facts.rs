//! Constants on a server's metrics page: the capacity of its KV cache, and its settings.
//!
//! Not here: the counters (`engine`).

use crate::Page;
use std::collections::BTreeMap;

/// Most labels that are kept.
const NOTES_MAX: usize = 32;

/// What an engine reports about its KV cache.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KvFacts {
    /// Tokens that fit, over all engines of the page.
    pub capacity_tokens: Option<u64>,
    /// How it is set, by the engine's own names.
    pub notes: BTreeMap<String, String>,
}

/// Reads them. vLLM reports blocks and their size as labels of one metric, our own engine tokens in a
/// metric of that name, SGLang a number of tokens.
pub fn read(page: &Page<'_>) -> KvFacts {
    let mut facts = KvFacts::default();
    let mut capacity = None;
    for sample in &page.samples {
        let tokens = match sample.name {
            "vllm:cache_config_info" => {
                let labels = sample.labels.iter().filter(|(_, value)| value != "None");
                let notes = labels.map(|(name, value)| ((*name).to_owned(), value.to_string()));
                facts.notes.extend(notes.take(NOTES_MAX));
                let number = |name: &str| sample.label(name)?.parse::<u64>().ok();
                let blocks = number("num_gpu_blocks").zip(number("block_size"));
                blocks.map(|(n, size)| n * size).or_else(|| number("kv_cache_tokens"))
            }
            "sglang:max_total_num_tokens" => {
                (sample.value > 0.0 && sample.value.fract() == 0.0).then_some(sample.value as u64)
            }
            _ => continue,
        };
        // One engine that reports nothing makes the sum unknown.
        capacity = Some(match capacity {
            None => tokens,
            Some(former) => tokens.zip(former).map(|(tokens, former)| tokens + former),
        });
    }
    facts.capacity_tokens = capacity.flatten().filter(|tokens| *tokens > 0);
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_of_a_cache_is_read() {
        let vllm = |blocks: &str| {
            format!(
                "vllm:cache_config_info{{block_size=\"16\",cache_dtype=\"auto\",num_gpu_blocks=\
                 \"{blocks}\",sliding_window=\"None\"}} 1.0\n"
            )
        };
        let facts = read(&Page::read(&vllm("1000")));
        assert_eq!(facts.capacity_tokens, Some(16_000));
        assert_eq!(facts.notes["cache_dtype"], "auto");
        assert!(!facts.notes.contains_key("sliding_window"));
        let two = [vllm("1000"), vllm("500")].concat();
        assert_eq!(read(&Page::read(&two)).capacity_tokens, Some(24_000));
        let unknown = [vllm("1000"), vllm("None")].concat();
        assert_eq!(read(&Page::read(&unknown)).capacity_tokens, None);
        let own = "vllm:cache_config_info{kv_cache_tokens=\"131072\"} 1\n";
        assert_eq!(read(&Page::read(own)).capacity_tokens, Some(131_072));
        let sglang = "sglang:max_total_num_tokens{model_name=\"m\"} 437129.0\n";
        assert_eq!(read(&Page::read(sglang)).capacity_tokens, Some(437_129));
        assert_eq!(read(&Page::read("x 1\n")), KvFacts::default());
    }
}
