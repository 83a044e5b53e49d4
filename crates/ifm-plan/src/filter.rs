//! Which cells a plan's `include` and `exclude` leave.

use crate::cell::Cell;
use crate::spec::{Plan, PlanError, one_or_many};
use toml::Table;

/// One filter: for each factor the values that match.
type Filter = Vec<(String, Vec<String>)>;

/// All filters of a plan.
pub(crate) struct Filters {
    include: Vec<Filter>,
    exclude: Vec<Filter>,
}

impl Filters {
    /// Reads them.
    ///
    /// # Errors
    /// An invalid value.
    pub(crate) fn of(plan: &Plan) -> Result<Filters, PlanError> {
        let read = |tables: &[Table], place: &str| {
            let filter = |table: &Table| {
                let factor = |(name, value): (&String, &toml::Value)| {
                    let values = one_or_many(value);
                    values.map(|values| (name.clone(), values)).map_err(|sentence| {
                        PlanError::Meaning { place: format!("[[{place}]] {name}"), sentence }
                    })
                };
                table.iter().map(factor).collect::<Result<Filter, _>>()
            };
            tables.iter().map(filter).collect::<Result<Vec<_>, _>>()
        };
        Ok(Filters {
            include: read(&plan.include, "include")?,
            exclude: read(&plan.exclude, "exclude")?,
        })
    }

    /// Whether a cell of these factors stays.
    pub(crate) fn keep(&self, factors: &[(String, String)]) -> bool {
        let matches = |filter: &Filter| {
            filter.iter().all(|(name, values)| {
                factors.iter().any(|(factor, value)| factor == name && values.contains(value))
            })
        };
        (self.include.is_empty() || self.include.iter().any(matches))
            && !self.exclude.iter().any(matches)
    }

    /// Checks that each filter speaks of factors that there are, and that something is left.
    ///
    /// # Errors
    /// A name that no factor has, or a plan without cells.
    pub(crate) fn check(&self, plan: &Plan, cells: &[Cell]) -> Result<(), PlanError> {
        let mut known: Vec<String> = ["server", "workload", "users", "rate", "load", "start"]
            .map(str::to_owned)
            .into_iter()
            .chain(plan.conditions.iter().map(|condition| condition.name.clone()))
            .collect();
        for server in &plan.servers {
            known.extend(server.parameters.iter().map(|(name, _)| name.clone()));
        }
        let wrong = |place: &str, sentence: String| {
            Err(PlanError::Meaning { place: place.to_owned(), sentence })
        };
        for (place, filters) in [("[[include]]", &self.include), ("[[exclude]]", &self.exclude)] {
            let names = filters.iter().flatten().map(|(name, _)| name);
            if let Some(name) = names.into_iter().find(|name| !known.contains(name)) {
                let sentence =
                    format!("this plan has no factor {name}; its factors are {}", known.join(", "));
                return wrong(place, sentence);
            }
        }
        match cells.is_empty() {
            true if self.include.is_empty() => wrong("plan", "no cell is left".to_owned()),
            true => wrong("[[include]]", "matches no cell".to_owned()),
            false => Ok(()),
        }
    }
}
