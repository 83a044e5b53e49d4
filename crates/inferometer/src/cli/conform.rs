//! `inferometer conform`: any client through the suite of streams with a known answer.

use crate::conformance::{Matter, Mistake, Trial, Tried, Verdict, run as try_client};
use crate::exit::{Code, Failure};
use crate::terminal;
use clap::{Args, ValueEnum};
use ifm_truth::case::Class;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

/// What goes to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ConformFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
}

/// Flags of `conform`.
#[derive(Debug, Args)]
pub struct ConformArgs {
    /// The client, as a command for the shell. {url} becomes the server's base URL without /v1,
    /// {base} the same with it, {endpoint} the path, {api} "chat" or "completions", {requests} how
    /// many requests to send, one after the other, {out} a folder for the client's files;
    /// {first_token_s}, {idle_s} and {total_s} the limits that a case needs, seconds [default:
    /// inferometer itself]
    #[arg(long, value_name = "COMMAND")]
    cmd: Option<String>,

    /// Only these cases, by name
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,

    /// Only cases of this API: chat or completions
    #[arg(long, value_name = "API")]
    api: Option<String>,

    /// What a time may be off, milliseconds, beside the server's own lateness
    #[arg(long, default_value_t = 10.0, value_name = "MS")]
    tolerance_ms: f64,

    /// Longest run of the client for one case
    #[arg(long, default_value = "60s", value_name = "TIME", value_parser = super::duration::seconds)]
    time_limit: f64,

    /// Cases at the same time: most of a case is waiting
    #[arg(long, default_value_t = 4, value_name = "N")]
    jobs: usize,

    /// Folder for the client's files, kept [default: a temporary one]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// What goes to standard output
    #[arg(short, long, value_enum, default_value = "text")]
    format: ConformFormat,

    /// List the cases
    #[arg(long)]
    list: bool,
}

/// Runs the command.
pub fn run(args: &ConformArgs) -> Result<Code, Failure> {
    let mut cases = ifm_truth::cases::suite();
    if let Some(unknown) = args.cases.iter().find(|name| !cases.iter().any(|c| c.name == **name)) {
        return Err(Failure::usage(format!("no case {unknown}")).hint("--list names them"));
    }
    cases.retain(|case| {
        let named = args.cases.is_empty() || args.cases.iter().any(|name| name == case.name);
        named && args.api.as_ref().is_none_or(|api| api == case.api.word())
    });
    if args.list {
        for case in &cases {
            let line = format!("{:<9} {:<30} {}\n", case.class.word(), case.name, case.what);
            terminal::print(&line);
        }
        return Ok(Code::Done);
    }
    if cases.is_empty() {
        return Err(Failure::usage("no case is left").hint("--list names them"));
    }
    let is_kept = args.out.is_some();
    let folder = args.out.clone().unwrap_or_else(|| {
        std::env::temp_dir().join(format!("inferometer-conform-{}", std::process::id()))
    });
    // The client runs in a folder of its own: a relative path would lead elsewhere.
    let folder = std::path::absolute(&folder)
        .map_err(|error| Failure::files(format!("{}: {error}", folder.display())))?;
    let trial = Trial {
        command: match &args.cmd {
            Some(command) => command.clone(),
            None => own_command()?,
        },
        time_limit: Duration::from_secs_f64(args.time_limit),
        tolerance_ms: args.tolerance_ms,
        jobs: args.jobs,
        folder: folder.clone(),
    };
    let is_text = args.format == ConformFormat::Text;
    let tried = try_client(&trial, cases, |tried| {
        if is_text && tried.verdict != Verdict::Right {
            terminal::print(&line(tried));
        }
    });
    if !is_kept {
        // What cannot be removed is left to the system.
        let _ = std::fs::remove_dir_all(&folder);
    }
    let tried = tried?;
    terminal::print(&match args.format {
        ConformFormat::Text => score(&tried),
        ConformFormat::Json => format!("{:#}\n", document(&trial, &tried)),
    });
    let all_right = tried.iter().all(|tried| tried.verdict == Verdict::Right);
    Ok(if all_right { Code::Done } else { Code::Failed })
}

