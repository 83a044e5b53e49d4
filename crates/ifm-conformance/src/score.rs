//! What is wrong, in a few lines per case, and how much is right, in one line per class.

use crate::{Attempt, Check, Ending, Matter, Tried, Verdict};
use ifm_truth::case::Class;

/// A case that failed: what is wrong, why, and in how many of several runs.
pub fn wrong(tried: &Tried) -> String {
    let case = &tried.case;
    let what = tried.example().map_or_else(String::new, summary);
    let runs = tried.attempts.len();
    let runs = match runs - tried.right_runs() {
        _ if runs == 1 => String::new(),
        wrong => format!(" (in {wrong} of {runs} runs)"),
    };
    let indent = "";
    format!(
        "{:<9} {:<30} {what}{runs}\n{indent:41}sent: {}\n{indent:41}because {}\n",
        case.class.word(),
        case.name,
        case.what,
        case.why
    )
}

/// The result of a run, in a sentence.
pub fn summary(attempt: &Attempt) -> String {
    let requests = match attempt.exchanges.len() {
        0 => "it sent no request".to_owned(),
        1 => "the server saw one request".to_owned(),
        several => format!("the server saw {several} requests"),
    };
    match attempt.verdict {
        Verdict::Right => "right".to_owned(),
        Verdict::NotApplicable(reason) => format!("does not apply: {reason}"),
        Verdict::Wrong => {
            let wrong = attempt.checks.iter().filter(|check| !check.is_right);
            wrong.map(mistake).collect::<Vec<_>>().join("; ")
        }
        Verdict::Silent => {
            let said = attempt.last_words.last().map_or(String::new(), |last| format!(": {last}"));
            format!("the client reported nothing readable; {requests}; {}{said}", ending(attempt))
        }
        Verdict::Unended => format!("did not end in time; {requests}"),
    }
}

/// How the client's process ended.
pub fn ending(attempt: &Attempt) -> String {
    match attempt.ending {
        Ending::Code(code) => format!("exit code {code}"),
        Ending::Signal => "ended by a signal".to_owned(),
        Ending::NeverAsked => "ended by --start-limit, before its first request".to_owned(),
        Ending::Hung => "ended by --time-limit, after its first request".to_owned(),
    }
}

fn mistake(check: &Check) -> String {
    format!("{}: {}, truth {}", check.what, number(check.said), number(check.truth()))
}

/// A number in the format of tables.
pub fn number(value: Option<f64>) -> String {
    value.map_or("nothing".to_owned(), |value| format!("{value:.1}"))
}

/// `57 of 68 right`, by class, and the number of wrong cases by kind of mistake.
pub fn score(tried: &[Tried]) -> String {
    let mut out = String::new();
    for class in Class::ALL {
        let of: Vec<&Tried> = tried.iter().filter(|tried| tried.case.class == class).collect();
        if !of.is_empty() {
            out.push_str(&score_line(class.word(), &of));
        }
    }
    let all: Vec<&Tried> = tried.iter().collect();
    out.push_str(&score_line("right", &all));
    for (reason, names) in not_applicable(tried) {
        out.push_str(&format!("do not apply, {reason}: {}\n", names.join(", ")));
    }
    out
}

/// Reasons why cases do not apply, with their cases.
fn not_applicable(tried: &[Tried]) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for tried in tried {
        let Verdict::NotApplicable(reason) = tried.verdict else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(tried.case.name),
            None => reasons.push((reason, vec![tried.case.name])),
        }
    }
    reasons
}

/// `counts 12 of 16; wrong: outcome 1, count 3`. A case with two mistakes is in both counts; one
/// that does not apply is in none.
fn score_line(word: &str, of: &[&Tried]) -> String {
    let count = |is: &dyn Fn(&Tried) -> bool| of.iter().filter(|tried| is(tried)).count();
    let with = |verdict| count(&|tried| tried.verdict == verdict);
    let not_applicable = count(&|tried| matches!(tried.verdict, Verdict::NotApplicable(_)));
    let applicable = of.len() - not_applicable;
    let mut line = format!("{word:<9} {} of {applicable}", with(Verdict::Right));
    let wrong_in = |matter| {
        count(&|tried| {
            let checks = tried.example().map_or(&[][..], |attempt| &attempt.checks);
            checks.iter().any(|check| check.matter == matter && !check.is_right)
        })
    };
    let wrong: Vec<String> = Matter::ALL
        .into_iter()
        .map(|matter| (matter.word(), wrong_in(matter)))
        .chain([("nothing to read", with(Verdict::Silent)), ("no end", with(Verdict::Unended))])
        .filter(|(_, cases)| *cases > 0)
        .map(|(word, cases)| format!("{word} {cases}"))
        .collect();
    if !wrong.is_empty() {
        line.push_str(&format!("; wrong: {}", wrong.join(", ")));
    }
    if not_applicable > 0 {
        line.push_str(&format!("; {not_applicable} more do not apply"));
    }
    line.push('\n');
    line
}
