//! The flags of commands whose result is a page: the files to write, and what is in them.

use crate::exit::Failure;
use crate::output::{self, OwnFormats};
use crate::terminal;
use clap::Args;
use ifm_report::page::Page;
use ifm_report::plain;
use std::path::PathBuf;

/// The files that a result is written to.
#[derive(Debug, Clone, Default, Args)]
pub struct PageArgs {
    /// File to write: .html, .md, .json, .csv, .svg or .png; repeatable [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub out: Vec<PathBuf>,

    /// Name of the only chart to draw in .svg and .png files, such as ttft [default: all]
    ///
    /// The file name of a chart ends with its name. An unknown name lists all
    #[arg(long, value_name = "NAME", requires = "out")]
    pub chart: Option<String>,

    /// Title of the report [default: what was measured]
    #[arg(long)]
    pub title: Option<String>,
}

impl PageArgs {
    /// Checks, before anything is read, whether every file can be written.
    ///
    /// # Errors
    /// An extension of no known format, or a missing folder.
    pub fn check(&self) -> Result<(), Failure> {
        self.out.iter().try_for_each(|path| output::check_path(path))
    }

    /// A page with the requested title.
    pub fn titled(&self, page: Page) -> Page {
        let title = self.title.as_deref().map_or_else(|| page.title.clone(), plain);
        Page { title, ..page }
    }

    /// Writes the requested files, and prints their names. The page is made only if there are any.
    ///
    /// # Errors
    /// A file cannot be written, or the page has no such chart.
    pub fn write(
        &self,
        page: impl FnOnce() -> Result<Page, Failure>,
        own: &OwnFormats,
    ) -> Result<(), Failure> {
        if self.out.is_empty() {
            return Ok(());
        }
        let page = self.titled(page()?);
        for path in &self.out {
            let written = match &self.chart {
                Some(name) => output::write_chart(&page, name, path)?,
                None => output::write_result(&page, own, path)?,
            };
            written.iter().for_each(|path| terminal::say(&format!("wrote {}", path.display())));
        }
        Ok(())
    }
}
