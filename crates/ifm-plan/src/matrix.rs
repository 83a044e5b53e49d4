//! The matrix of a plan: every combination of server, parameters, conditions, workload, load and
//! repeat that its filters leave, in order, and where servers are restarted.

use crate::cell::{Cell, CellLoad, KEY_DIGITS, digest};
use crate::filter::Filters;
use crate::order;
use crate::spec::{Plan, PlanError};
use std::collections::HashSet;
use std::ops::Range;

/// Maximum number of cells in a plan.
const CELLS_MAX: usize = 100_000;
/// Maximum number of combinations before the filters of a plan, each KiB of their texts counted as one more.
const COMBINATIONS_MAX: usize = 250_000;

/// Neighbouring cells that share one start of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Positions of its cells.
    pub cells: Range<usize>,
}

/// The cells of a plan in the order in which they run.
///
/// # Errors
/// A filter that names no factor, a plan whose filters leave nothing, or one of too many cells.
pub fn cells(plan: &Plan) -> Result<Vec<Cell>, PlanError> {
    let filters = Filters::of(plan)?;
    let all = (0..plan.loads.len()).map(|load| count_of_load(plan, load));
    if all.fold(0, usize::saturating_add) > COMBINATIONS_MAX {
        return Err(PlanError::Meaning {
            place: "plan".to_owned(),
            sentence: format!(
                "more than {COMBINATIONS_MAX} combinations; hint: list fewer values or lower repeats"
            ),
        });
    }
    let mut cells = Vec::new();
    for load in 0..plan.loads.len() {
        for bare in of_load(plan, load) {
            for repeat in 1..=plan.head.repeats {
                let mut cell = Cell { repeat, ..bare.clone() };
                if filters.keep(&cell.factors(plan)) {
                    cell.key = digest(&cell.setting(plan), KEY_DIGITS);
                    cells.push(cell);
                }
                if cells.len() > CELLS_MAX {
                    return Err(PlanError::Meaning {
                        place: "plan".to_owned(),
                        sentence: format!("more than {CELLS_MAX} cells"),
                    });
                }
            }
        }
    }
    filters.check(plan, &cells)?;
    check_keys(plan, &cells)?;
    order::sort(plan, &mut cells);
    Ok(cells)
}

/// Checks that no two cells are equal: their results would share one key, and one would count as measured when the
/// other is.
fn check_keys(plan: &Plan, cells: &[Cell]) -> Result<(), PlanError> {
    let mut keys = HashSet::new();
    match cells.iter().find(|cell| !keys.insert(cell.key.as_str())) {
        None => Ok(()),
        Some(cell) => Err(PlanError::Meaning {
            place: "plan".to_owned(),
            sentence: format!(
                "the cell \"{}\" occurs twice; hint: list each value once, and use repeats to measure again",
                cell.label(plan)
            ),
        }),
    }
}

/// Number of combinations of a load with its repeats, each KiB of their texts counted as one more: what `of_load`
/// would take memory for.
fn count_of_load(plan: &Plan, index: usize) -> usize {
    let Some(load) = plan.loads.get(index) else { return 0 };
    let number = |values: &Option<Vec<String>>| values.as_ref().map_or(0, Vec::len);
    let whats = [&load.users, &load.rates, &load.start_up].map(number).iter().sum::<usize>();
    let others = [load.sweep.is_some(), load.capacity.is_some(), load.exec.is_some()];
    let whats = whats + others.iter().filter(|is_there| **is_there).count();
    let longest = |values: &[String]| values.iter().map(String::len).max().unwrap_or(0);
    // Choices, and bytes of one: each list multiplies the choices and adds to their length.
    let add = |(choices, bytes): (usize, usize), name: usize, values: &[String]| {
        (choices.saturating_mul(values.len()), bytes + name + longest(values) + 64)
    };
    let conditions =
        plan.conditions.iter().fold((1, 0), |all, condition| add(all, 0, &condition.values));
    let of_parameters = |parameters: &[(String, Vec<String>)]| {
        let (choices, bytes) =
            parameters.iter().fold(conditions, |all, (name, values)| add(all, name.len(), values));
        choices.saturating_mul(1 + bytes / 1024)
    };
    let choices = match load.exec {
        Some(_) => of_parameters(&[]),
        None => {
            let servers = plan.servers.iter().map(|server| of_parameters(&server.parameters));
            servers.fold(0, usize::saturating_add)
        }
    };
    choices
        .saturating_mul(plan.workloads.len().max(1))
        .saturating_mul(whats)
        .saturating_mul(plan.head.repeats as usize)
}

