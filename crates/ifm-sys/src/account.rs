//! What the kernel's scheduler accounts for the threads of a process: time on processors, time in
//! which they could run and did not, and how often they were put aside.

use std::collections::BTreeMap;
use std::fs;

/// The account of one thread since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// On a processor, nanoseconds.
    pub cpu_ns: u64,
    /// Able to run, without a processor, nanoseconds.
    pub waited_ns: u64,
    /// Times that another was run in its place, though it could have gone on.
    pub put_aside: u64,
}

impl Account {
    /// What was added since an earlier look.
    pub fn since(self, earlier: Account) -> Account {
        Account {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
            put_aside: self.put_aside.saturating_sub(earlier.put_aside),
        }
    }
}

/// The accounts of all threads of a process, by their numbers; empty where the kernel keeps none.
pub fn of_threads(process: u32) -> BTreeMap<u32, Account> {
    let folder = format!("/proc/{process}/task");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let id: u32 = entry.file_name().to_str()?.parse().ok()?;
            let path = entry.path();
            let times = fs::read_to_string(path.join("schedstat")).ok()?;
            let status = fs::read_to_string(path.join("status")).unwrap_or_default();
            Some((id, parse(&times, &status)?))
        })
        .collect()
}

/// `schedstat`: nanoseconds on a processor, nanoseconds waiting for one, turns.
fn parse(times: &str, status: &str) -> Option<Account> {
    let mut numbers = times.split_whitespace().map_while(|word| word.parse().ok());
    let (cpu_ns, waited_ns) = (numbers.next()?, numbers.next()?);
    let put_aside = status
        .lines()
        .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or_default();
    Some(Account { cpu_ns, waited_ns, put_aside })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t9\nnonvoluntary_ctxt_switches:\t4\n";
        let account = Account { cpu_ns: 500, waited_ns: 20, put_aside: 4 };
        assert_eq!(parse("500 20 3\n", status), Some(account));
        assert_eq!(parse("500", status), None);
        let later = Account { cpu_ns: 700, waited_ns: 25, put_aside: 4 };
        assert_eq!(later.since(account), Account { cpu_ns: 200, waited_ns: 5, put_aside: 0 });
    }

    #[test]
    fn this_process_has_threads() {
        let own = of_threads(std::process::id());
        assert!(own.values().any(|account| account.cpu_ns > 0), "{own:?}");
        assert!(of_threads(u32::MAX).is_empty());
    }
}
