//! Lists of concurrency levels: `1,2,8`, `1..32` (doubling), `4..16:4` (adding).

/// Maximum number of levels in a sweep.
const LEVELS_MAX: usize = 100;
/// Maximum concurrency of a level.
pub const CONCURRENCY_MAX: u32 = 65_535;

/// Reads a list of levels in the order written.
///
/// # Errors
/// A sentence on the part that cannot be read.
pub fn parse(text: &str) -> Result<Vec<u32>, String> {
    let mut levels = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.split_once("..") {
            None => levels.push(level(part)?),
            Some((low, rest)) => {
                let (high, step) = match rest.split_once(':') {
                    Some((high, step)) => (high, Some(level(step)?)),
                    None => (rest, None),
                };
                let (low, high) = (level(low)?, level(high)?);
                if low > high {
                    return Err(format!("\"{part}\" runs downwards"));
                }
                let mut next = low;
                while next < high && levels.len() <= LEVELS_MAX {
                    levels.push(next);
                    next = step.map_or(next * 2, |step| next + step);
                }
                if next == high || step.is_none() {
                    levels.push(high);
                }
            }
        }
    }
    match levels.len() {
        0..=LEVELS_MAX => Ok(levels),
        _ => Err(format!("more than {LEVELS_MAX} levels")),
    }
}

/// Reads one level.
///
/// # Errors
/// A sentence on what is expected.
pub fn level(text: &str) -> Result<u32, String> {
    match text.trim().parse::<u32>() {
        Ok(level) if (1..=CONCURRENCY_MAX).contains(&level) => Ok(level),
        _ if text.contains(',') || text.contains("..") => {
            Err(format!("\"{text}\" is not one number of users; sweep takes several levels"))
        }
        _ if text.split('-').filter(|end| end.parse::<u32>().is_ok()).count() == 2 => {
            Err(format!("\"{text}\": a range is written 1..8, a list 1,2,4"))
        }
        _ => Err(format!("\"{text}\" is not a number of users between 1 and {CONCURRENCY_MAX}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges() {
        for (text, expect) in [
            ("4", vec![4]),
            ("1, 2,8", vec![1, 2, 8]),
            ("1..8", vec![1, 2, 4, 8]),
            ("1..6", vec![1, 2, 4, 6]),
            ("4..12:4", vec![4, 8, 12]),
            ("1..4,16", vec![1, 2, 4, 16]),
            ("3..3", vec![3]),
        ] {
            assert_eq!(parse(text), Ok(expect), "{text}");
        }
        for text in ["", "0", "x", "8..1", "1..", "1..2:0", "1..65535:1", "70000"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
