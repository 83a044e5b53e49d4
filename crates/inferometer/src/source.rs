//! Prompts of the workload as requests of the API.

use ifm_drive::{RequestMeta, RequestSource};
use ifm_wire::RequestTemplate;
use ifm_wire::request::Ask;
use ifm_workload::Generator;
use sha2::{Digest, Sha256};

/// Makes requests from prompts, in the order of their items. Prompts made ahead at the end of a
/// level and never sent are made again for the next one, so that the prompts sent in a run are
/// the items from 0 on without a gap.
pub struct PromptSource {
    generator: Generator,
    template: RequestTemplate,
    next_item: u32,
    digests: Vec<[u8; 32]>,
}

impl PromptSource {
    /// A source from item 0 on.
    pub fn new(generator: Generator, template: RequestTemplate) -> PromptSource {
        PromptSource { generator, template, next_item: 0, digests: Vec::new() }
    }

    /// Goes back to the first item that was not sent.
    pub fn rewind(&mut self, sent: u32) {
        self.next_item = sent;
        self.digests.truncate(sent as usize);
    }

    /// SHA-256 over the SHA-256 of each prompt that was sent, in the order of the items, in hex.
    pub fn prompts_sha256(&self) -> String {
        let mut digest = Sha256::new();
        self.digests.iter().for_each(|prompt| digest.update(prompt));
        digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl RequestSource for PromptSource {
    fn next(&mut self, buffer: &mut Vec<u8>) -> Result<RequestMeta, String> {
        let item = self.generator.item(self.next_item).map_err(|error| error.to_string())?;
        self.next_item = self.next_item.checked_add(1).ok_or("more than 2^32 prompts")?;
        let turn = item.turns.first().ok_or("the workload made an item without a turn")?;
        self.digests.push(Sha256::digest(turn.prompt.canonical_bytes()).into());
        self.template
            .write(
                &Ask { prompt: &turn.prompt, output_tokens: turn.output_tokens, fields: None },
                buffer,
            )
            .map_err(|error| error.to_string())?;
        Ok(RequestMeta {
            item: item.id,
            prompt_tokens_asked: turn.prompt_tokens,
            output_tokens_asked: turn.output_tokens,
        })
    }
}
