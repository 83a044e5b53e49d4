//! Which steps answer a request.

use crate::case::{Action, Case, Step};
use crate::request::Request;
use std::collections::HashMap;
use std::sync::Arc;

/// Steps to play, and the case they belong to; a plain answer belongs to none.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Name of the case; `None` for an answer of the server itself, which is not logged.
    pub case: Option<&'static str>,
    /// What to do.
    pub steps: Arc<[Step]>,
}

/// Answers by case name.
#[derive(Debug)]
pub struct Routes {
    cases: HashMap<&'static str, (&'static str, Arc<[Step]>)>,
    list: String,
    /// Names that take turns, and how many have had theirs.
    turns: Vec<&'static str>,
    taken: usize,
}

impl Routes {
    /// Routes to these cases, of which those named in `turns` take turns.
    pub fn new(cases: Vec<Case>, turns: Vec<&'static str>) -> Routes {
        let list: Vec<_> = cases
            .iter()
            .map(|case| {
                serde_json::json!({
                    "name": case.name,
                    "class": case.class.word(),
                    "what": case.what,
                    "why": case.why,
                    "path": format!("/case/{}{}", case.name, case.api.path()),
                    "outcome": case.truth.outcome.word(),
                })
            })
            .collect();
        let list = serde_json::Value::from(list).to_string();
        let cases = cases
            .into_iter()
            .map(|case| (case.name, (case.api.path(), Arc::from(case.steps))))
            .collect();
        Routes { cases, list, turns, taken: 0 }
    }

    /// Whose turn it is now; empty where none was named.
    fn turn(&mut self) -> &'static str {
        let place = self.taken.checked_rem(self.turns.len());
        self.taken = self.taken.wrapping_add(1);
        place.and_then(|place| self.turns.get(place)).copied().unwrap_or_default()
    }

    /// The answer to a request.
    pub fn answer(&mut self, request: &Request) -> Answer {
        let path = request.path.as_str();
        let (name, below) = match (path.strip_prefix("/case/"), path.strip_prefix("/turns/")) {
            (Some(rest), _) => rest.split_once('/').unwrap_or((rest, "")),
            (None, Some(below)) if request.method == "POST" => (self.turn(), below),
            (None, Some(below)) => ("", below),
            (None, None) => ("", path.trim_start_matches('/')),
        };
        let endpoint = below.trim_start_matches("v1/");
        match (request.method.as_str(), endpoint) {
            ("GET", "cases") => plain("200 OK", &self.list),
            ("GET", "health") => plain("200 OK", "{}"),
            ("GET", "models") => plain(
                "200 OK",
                "{\"object\":\"list\",\"data\":[{\"id\":\"mock\",\"object\":\"model\",\
                 \"created\":1700000000,\"owned_by\":\"truth\"}]}",
            ),
            ("POST", _) => match self.cases.get_key_value(name) {
                Some((name, (wanted, steps))) if wanted.trim_start_matches("/v1/") == endpoint => {
                    Answer { case: Some(name), steps: steps.clone() }
                }
                Some((_, (wanted, _))) => {
                    error("404 Not Found", &format!("this case answers on {wanted}"))
                }
                None => error("404 Not Found", "no such case: GET /cases lists them"),
            },
            _ => error("404 Not Found", "no such page: GET /cases lists the cases"),
        }
    }
}

/// An answer of the server itself with a JSON body.
pub fn plain(status: &str, body: &str) -> Answer {
    let message = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let step = Step { at_ms: 0, action: Action::Send(message.into_bytes()) };
    Answer { case: None, steps: Arc::from([step]) }
}

/// An error of the server itself.
pub fn error(status: &str, message: &str) -> Answer {
    plain(status, &serde_json::json!({ "error": { "message": message } }).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_base_url_leads_to_the_case_and_a_wrong_one_says_so() {
        let turns = vec!["truncated_clean", "baseline"];
        let mut routes = Routes::new(crate::cases::suite(), turns);
        let mut case_of = |method: &str, path: &str| {
            let request =
                Request { method: method.to_owned(), path: path.to_owned(), ..Request::default() };
            routes.answer(&request).case
        };
        let baseline = Some("baseline");
        assert_eq!(case_of("POST", "/case/baseline/v1/chat/completions"), baseline);
        assert_eq!(case_of("POST", "/case/baseline/chat/completions"), baseline);
        assert_eq!(case_of("POST", "/case/completions/v1/completions"), Some("completions"));
        assert_eq!(case_of("POST", "/case/baseline/v1/completions"), None);
        assert_eq!(case_of("POST", "/case/nothing/v1/chat/completions"), None);
        assert_eq!(case_of("POST", "/case/baseline"), None);
        assert_eq!(case_of("GET", "/case/baseline/v1/models"), None);
        assert_eq!(case_of("GET", "/turns/v1/models"), None);
        for expect in ["truncated_clean", "baseline", "truncated_clean"] {
            assert_eq!(case_of("POST", "/turns/v1/chat/completions"), Some(expect));
        }
    }
}
