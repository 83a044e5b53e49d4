//! Requests without the fields that a server rejects.
//!
//! Not here: which fields a server rejects (`dialect::rejection`).

use super::{RequestTemplate, opened};
use crate::dialect::RequestField;
use ifm_core::manifest::RejectedField;
use serde_json::{Map, Value};

impl RequestTemplate {
    /// Fields of each request whose rejection leaves a request that still asks for the same: all but the
    /// prompt and the model.
    pub fn removable_fields(&self) -> Vec<RequestField> {
        let within = self.within();
        let lengths = self.dialect.length.map_or(&[][..], |length| length.names);
        let of_value = |(name, value): (&String, &Value)| RequestField {
            name: name.clone(),
            parts: value.as_object().into_iter().flat_map(Map::keys).cloned().collect(),
            // One that the user set.
            is_length: lengths.contains(&name.as_str()),
        };
        let fixed = self.fixed.iter().filter(|(name, _)| *name != "model");
        let all = fixed.chain(&self.options).map(of_value);
        let all = all.filter(|field| within != Some(field.name.as_str()));
        let length = self.length_name().map(|name| RequestField {
            name: name.to_owned(),
            parts: Vec::new(),
            is_length: true,
        });
        all.chain(length).collect()
    }

    /// Names by which the API knows the output length, apart from the one that is sent.
    pub fn other_length_names(&self) -> impl Iterator<Item = &'static str> {
        let names = self.length.map_or(&[][..], |length| length.names);
        let sent = self.length_name().map(str::to_owned);
        names.iter().copied().filter(move |name| sent.as_deref() != Some(name))
    }

    /// Leaves out fields that the server rejects, and uses the name that it expects for the output
    /// length.
    pub fn without_rejected(mut self, rejected: &[RejectedField]) -> RequestTemplate {
        for field in rejected {
            if self.length_name() == Some(field.field.as_str()) {
                self.length_name.clone_from(&field.replaced_by);
                continue;
            }
            self.fixed.remove(&field.field);
            self.options.remove(&field.field);
        }
        self.before = opened(&self.fixed);
        self.options_before = opened(&self.options);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::RequestBytes;
    use crate::request::{Ask, TemplateSpec};
    use ifm_core::Prompt;
    use ifm_core::spec::Api;

    #[test]
    fn leaves_out_what_a_server_rejects() {
        let none = Map::new();
        let spec = |api| TemplateSpec {
            api,
            host: "h:1",
            path: "/",
            model: "m",
            authorization: None,
            headers: &[],
            stream: true,
            ignore_eos: true,
            temperature: Some(0.0),
            extra_body: &none,
        };
        let rejected = |field: &str, replaced_by: Option<&str>| RejectedField {
            field: field.to_owned(),
            replaced_by: replaced_by.map(str::to_owned),
            status: 400,
            message: "no".to_owned(),
        };
        let template = RequestTemplate::new(&spec(Api::Chat)).unwrap();
        let names: Vec<String> =
            template.removable_fields().into_iter().map(|field| field.name).collect();
        assert_eq!(names.len(), 5, "{names:?}");
        for name in ["stream", "stream_options", "ignore_eos", "temperature", "max_tokens"] {
            assert!(names.iter().any(|one| one == name), "{name}: {names:?}");
        }
        assert_eq!(template.other_length_names().collect::<Vec<_>>(), ["max_completion_tokens"]);
        let rejected_by_chat = [
            rejected("ignore_eos", None),
            rejected("stream_options", None),
            rejected("max_tokens", Some("max_completion_tokens")),
        ];
        let written = |template: RequestTemplate, fields: Option<&Map<String, Value>>| {
            let prompt = Prompt::Text("a".to_owned());
            let ask = Ask {
                prompt: &prompt,
                said: &[],
                said_media: &[],
                output_tokens: Some(16),
                fields,
                number: None,
                session: None,
            };
            let mut out = RequestBytes::default();
            template.write(&ask, &mut out).unwrap();
            let text = String::from_utf8(out.to_vec()).unwrap();
            serde_json::from_str::<Value>(text.split_once("\r\n\r\n").unwrap().1).unwrap()
        };
        let expect = serde_json::json!({
            "model": "m", "stream": true, "temperature": 0.0, "max_completion_tokens": 16,
            "messages": [{"role": "user", "content": "a"}],
        });
        let template = template.without_rejected(&rejected_by_chat);
        assert!(template.other_length_names().any(|name| name == "max_tokens"));
        assert_eq!(written(template.clone(), None), expect);
        let own = serde_json::json!({"top_k": 1}).as_object().unwrap().clone();
        let mut with_own = expect.clone();
        with_own["top_k"] = 1.into();
        assert_eq!(written(template, Some(&own)), with_own);
        // Options in a nested object.
        let sglang = RequestTemplate::new(&spec(Api::Sglang)).unwrap();
        let sglang = sglang.without_rejected(&[rejected("ignore_eos", None)]);
        let options = serde_json::json!({"temperature": 0.0, "max_new_tokens": 16});
        assert_eq!(written(sglang, None)["sampling_params"], options);
    }
}
