//! The templates of a run's requests: one for free answers, and one for each form.
//!
//! Not here: which request gets which form (`ifm-workload`), the fields of a form (`ifm-wire`).

use ifm_core::{FormKind, Prompt, form_key};
use ifm_drive::TurnMeta;
use ifm_sys::pages;
use ifm_wire::dialect::FormSpeech;
use ifm_wire::request::{Ask, RequestError};
use ifm_wire::{RequestBytes, RequestTemplate};
use ifm_workload::Forms;

/// Room for the part of a request around its text.
const ENVELOPE_BYTES: usize = 4096;
/// Share of a text by which the next one may be longer and still find room in the same buffer.
const LONGER: usize = 64;

/// What requests are written by.
pub struct Templates {
    /// For free answers.
    pub free: RequestTemplate,
    forms: Forms,
    /// By the index of the form.
    of_forms: Vec<RequestTemplate>,
    speech: FormSpeech,
    ignore_eos: bool,
}

impl From<RequestTemplate> for Templates {
    /// Of a run whose answers are all free.
    fn from(free: RequestTemplate) -> Templates {
        let forms = Forms::new(Vec::new(), 0);
        let (of_forms, speech) = (Vec::new(), FormSpeech::OpenAi);
        Templates { free, forms, of_forms, speech, ignore_eos: false }
    }
}

impl Templates {
    /// Templates for forms, expressed in the dialect `speech`. With `ignore_eos` the server must
    /// continue past the end of the text in requests with a form too.
    ///
    /// # Errors
    /// A form that the API cannot carry.
    pub fn new(
        free: RequestTemplate,
        forms: Forms,
        (speech, ignore_eos): (FormSpeech, bool),
    ) -> Result<Templates, RequestError> {
        let with = |form| free.with_form(form, speech, ignore_eos);
        let of_forms = forms.iter().map(with).collect::<Result<_, _>>()?;
        Ok(Templates { free, forms, of_forms, speech, ignore_eos })
    }

    /// Writes a request. Returns how many results the answer must hold, for an API that answers with
    /// a list of them, and the form that was drawn for the request.
    ///
    /// # Errors
    /// What cannot be sent.
    pub fn write(
        &self,
        (item, turn): (u32, Option<TurnMeta>),
        ask: &Ask<'_>,
        buffer: &mut RequestBytes,
    ) -> Result<(Option<u32>, Option<u16>), String> {
        let agent = turn.filter(|turn| turn.has_agents).map(|turn| turn.agent);
        let key = form_key(item, agent, turn.map(|turn| turn.turn));
        let index = self.forms.draw(key);
        let form = index.and_then(|index| self.forms.get(index));
        let own = match form.filter(|form| form.kind == FormKind::JsonUnique) {
            None => None,
            Some(form) => {
                let form = form.of_request(self.forms.seed(), key);
                let own = self.free.with_form(&form, self.speech, self.ignore_eos);
                Some(own.map_err(|error| error.to_string())?)
            }
        };
        let shared = index.and_then(|index| self.of_forms.get(usize::from(index)));
        let template = own.as_ref().or(shared).unwrap_or(&self.free);
        // What is not a text is short, or not written into the buffer.
        let text_bytes = match ask.prompt {
            Prompt::Text(text) => text.len(),
            Prompt::Messages(messages) => messages.iter().map(|it| it.content.len()).sum(),
            Prompt::Tokens(_) => 0,
        };
        buffer.clear();
        let said_bytes = text_bytes + ask.said.len();
        let envelope_bytes = ENVELOPE_BYTES + said_bytes / LONGER;
        pages::make_room(buffer.own_mut(), said_bytes, envelope_bytes);
        let results = template.write(ask, buffer).map_err(|error| error.to_string())?;
        Ok((results, index))
    }
}