/// Every cell of a load, without key and repeat.
fn of_load(plan: &Plan, index: usize) -> Vec<Cell> {
    let Some(load) = plan.loads.get(index) else { return Vec::new() };
    let all = |values: &Option<Vec<String>>, as_load: fn(String) -> CellLoad| {
        values.iter().flatten().cloned().map(as_load).collect::<Vec<_>>()
    };
    let mut whats = all(&load.users, CellLoad::Users);
    whats.extend(all(&load.rates, CellLoad::Rate));
    whats.extend(load.sweep.iter().cloned().map(CellLoad::Sweep));
    whats.extend(load.capacity.iter().cloned().map(CellLoad::Capacity));
    whats.extend(all(&load.start_up, |state| CellLoad::StartUp { cold: state == "cold" }));
    whats.extend(load.exec.iter().map(|_| CellLoad::Exec));
    let is_command = load.exec.is_some();
    let has_workload = !is_command && load.start_up.is_none();
    let servers: Vec<Option<usize>> = match is_command {
        true => vec![None],
        false => (0..plan.servers.len()).map(Some).collect(),
    };
    let workloads: Vec<Option<usize>> = match has_workload {
        true => (0..plan.workloads.len()).map(Some).collect(),
        false => vec![None],
    };
    let values: Vec<Vec<String>> = plan.conditions.iter().map(|c| c.values.clone()).collect();
    let mut cells = Vec::new();
    for server in servers {
        let of_server = server.and_then(|index| plan.servers.get(index));
        if load.start_up.is_some() && of_server.is_none_or(|server| server.kind.is_none()) {
            continue;
        }
        let parameters: &[(String, Vec<String>)] =
            of_server.map_or(&[], |server| &server.parameters);
        let lists: Vec<Vec<String>> = parameters.iter().map(|(_, list)| list.clone()).collect();
        for chosen in combinations(&lists) {
            let names = parameters.iter().map(|(name, _)| name.clone());
            let parameters: Vec<(String, String)> = names.zip(chosen).collect();
            for conditions in combinations(&values) {
                for &workload in &workloads {
                    cells.extend(whats.iter().map(|what| Cell {
                        key: String::new(),
                        server,
                        parameters: parameters.clone(),
                        conditions: conditions.clone(),
                        workload,
                        load: index,
                        what: what.clone(),
                        repeat: 1,
                    }));
                }
            }
        }
    }
    cells
}

/// Every choice of one value of each list, the last list fastest.
fn combinations(lists: &[Vec<String>]) -> Vec<Vec<String>> {
    lists.iter().fold(vec![Vec::new()], |chosen, list| {
        let longer = |head: &Vec<String>| {
            let head = head.clone();
            list.iter().map(move |value| [head.as_slice(), std::slice::from_ref(value)].concat())
        };
        chosen.iter().flat_map(longer).collect()
    })
}

