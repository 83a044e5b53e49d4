//! Identities of runs: short, sorted by time, and safe as the name of a folder.

use crate::error::StoreError;

/// Longest run id, characters.
const ID_LENGTH_MAX: usize = 100;
const NS_PER_S: u64 = 1_000_000_000;
/// Number of parts of a second that three hexadecimal digits distinguish.
const PARTS_PER_S: u64 = 4096;
const S_PER_DAY: u64 = 86_400;

/// A run id such as `20261120-121427-7f3a`: UTC date and time of the start, then three hexadecimal
/// digits for the part of the second and one of chance, so that runs of one second differ and sort
/// too.
///
/// `unix_ns` is nanoseconds since 1970-01-01 UTC. Ids sort by time as text.
pub fn new_run_id(unix_ns: u64, random: u16) -> String {
    let seconds = unix_ns / NS_PER_S;
    let (year, month, day) = civil_date(seconds / S_PER_DAY);
    let of_day = seconds % S_PER_DAY;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let part = (unix_ns % NS_PER_S) * PARTS_PER_S / NS_PER_S;
    let chance = random & 0xf;
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}-{part:03x}{chance:x}")
}

/// Year, month and day of a day number since 1970-01-01, in the Gregorian calendar.
///
/// Counts from 0000-03-01 so that leap days end a year; 146 097 days make 400 years.
fn civil_date(days_since_1970: u64) -> (u64, u64, u64) {
    const DAYS_TO_1970: u64 = 719_468;
    const DAYS_PER_ERA: u64 = 146_097;
    let days = days_since_1970 + DAYS_TO_1970;
    let of_era = days % DAYS_PER_ERA;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = days / DAYS_PER_ERA * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

/// Checks that an id can be the name of a folder on any file system and in any shell.
pub(crate) fn check_run_id(id: &str) -> Result<(), StoreError> {
    let starts_well = id.chars().next().is_some_and(|first| first.is_ascii_alphanumeric());
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if starts_well && id.len() <= ID_LENGTH_MAX && id.chars().all(safe) {
        Ok(())
    } else {
        Err(StoreError::BadRunId { id: id.chars().take(ID_LENGTH_MAX).collect() })
    }
}

/// Whether `key` picks out `id`: the start of it, or the start of its last part.
pub(crate) fn matches_run_id(id: &str, key: &str) -> bool {
    !key.is_empty()
        && (id.starts_with(key) || id.rsplit('-').next().is_some_and(|last| last.starts_with(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_tell_the_utc_time() {
        let check = |unix_s: u64, expect: &str| {
            assert_eq!(new_run_id(unix_s * NS_PER_S + 999_999_999, 0x7f3a), expect);
        };
        check(0, "19700101-000000-fffa");
        check(951_782_400, "20000229-000000-fffa");
        check(951_868_799, "20000229-235959-fffa");
        check(951_868_800, "20000301-000000-fffa");
        check(1_795_176_867, "20261120-121427-fffa");
        check(4_107_542_399, "21000228-235959-fffa");
        check(4_107_542_400, "21000301-000000-fffa");
    }

    #[test]
    fn ids_sort_by_time_and_are_safe_names() {
        let mut former = String::new();
        for day in 0..40_000_u64 {
            let id = new_run_id(day * S_PER_DAY * NS_PER_S, (day % 7) as u16);
            assert!(id > former, "{id} after {former}");
            check_run_id(&id).unwrap();
            former = id;
        }
        // Milliseconds within a second sort as well, whatever the chance.
        let id = |ms: u64| new_run_id(ms * 1_000_000, (ms * 7919) as u16);
        assert!((0..2000).all(|ms| id(ms) < id(ms + 1)));
    }

    #[test]
    fn unsafe_names_are_refused() {
        for id in ["", ".", "..", "../x", "a/b", "a b", ".hidden", "-rf", "é", "a\0b"] {
            assert!(check_run_id(id).is_err(), "{id:?}");
        }
        assert!(check_run_id(&"a".repeat(101)).is_err());
        assert!(check_run_id(&"a".repeat(100)).is_ok());
    }

    #[test]
    fn a_key_matches_the_start_of_the_id_or_of_its_last_part() {
        let id = "20261120-121427-7f3a";
        for key in ["2026", "20261120-12", id, "7f3a", "7f"] {
            assert!(matches_run_id(id, key), "{key}");
        }
        for key in ["", "121427", "f3a", "20261121"] {
            assert!(!matches_run_id(id, key), "{key}");
        }
    }
}
