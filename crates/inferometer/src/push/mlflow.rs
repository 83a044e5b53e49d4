//! Sends runs to an MLflow tracking server, by its REST API, with the report as an artifact.

use super::target::{Parcel, Reply};
use super::{Push, Results, Target, nothing, number};
use crate::exit::Failure;
use crate::terminal;
use ifm_interop::export::mlflow::{Tracked, tracked};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

pub(super) const PUSH: Push =
    Push { format: "mlflow", example: "http://localhost:5000", has_report: true, send };

/// The API's version, at the start of its paths.
const API: &str = "/api/2.0/mlflow";
/// Path for artifacts, if the server accepts them.
const ARTIFACTS: &str = "/api/2.0/mlflow-artifacts/artifacts";
/// Prefix of locations for artifacts that the server itself stores.
const KEPT_BY_SERVER: &str = "mlflow-artifacts:";
/// MLflow's own variable for the experiment, and inferometer's name if it is not set.
const EXPERIMENT_VARIABLE: &str = "MLFLOW_EXPERIMENT_NAME";
const EXPERIMENT: &str = "inferometer";
/// Maximum number of metrics and parameters per request.
const METRICS_MAX: usize = 1000;
const PARAMS_MAX: usize = 100;
const WANTED: &str = "check that the URL is that of an MLflow tracking server (usually port 5000)";

fn send(target: &Target, results: &Results) -> Result<String, Failure> {
    let run = tracked(&results.sheet, results.run.as_ref());
    let run = run.ok_or_else(|| nothing(results, "measured row"))?;
    let sender = Sender { target, at_ms: now_ms(), experiment: experiment(target)? };
    let (id, uri) = sender.run(&run, None)?;
    for child in &run.children {
        sender.run(child, Some(&id))?;
    }
    let has_report = match &results.report {
        Some(page) => sender.artifact(&uri, "report.html", "text/html", page.as_bytes())?,
        None => false,
    };
    let metrics = run.metrics.len() + run.children.iter().map(|it| it.metrics.len()).sum::<usize>();
    let report = if has_report { " and the report" } else { "" };
    Ok(format!(
        "{} with {}{report} in experiment {}",
        number(1 + run.children.len(), "run"),
        number(metrics, "metric"),
        sender.experiment,
    ))
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// The ID of the experiment of that name, which is created if it does not exist.
fn experiment(target: &Target) -> Result<String, Failure> {
    let name = std::env::var(EXPERIMENT_VARIABLE).ok().filter(|name| !name.trim().is_empty());
    let name = name.unwrap_or_else(|| EXPERIMENT.to_owned());
    let query: String = form_urlencoded::Serializer::new(String::new())
        .append_pair("experiment_name", &name)
        .finish();
    let url = target.below(&format!("{API}/experiments/get-by-name"));
    let url = format!("{url}{}{query}", if url.contains('?') { '&' } else { '?' });
    let parcel = Parcel { method: "GET", media: "", body: &[], headers: &[] };
    let reply = target.ask(&url, parcel, WANTED)?;
    let found = reply.json();
    if let (true, Some(id)) = (reply.is_ok(), found["experiment"]["experiment_id"].as_str()) {
        return Ok(id.to_owned());
    }
    if found["error_code"] != "RESOURCE_DOES_NOT_EXIST" {
        return Err(not_mlflow(target, &url, &reply));
    }
    let url = target.below(&format!("{API}/experiments/create"));
    let made = post(target, &url, &json!({"name": name}))?;
    id_of(&made["experiment_id"], &url)
}

/// A server that does not know the path of the API, or answers it with something else.
fn not_mlflow(target: &Target, url: &str, reply: &Reply) -> Failure {
    match reply.is_ok() {
        true => Failure::server("the server there is not an MLflow tracking server").hint(WANTED),
        false => target.refused(url, reply, WANTED),
    }
}

fn post(target: &Target, url: &str, body: &Value) -> Result<Value, Failure> {
    let text = body.to_string();
    let parcel =
        Parcel { method: "POST", media: "application/json", body: text.as_bytes(), headers: &[] };
    Ok(target.send(url, parcel, WANTED)?.json())
}

fn id_of(value: &Value, url: &str) -> Result<String, Failure> {
    let id = value.as_str().map(str::to_owned);
    let shown = url.split('?').next().unwrap_or(url);
    id.ok_or_else(|| Failure::server(format!("{shown} answered without an id")).hint(WANTED))
}

struct Sender<'target> {
    target: &'target Target,
    experiment: String,
    /// Substitute for times that results lack, milliseconds since 1970.
    at_ms: u64,
}

impl Sender<'_> {
    /// Creates a run with all its content, and ends it. Returns its ID and the location of its
    /// artifacts.
    fn run(&self, run: &Tracked, parent: Option<&str>) -> Result<(String, String), Failure> {
        let url = self.target.below(&format!("{API}/runs/create"));
        let made = post(self.target, &url, &run.create(&self.experiment, parent, self.at_ms))?;
        let id = id_of(&made["run"]["info"]["run_id"], &url)?;
        let uri = made["run"]["info"]["artifact_uri"].as_str().unwrap_or_default().to_owned();
        for params in run.params().chunks(PARAMS_MAX) {
            self.batch(&json!({"run_id": id, "params": params}))?;
        }
        for metrics in run.metrics(self.at_ms).chunks(METRICS_MAX) {
            self.batch(&json!({"run_id": id, "metrics": metrics}))?;
        }
        let url = self.target.below(&format!("{API}/runs/update"));
        post(self.target, &url, &run.end(&id, self.at_ms))?;
        Ok((id, uri))
    }

    fn batch(&self, body: &Value) -> Result<(), Failure> {
        post(self.target, &self.target.below(&format!("{API}/runs/log-batch")), body).map(drop)
    }

    /// Stores a file with a run, if the server stores such files: others keep them in a location that
    /// needs its own key.
    fn artifact(
        &self,
        uri: &str,
        name: &str,
        media: &'static str,
        body: &[u8],
    ) -> Result<bool, Failure> {
        let Some(place) = uri.strip_prefix(KEPT_BY_SERVER) else {
            terminal::warn(
                "the report was not sent: the tracking server leaves artefacts to its clients \
                 (it serves them itself with --serve-artifacts)",
            );
            return Ok(false);
        };
        let url = self.target.below(&format!("{ARTIFACTS}/{}/{name}", place.trim_matches('/')));
        let parcel = Parcel { method: "PUT", media, body, headers: &[] };
        self.target.send(&url, parcel, WANTED)?;
        Ok(true)
    }
}