/// Where the server is restarted: ranges of neighboring cells that share one start.
pub fn groups(plan: &Plan, cells: &[Cell]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut last = None;
    for (index, cell) in cells.iter().enumerate() {
        let instance = cell.instance(plan);
        match groups.last_mut() {
            Some(group) if last.as_ref() == Some(&instance) => group.cells.end = index + 1,
            _ => groups.push(Group { cells: index..index + 1 }),
        }
        last = Some(instance);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"
        [plan]
        name = "p"
        repeats = 2
        [[server]]
        name = "v"
        kind = "vllm"
        model = "m"
        parameters = { max-num-seqs = [64, 256], enforce-eager = true }
        [[server]]
        name = "here"
        url = "http://127.0.0.1:8000"
        [[workload]]
        workload = "128/32"
        [[load]]
        users = [1, 8]
        requests = 10
        [[load]]
        start-up = ["warm"]
        [[condition]]
        name = "power"
        set = "power-limit"
        values = [600, 300]
    "#;

    fn of(text: &str) -> (Plan, Vec<Cell>) {
        let plan = Plan::parse(text).unwrap();
        let cells = cells(&plan).unwrap();
        (plan, cells)
    }

    #[test]
    fn rejects_values_that_occur_twice() {
        let plan = |users: &str, values: &str| {
            let text = format!(
                "[plan]\nname = \"p\"\n[[server]]\nname = \"a\"\nurl = \"http://h\"\n[[workload]]\n\
                 workload = \"8/4\"\n[[load]]\nusers = {users}\nrequests = 2\n[[condition]]\nname = \"c\"\n\
                 set = \"power-limit\"\nvalues = {values}\n"
            );
            cells(&Plan::parse(&text).unwrap())
        };
        assert_eq!(plan("[1, 2]", "[300, 400]").unwrap().len(), 4);
        for (users, values) in [("[1, 1]", "[300]"), ("[1]", "[300, 400, 300]")] {
            let error = plan(users, values).unwrap_err().to_string();
            assert!(error.contains("occurs twice"), "{error}");
        }
    }

    #[test]
    fn cells_are_all_combinations_each_with_a_key_of_its_own() {
        let (plan, cells) = of(PLAN);
        // (2 parameters + 1) servers x 2 conditions x 2 loads x 2 repeats, and 2 x 2 x 2 starts.
        assert_eq!(cells.len(), 24 + 8);
        let keys: std::collections::BTreeSet<&str> = cells.iter().map(|c| c.key.as_str()).collect();
        assert_eq!(keys.len(), cells.len());
        let first = cells.first().unwrap();
        let label = "v, max-num-seqs 64, power 600, 1 user, repeat 1";
        assert_eq!(first.label(&plan), label);
        // Every start is a group; the server that runs already is one.
        assert_eq!(groups(&plan, &cells).len(), 2 + 8 + 1);
    }

    #[test]
    fn a_plan_that_grows_keeps_the_keys_of_its_cells() {
        let (_, before) = of(PLAN);
        let (_, after) =
            of(&PLAN.replace("[64, 256]", "[64, 128, 256]").replace("[1, 8]", "[1, 4, 8]"));
        assert!(before.iter().all(|cell| after.iter().any(|other| other.key == cell.key)));
        let (_, other) = of(&PLAN.replace("requests = 10", "requests = 20"));
        let kept = before.iter().filter(|cell| other.iter().any(|o| o.key == cell.key)).count();
        assert_eq!(kept, 8, "only the starts are the same");
    }

    #[test]
    fn filters_leave_what_they_name() {
        let filters = "\n[[exclude]]\nserver = \"v\"\nusers = 8\n[[include]]\npower = 600\n";
        let (plan, cells) = of(&format!("{PLAN}{filters}"));
        assert!(cells.iter().all(|cell| cell.conditions == ["600"]));
        let of_v = |cell: &&Cell| cell.factors(&plan).contains(&("server".into(), "v".into()));
        assert!(cells.iter().filter(of_v).all(|cell| cell.what != CellLoad::Users("8".into())));
        for (filter, expect) in [
            ("[[exclude]]\nsevrer = \"v\"", "this plan has no factor sevrer"),
            ("[[include]]\nserver = \"w\"", "matches no cell"),
            ("[[exclude]]\nrepeat = 1", "this plan has no factor repeat"),
        ] {
            let error = super::cells(&Plan::parse(&format!("{PLAN}\n{filter}")).unwrap());
            assert!(error.as_ref().is_err_and(|e| e.to_string().contains(expect)), "{error:?}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_named_with_its_place() {
        let head = "[plan]\nname = \"p\"\n";
        for (rest, expect) in [
            ("[[load]]\nusers = 1", "[[load]] 1: a load needs a [[server]]"),
            ("[[load]]\nusers = 0\n[[server]]\nname=\"a\"\nurl=\"u\"", "whole numbers above 0"),
            ("[[load]]\nexec = [\"x\"]\nusers = 1", "exactly one of"),
            ("[[load]]\nuser = 1", "line 4"),
            ("[[server]]\nname = \"a\"\n[[load]]\nexec=[\"x\"]", "[[server]] a: give a url"),
            ("[[load]]\nexec=[\"x\"]\n[[condition]]\nname=\"c\"\nvalues=[1]", "give before"),
            ("money = 3\n[[load]]\nexec=[\"x\"]", "money needs a price"),
        ] {
            let error = Plan::parse(&format!("{head}{rest}")).unwrap_err().to_string();
            assert!(error.contains(expect), "{rest}: {error}");
        }
    }
}
