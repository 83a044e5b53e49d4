//! The meaning of files, each as a snapshot: files of tools without a real file at hand, and notes
//! that people write. The table in `README.md` of `tests/data/written` says why a file is there,
//! and what its snapshot has to show.
//!
//! After a change that is meant: `INSTA_UPDATE=always cargo test -p ifm-interop --test it -- meanings`,
//! then check what is new.

use super::{data, import};
use ifm_core::Sheet;
use ifm_interop::ImportError;
use serde::Serialize;
use std::fmt::Write;

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("JSON")
}

/// Everything that a sheet holds, a line for each figure; behind it the number in our own unit where
/// that is another.
fn told(read: Result<Sheet, ImportError>) -> String {
    let sheet = match read {
        Ok(sheet) => sheet,
        Err(error) => return format!("{error}\n{}", error.hints().join("\n")),
    };
    let mut text = format!("{}\n", json(&sheet.source));
    for mut part in sheet.parts {
        let rows = std::mem::take(&mut part.rows);
        writeln!(text, "{}", json(&part)).expect("a text");
        for mut row in rows {
            let figures = std::mem::take(&mut row.figures);
            writeln!(text, "  {}", json(&row)).expect("a text");
            for figure in figures {
                let own = figure.canonical().filter(|own| Some(*own) != figure.value);
                let own = own.map_or(String::new(), |own| format!(" = {own}"));
                writeln!(text, "    {}{own}", json(&figure)).expect("a text");
            }
        }
    }
    for remark in &sheet.remarks {
        writeln!(text, "{}", json(remark)).expect("a text");
    }
    text
}

#[test]
fn files_mean_what_their_snapshots_say() {
    let readme = std::fs::read_to_string(data("written/README.md")).expect("a table");
    for folder in ["notes", "written"] {
        let files = std::fs::read_dir(data(folder)).expect("a folder");
        for file in files {
            let name = file.expect("a file").file_name().into_string().expect("a name");
            if name == "README.md" {
                continue;
            }
            let row = readme.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
            assert!(row.is_some_and(|row| row.len() > name.len() + 20), "{name} without a reason");
            insta::with_settings!(
                { prepend_module_to_snapshot => false, omit_expression => true },
                { insta::assert_snapshot!(name.as_str(), told(import(&format!("{folder}/{name}")))); }
            );
        }
    }
}
