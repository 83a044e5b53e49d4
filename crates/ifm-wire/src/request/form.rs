//! Requests whose answers are to have a form.
//!
//! The form field is written verbatim, so that the properties of a schema keep their order.
//!
//! Not here: which field an API has for it (`dialect::forms`).

use super::{RequestTemplate, opened};
use crate::ask::RequestError;
use crate::dialect::FormSpeech;
use crate::dialect::body::{put_field, put_name};
use ifm_core::Form;
use serde_json::Value;

impl RequestTemplate {
    /// The same for answers of a form, in the words of `speech`. Without `ignore_eos` a server is not
    /// told to go on past the end of the text, which would leave no answer of that form.
    ///
    /// # Errors
    /// [`RequestError::Form`] where the API cannot carry it, and [`RequestError::PromptField`] where
    /// the user's own body holds the field.
    pub fn with_form(
        &self,
        form: &Form,
        speech: FormSpeech,
        ignore_eos: bool,
    ) -> Result<RequestTemplate, RequestError> {
        let field = self.dialect.form(form, speech)?;
        let mut template = self.clone();
        let holder = if field.is_within { &template.options } else { &template.fixed };
        if holder.contains_key(field.name) {
            return Err(RequestError::FormField(field.name));
        }
        if !ignore_eos {
            template.fixed.remove("ignore_eos");
            template.options.remove("ignore_eos");
        }
        template.before = opened(&template.fixed);
        template.options_before = opened(&template.options);
        let opened = match field.is_within {
            true => &mut template.options_before,
            false => &mut template.before,
        };
        field.put(opened);
        template.form = Some(field);
        Ok(template)
    }

    /// Writes the object that holds the length, of a body with fields of its own.
    pub(super) fn put_options(&self, name: &str, options: Value, out: &mut Vec<u8>) {
        let form = self.form.as_ref().filter(|form| form.is_within);
        match options {
            Value::Object(mut options) => {
                if let Some(form) = form {
                    options.remove(form.name);
                }
                if options.is_empty() && form.is_none() {
                    return;
                }
                put_name(name, out);
                out.extend_from_slice(&opened(&options));
                form.into_iter().for_each(|form| form.put(out));
                out.push(b'}');
            }
            other => put_field(name, &other, out),
        }
    }

    pub(super) fn has_options(&self) -> bool {
        !self.options.is_empty() || self.form.as_ref().is_some_and(|form| form.is_within)
    }
}
