//! The order of a plan's cells.
//!
//! Servers are slow to start, so the cells of one server stay together within a repeat, whatever the
//! order. What drifts with time (temperature, neighbours) falls on all cells alike only where the
//! repeats are the outermost loop.

use crate::cell::{Cell, CellLoad, digest};
use crate::spec::{Order, Plan};
use ifm_core::order::Order as _;

/// Digits that two draws hardly share.
const DRAW_DIGITS: usize = 16;

/// Sorts the cells, which come in the order of the file with repeats innermost.
pub(crate) fn sort(plan: &Plan, cells: &mut [Cell]) {
    let seed = plan.head.seed;
    match plan.head.order {
        Order::Blocked => cells.order_by_key(|cell| position(plan, cell)),
        Order::Interleaved => {
            cells.order_by_key(|cell| (cell.repeat, position(plan, cell)));
        }
        Order::Shuffled => cells.order_by_key(|cell| {
            let draw = |what: &str| digest(&format!("{seed} {} {what}", cell.repeat), DRAW_DIGITS);
            (cell.repeat, draw(&cell.instance(plan)), draw(&cell.key))
        }),
    }
}

/// The positions of a cell's server, its parameters and its conditions in the file: what takes
/// longest to change moves slowest. The sort is stable, so workloads, loads and repeats stay.
fn position(plan: &Plan, cell: &Cell) -> Vec<usize> {
    let at = |list: &[String], value: &String| list.iter().position(|one| one == value);
    let server = cell.server.and_then(|index| plan.servers.get(index));
    let mut place = vec![cell.server.map_or(0, |index| index + 1)];
    for (name, value) in &cell.parameters {
        let lists = server.into_iter().flat_map(|server| &server.parameters);
        let list = lists.into_iter().find(|(other, _)| other == name);
        place.push(list.and_then(|(_, list)| at(list, value)).unwrap_or(0));
    }
    // Start-up cells form a group of their own: no running server can be kept between them.
    place.push(usize::from(matches!(cell.what, CellLoad::StartUp { .. })));
    let conditions = plan.conditions.iter().zip(&cell.conditions);
    let (slow, quick): (Vec<_>, Vec<_>) = conditions.partition(|(condition, _)| condition.restart);
    for (condition, value) in slow.into_iter().chain(quick) {
        place.push(at(&condition.values, value).unwrap_or(0));
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cells, groups};

    fn plan(order: &str) -> (Plan, Vec<Cell>) {
        let text = format!(
            "[plan]\nname = \"p\"\nrepeats = 3\norder = \"{order}\"\n\
             [[server]]\nname = \"a\"\nkind = \"embedded\"\nparameters = {{ t = [1, 2] }}\n\
             [[server]]\nname = \"b\"\nkind = \"embedded\"\n\
             [[workload]]\nworkload = \"8/8\"\n[[load]]\nusers = [1, 2]\n"
        );
        let plan = Plan::parse(&text).unwrap();
        let cells = cells(&plan).unwrap();
        (plan, cells)
    }

    #[test]
    fn blocked_starts_each_server_once_and_the_others_once_for_each_repeat() {
        for (order, starts) in [("blocked", 3), ("interleaved", 9), ("shuffled", 9)] {
            let (plan, cells) = plan(order);
            assert_eq!((groups(&plan, &cells).len(), cells.len()), (starts, 18), "{order}");
        }
    }

    #[test]
    fn interleaved_measures_all_once_before_any_twice_and_a_seed_shuffles() {
        let (_, interleaved) = plan("interleaved");
        let repeats: Vec<u32> = interleaved.iter().map(|cell| cell.repeat).collect();
        assert!(repeats.is_sorted());
        let (plan, shuffled) = plan("shuffled");
        assert!(shuffled.iter().map(|cell| cell.repeat).is_sorted());
        let keys = |cells: &[Cell]| cells.iter().map(|cell| cell.key.clone()).collect::<Vec<_>>();
        assert_ne!(keys(&interleaved), keys(&shuffled));
        assert_eq!(keys(&shuffled), keys(&cells(&plan).unwrap()));
    }
}
