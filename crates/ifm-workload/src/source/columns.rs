//! Which column of a file holds what.
//!
//! Not here: the list of meanings (`request`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::Row;
use crate::{
    error::WorkloadError,
    request::{COLUMNS, Column},
    value,
};

/// The columns of one data set: what is looked for, and under which names.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    mapping: BTreeMap<String, String>,
    /// Meanings of which at least one column must be there; each entry is a choice.
    needed: Vec<Vec<&'static Column>>,
    /// Whether a row is a whole document: all of its columns are read, and an object that is a file
    /// of its own is one row.
    whole: bool,
}

impl Columns {
    /// Columns with the user's mapping.
    ///
    /// # Errors
    /// [`WorkloadError::Shape`] for a meaning that does not exist.
    pub(crate) fn new(mapping: &BTreeMap<String, String>) -> Result<Self, WorkloadError> {
        for (name, to) in mapping {
            if find(name).is_none() {
                let names = COLUMNS.iter().map(|column| column.name).collect::<Vec<_>>();
                return Err(WorkloadError::Shape {
                    text: format!("{name}:{to}"),
                    reason: format!(
                        "a column can hold {}; '{name}' is none of them",
                        names.join(", ")
                    ),
                });
            }
        }
        Ok(Self { mapping: mapping.clone(), needed: Vec::new(), whole: false })
    }

    /// Takes whole documents as rows.
    pub(crate) fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// Whether a row is a whole document.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Asks that one of these meanings has a column.
    pub(crate) fn need(mut self, any_of: &[&str]) -> Self {
        self.needed.push(any_of.iter().filter_map(|name| find(name)).collect());
        self
    }

    /// Names under which a meaning is looked for.
    fn names(&self, column: &Column) -> Vec<&str> {
        match self.mapping.get(column.name) {
            Some(name) => vec![name.as_str()],
            None => column.defaults.to_vec(),
        }
    }

    /// Every name that could be looked for.
    pub(crate) fn wanted(&self) -> BTreeSet<&str> {
        let names = COLUMNS.iter().flat_map(|column| self.names(column));
        names.map(|name| name.split('.').next().unwrap_or(name)).collect()
    }

    /// The field of a row with a meaning; a mapped name may lead inwards with dots.
    pub(crate) fn get<'row>(
        &self,
        fields: &'row Map<String, Value>,
        name: &str,
    ) -> Option<&'row Value> {
        let column = find(name)?;
        let mut found = self.names(column).into_iter().filter_map(|name| lookup(fields, name));
        found.find(|value| !value.is_null())
    }

    /// The field of a row with a meaning.
    ///
    /// # Errors
    /// What to say of a row that lacks it.
    pub(crate) fn found<'row>(&self, row: &'row Row, name: &str) -> Result<&'row Value, String> {
        self.get(&row.fields, name).ok_or_else(|| self.missing(&[name], row))
    }

    /// The same as a text.
    ///
    /// # Errors
    /// What to say of a row that has none.
    pub(crate) fn text<'row>(&self, row: &'row Row, name: &str) -> Result<&'row str, String> {
        let text = self.get(&row.fields, name).and_then(value::text);
        text.ok_or_else(|| self.missing(&[name], row))
    }

    /// The same as a list.
    ///
    /// # Errors
    /// What to say of a row that has none.
    pub(crate) fn list<'row>(&self, row: &'row Row, name: &str) -> Result<&'row [Value], String> {
        let list = self.get(&row.fields, name).and_then(Value::as_array);
        list.map(Vec::as_slice).ok_or_else(|| self.missing(&[name], row))
    }

    /// The same as a number of tokens.
    ///
    /// # Errors
    /// What to say of a row that has none.
    pub(crate) fn tokens(&self, row: &Row, name: &str) -> Result<u32, String> {
        let tokens = value::tokens(self.found(row, name)?);
        tokens.ok_or_else(|| format!("'{name}' is not a number of tokens"))
    }

    /// Whether the user said where this meaning stands.
    pub(crate) fn is_mapped(&self, name: &str) -> bool {
        self.mapping.contains_key(name)
    }

    /// What to say of a row that lacks a column.
    pub(crate) fn missing(&self, any_of: &[&str], row: &Row) -> String {
        let there = row.fields.keys().map(String::as_str).collect::<Vec<_>>();
        let columns = any_of.iter().filter_map(|name| find(name)).collect::<Vec<_>>();
        self.lack(&columns, &there)
    }

    fn lack(&self, columns: &[&Column], there: &[&str]) -> String {
        let names = columns.iter().flat_map(|column| self.names(column)).collect::<Vec<_>>();
        let meanings = columns.iter().map(|column| column.name).collect::<Vec<_>>();
        let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
        format!(
            "no column for {} (looked for {}); there is {there}; map one, as in {}:NAME",
            meanings.join(" or "),
            names.join(", "),
            meanings.first().unwrap_or(&"prompt"),
        )
    }

    /// Checks that a header has what is needed.
    ///
    /// # Errors
    /// [`WorkloadError::File`] that names the columns that there are.
    pub(crate) fn check_header(&self, file: &str, header: &[String]) -> Result<(), WorkloadError> {
        for choice in &self.needed {
            let mut names = choice.iter().flat_map(|column| self.names(column));
            if !names.any(|name| header.iter().any(|there| there == name)) {
                let there = header.iter().map(String::as_str).collect::<Vec<_>>();
                let reason = self.lack(choice, &there);
                return Err(WorkloadError::File { file: file.to_owned(), reason });
            }
        }
        Ok(())
    }
}

fn find(name: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.name == name)
}

fn lookup<'row>(fields: &'row Map<String, Value>, name: &str) -> Option<&'row Value> {
    if let Some(value) = fields.get(name) {
        return Some(value);
    }
    let mut parts = name.split('.');
    let first = fields.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}
