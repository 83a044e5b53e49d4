//! Results of tools under the ids of the calls that they answer.
//!
//! A recorded result bears the id of a recorded call. Where the server's own answer is carried, its
//! calls have other ids, and there may be others or none. A server refuses a result without its call,
//! and a call without its result. So a result goes to the call of the same function, in their order;
//! one that finds none is said by the user, and a call that is left has the result "not run".
//!
//! Not here: which answer is carried (`inferometer`).

use ifm_core::{Message, Role, ToolCall};

/// What answers a call for which nothing was recorded.
const NOT_RUN: &str = "not run";

/// The messages after an answer with these calls, each with the messages that must precede it.
/// `recorded` are the calls of the recorded answer; empty where that answer is carried itself.
pub fn settle(
    calls: &[ToolCall],
    recorded: &[ToolCall],
    messages: Vec<Message>,
) -> Vec<(Vec<Message>, Message)> {
    let mut left: Vec<&ToolCall> = calls.iter().collect();
    // Results directly after the answer belong to its calls.
    let results = messages.iter().take_while(|message| message.role == Role::Tool).count();
    let mut settled = Vec::with_capacity(messages.len());
    let mut said_by_user = Vec::new();
    let mut messages = messages.into_iter();
    for mut message in messages.by_ref().take(results) {
        let id = message.tool_call_id.take();
        let name = recorded.iter().find(|call| Some(&call.id) == id.as_ref()).map(|it| &it.name);
        let place = match recorded.is_empty() {
            true => left.iter().position(|call| Some(&call.id) == id.as_ref()),
            false => left.iter().position(|call| Some(&call.name) == name),
        };
        match place {
            Some(place) => {
                message.tool_call_id = Some(left.remove(place).id.clone());
                settled.push((Vec::new(), message));
            }
            None => said_by_user.push(Message { role: Role::User, ..message }),
        }
    }
    // Results precede everything else.
    let not_run = left.into_iter().map(|call| Message {
        tool_call_id: Some(call.id.clone()),
        ..Message::text(Role::Tool, NOT_RUN)
    });
    let mut not_run: Vec<Message> = not_run.collect();
    for message in said_by_user.into_iter().chain(messages) {
        settled.push((std::mem::take(&mut not_run), message));
    }
    if let (false, Some((before, last))) = (not_run.is_empty(), settled.last_mut()) {
        // All are results, so their order does not matter.
        before.append(&mut not_run);
        debug_assert_eq!(last.role, Role::Tool);
    }
    settled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, name: &str) -> ToolCall {
        ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: "{}".to_owned() }
    }

    fn result(id: &str, text: &str) -> Message {
        Message { tool_call_id: Some(id.to_owned()), ..Message::text(Role::Tool, text) }
    }

    /// Role, id and text of all that is sent, in order.
    fn sent(calls: &[ToolCall], recorded: &[ToolCall], messages: Vec<Message>) -> Vec<String> {
        let settled = settle(calls, recorded, messages);
        let all = settled.into_iter().flat_map(|(before, it)| before.into_iter().chain([it]));
        let line = |message: Message| {
            let id = message.tool_call_id.unwrap_or_default();
            format!("{} {id} {}", message.role.word(), message.content)
        };
        all.map(line).collect()
    }

    #[test]
    fn results_go_to_the_calls_of_the_same_name_in_order() {
        let recorded = [call("r1", "ls"), call("r2", "cat"), call("r3", "ls")];
        let results = || vec![result("r1", "one"), result("r2", "two"), result("r3", "three")];
        let live = [call("x", "cat"), call("y", "ls"), call("z", "ls")];
        assert_eq!(sent(&live, &recorded, results()), ["tool y one", "tool x two", "tool z three"]);
        // The answer contains one call of the three, and one that was not recorded.
        let live = [call("x", "ls"), call("y", "rm")];
        let expected = ["tool x one", "tool y not run", "user  two", "user  three"];
        assert_eq!(sent(&live, &recorded, results()), expected);
        let live = [call("x", "ls"), call("y", "rm")];
        assert_eq!(
            sent(&live, &recorded, vec![result("r1", "one")]),
            ["tool y not run", "tool x one"]
        );
        // No call at all.
        assert_eq!(sent(&[], &recorded, results()), ["user  one", "user  two", "user  three"]);
        // Calls, and a recording without any.
        let said = vec![Message::text(Role::User, "go on")];
        assert_eq!(sent(&live, &[], said), ["tool x not run", "tool y not run", "user  go on"]);
    }

    #[test]
    fn a_recorded_answer_keeps_its_ids() {
        let calls = [call("r1", "ls")];
        let messages = vec![result("r1", "one"), result("lost", "two")];
        assert_eq!(sent(&calls, &[], messages), ["tool r1 one", "user  two"]);
    }
}
