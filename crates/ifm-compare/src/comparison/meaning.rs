//! By whose definition a value was taken, and whether two values are of one definition.
//!
//! Not here: the definitions themselves, which readers attach to every figure, and by which
//! [`definitions`](ifm_metrics::definitions) computes a run of ours.

use ifm_core::sheet::Definition;
use ifm_metrics::level::WindowKind;

/// By whose definition a value was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum By {
    /// Ours, or one that is the same.
    Ours,
    /// Ours, a rate over this part of a level: rates over different parts are not compared.
    Window(WindowKind),
    /// That of a tool, in its words.
    Tool { tool: String, text: String },
    /// That of a tool, by which a run of ours was computed again.
    Again { tool: String },
    /// A document that says nothing about it.
    Unstated,
}

/// Whether values of two definitions can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Agreement {
    /// The definitions differ.
    None,
    /// One of them is not known.
    Assumed,
    /// They are the same.
    Same,
}

impl By {
    /// The definition of a figure of a tool.
    pub fn of(definition: &Definition, tool: Option<&str>) -> By {
        match definition {
            Definition::Same => By::Ours,
            Definition::Derivable(text) | Definition::Different(text) => {
                By::Tool { tool: tool.unwrap_or("its tool").to_owned(), text: text.clone() }
            }
            Definition::Unstated => By::Unstated,
        }
    }

    /// Whether values of both can be compared.
    pub fn agrees(&self, other: &By) -> Agreement {
        match (self, other) {
            (By::Unstated, By::Unstated) => Agreement::Same,
            (By::Unstated, _) | (_, By::Unstated) => Agreement::Assumed,
            (By::Tool { text: a, .. }, By::Tool { text: b, .. }) if a == b => Agreement::Same,
            (By::Again { tool: a }, By::Tool { tool: b, .. } | By::Again { tool: b })
            | (By::Tool { tool: a, .. }, By::Again { tool: b })
                if a == b =>
            {
                Agreement::Same
            }
            (By::Window(a), By::Window(b)) if a == b => Agreement::Same,
            (By::Ours, By::Ours | By::Window(_)) | (By::Window(_), By::Ours) => Agreement::Same,
            _ => Agreement::None,
        }
    }

    /// The definition as text.
    pub fn words(&self) -> String {
        match self {
            By::Ours => "as inferometer defines it".to_owned(),
            By::Window(WindowKind::Steady) => "over the steady window".to_owned(),
            By::Window(WindowKind::Whole) => "over the whole level".to_owned(),
            By::Tool { tool, text } => format!("{tool}: {text}"),
            By::Again { tool } => format!("as {tool} defines it"),
            By::Unstated => "not stated".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_definition_is_one_text_or_one_tool() {
        let tool =
            |tool: &str, text: &str| By::of(&Definition::Different(text.to_owned()), Some(tool));
        let again = By::Again { tool: "vllm bench serve".to_owned() };
        let vllm = tool("vllm bench serve", "gaps between pieces");
        let ours = By::of(&Definition::Same, Some("aiperf"));
        let unstated = By::of(&Definition::Unstated, None);
        let steady = By::Window(WindowKind::Steady);
        for (a, b, expect) in [
            (&ours, &By::Ours, Agreement::Same),
            (&vllm, &tool("other", "gaps between pieces"), Agreement::Same),
            (&vllm, &tool("vllm bench serve", "one per request"), Agreement::None),
            (&vllm, &again, Agreement::Same),
            (&again, &tool("guidellm", "one per request"), Agreement::None),
            (&ours, &vllm, Agreement::None),
            (&ours, &unstated, Agreement::Assumed),
            (&unstated, &unstated, Agreement::Same),
            (&steady, &steady, Agreement::Same),
            (&steady, &By::Window(WindowKind::Whole), Agreement::None),
            (&steady, &ours, Agreement::Same),
        ] {
            assert_eq!((a.agrees(b), b.agrees(a)), (expect, expect), "{a:?} {b:?}");
        }
    }
}