/// This program as a client.
fn own_command() -> Result<String, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(Code::Internal, format!("where am I? {error}")))?;
    let quoted = program.display().to_string().replace('\'', "'\\''");
    Ok(format!(
        "'{quoted}' run {{base}} --model mock --api {{api}} -c 1 -n {{requests}} -w 0 -W 16/16 \
         --store {{out}}/runs --first-token-timeout {{first_token_s}} --idle-timeout {{idle_s}} \
         --timeout {{total_s}} --quiet"
    ))
}

fn line(tried: &Tried) -> String {
    let what = match &tried.verdict {
        Verdict::Right => "right".to_owned(),
        Verdict::Wrong(wrong) => wrong.iter().map(mistake).collect::<Vec<_>>().join("; "),
        Verdict::Silent => "nothing that can be read was reported".to_owned(),
        Verdict::Unended => "did not end in time".to_owned(),
    };
    let case = &tried.case;
    format!("{:<9} {:<30} {what}\n{:41}because {}\n", case.class.word(), case.name, "", case.why)
}

fn mistake(mistake: &Mistake) -> String {
    let number = |value: Option<f64>| value.map_or("nothing".to_owned(), |v| format!("{v:.1}"));
    format!("{}: {}, truth {}", mistake.what, number(mistake.said), number(mistake.truth))
}

/// `57 of 68 right`, by class, and how many of a class are wrong in what.
fn score(tried: &[Tried]) -> String {
    let mut out = String::new();
    for class in Class::ALL {
        let of: Vec<&Tried> = tried.iter().filter(|tried| tried.case.class == class).collect();
        if !of.is_empty() {
            out.push_str(&score_line(class.word(), &of));
        }
    }
    let all: Vec<&Tried> = tried.iter().collect();
    out.push_str(&score_line("right", &all));
    out
}

/// `counts 12 of 16; wrong: outcome 1, count 3`. A case that is wrong in two matters is in both.
fn score_line(word: &str, of: &[&Tried]) -> String {
    let count = |is: &dyn Fn(&Verdict) -> bool| of.iter().filter(|t| is(&t.verdict)).count();
    let right = count(&|verdict| *verdict == Verdict::Right);
    let mut line = format!("{word:<9} {right} of {}", of.len());
    let wrong_in = |matter| {
        count(
            &|verdict| matches!(verdict, Verdict::Wrong(wrong) if wrong.iter().any(|m| m.matter == matter)),
        )
    };
    let wrong: Vec<String> = Matter::ALL
        .into_iter()
        .map(|matter| (matter.word(), wrong_in(matter)))
        .chain([
            ("nothing to read", count(&|verdict| *verdict == Verdict::Silent)),
            ("no end", count(&|verdict| *verdict == Verdict::Unended)),
        ])
        .filter(|(_, cases)| *cases > 0)
        .map(|(word, cases)| format!("{word} {cases}"))
        .collect();
    if !wrong.is_empty() {
        line.push_str(&format!("; wrong: {}", wrong.join(", ")));
    }
    line.push('\n');
    line
}

fn document(trial: &Trial, tried: &[Tried]) -> serde_json::Value {
    let cases: Vec<_> = tried
        .iter()
        .map(|tried| {
            let (verdict, wrong) = match &tried.verdict {
                Verdict::Right => ("right", Vec::new()),
                Verdict::Wrong(wrong) => ("wrong", wrong.clone()),
                Verdict::Silent => ("silent", Vec::new()),
                Verdict::Unended => ("unended", Vec::new()),
            };
            let wrong: Vec<_> = wrong
                .iter()
                .map(|m| json!({"what": m.what, "said": m.said, "truth": m.truth}))
                .collect();
            json!({
                "case": tried.case.name,
                "class": tried.case.class.word(),
                "verdict": verdict,
                "wrong": wrong,
            })
        })
        .collect();
    json!({
        "kind": "conformance",
        "command": trial.command,
        "tolerance_ms": trial.tolerance_ms,
        "right": tried.iter().filter(|tried| tried.verdict == Verdict::Right).count(),
        "of": tried.len(),
        "cases": cases,
    })
}
