//! Tools that the model may call, as a file writes them.
//!
//! Not here: calls and their results, which are parts of messages (`message`).

use super::super::body::put;
use super::super::tools::Function;
use super::place::{Node, Place, put_item};
use super::request::Fields;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The field of a request in which a workload has tools.
const TOOLS: &str = "tools";
/// Places of one tool.
const TOOL_PLACES: &[Place] = &[Place::ToolName, Place::ToolAbout, Place::ToolParameters];

/// How tools are written.
#[derive(Debug)]
pub(super) struct Tools {
    fields: Fields,
    tool: Node,
}

impl Tools {
    /// Reads the fields of the body that hold the list, and one tool of it.
    ///
    /// # Errors
    /// The key that is wrong, and why.
    pub(super) fn parse(
        fields: Option<&str>,
        tool: Option<&str>,
    ) -> Result<Option<Tools>, (&'static str, String)> {
        let (fields, tool) = match (fields, tool) {
            (None, None) => return Ok(None),
            (Some(fields), Some(tool)) => (fields, tool),
            (Some(_), None) => {
                return Err((
                    "when_tools",
                    "it needs tool, which says how one is written".to_owned(),
                ));
            }
            (None, Some(_)) => {
                return Err(("tool", "it needs when_tools, in which the list stands".to_owned()));
            }
        };
        let read = Node::parse(fields, &[Place::Tools]).map_err(|why| ("when_tools", why))?;
        if !read.has(Place::Tools) {
            return Err(("when_tools", "it has no \"{tools}\"".to_owned()));
        }
        let none = || ("when_tools", "it is no object".to_owned());
        let fields = read.into_fields().ok_or_else(none)?;
        let tool = Node::parse(tool, TOOL_PLACES).map_err(|why| ("tool", why))?;
        Ok(Some(Tools { fields, tool }))
    }

    /// Fields of one request with its tools as the API has them. Where one of them is no [`Function`] they
    /// all stay as they are: they may be in the API's own words already.
    pub(super) fn told<'fields>(
        &self,
        own: &'fields Map<String, Value>,
    ) -> Cow<'fields, Map<String, Value>> {
        let tools = own.get(TOOLS).and_then(Value::as_array).filter(|tools| !tools.is_empty());
        let functions = tools.and_then(|tools| {
            tools.iter().map(Function::of).collect::<Option<Vec<Function<'_>>>>()
        });
        let Some(functions) = functions else { return Cow::Borrowed(own) };
        let fill =
            |place: Place, out: &mut Vec<u8>| place == Place::Tools && self.put(&functions, out);
        let mut all = own.clone();
        all.remove(TOOLS);
        for (name, node) in &self.fields {
            all.extend(node.value(&fill).map(|value| (name.clone(), value)));
        }
        Cow::Owned(all)
    }

    fn put(&self, functions: &[Function<'_>], out: &mut Vec<u8>) -> bool {
        out.push(b'[');
        for function in functions {
            let fill = |place: Place, out: &mut Vec<u8>| {
                let value = match place {
                    Place::ToolName => Some(function.name),
                    Place::ToolAbout => function.description,
                    Place::ToolParameters => function.parameters,
                    _ => return false,
                };
                value.into_iter().for_each(|value| put(value, out));
                value.is_some()
            };
            put_item(out, |out| self.tool.put(&fill, out));
        }
        out.push(b']');
        true
    }
}
