//! `--push URL`: the destination of results.

use crate::cli::args::resolve::headers;
use crate::exit::Failure;
use crate::push::{Target, authorization};
use clap::Args;
use ifm_probe::url::checked;

/// Flags for sending results.
#[derive(Debug, Args)]
pub struct PushArgs {
    /// Send the results to a server: otlp, openmetrics or mlflow
    ///
    /// otlp is a collector, openmetrics a Pushgateway or Prometheus's remote write, mlflow a
    /// tracking server
    #[arg(long, value_name = "URL")]
    pub push: Option<String>,

    /// Environment variable that contains the server's key: a token, or user:password
    #[arg(long, value_name = "NAME", requires = "push")]
    pub push_key_env: Option<String>,

    /// Extra header for --push, "name: value"; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER", requires = "push")]
    pub headers: Vec<String>,

    /// Do not verify the certificate of --push's server
    #[arg(long, requires = "push")]
    pub insecure: bool,
}

impl PushArgs {
    /// The named server, if any.
    ///
    /// # Errors
    /// The URL, a header or the key cannot be read.
    pub fn target(&self, example: &str) -> Result<Option<Target>, Failure> {
        let Some(typed) = &self.push else { return Ok(None) };
        let uri = checked(typed, example)?;
        let authorization = self.push_key_env.as_deref().map(authorization).transpose()?;
        Ok(Some(Target::new(uri, authorization, headers(&self.headers)?, self.insecure)))
    }
}
