//! The server's clock compared with the client's, from the `Date` of every answer.
//!
//! An answer's `Date` is the second in which it was written, which was between the sending of the
//! request and the receipt of the answer. Each answer bounds the difference of the clocks. Several
//! answers, written at different parts of a second, give tighter bounds.

use super::noted::SECOND_NS;
use super::{Finding, Grade, Inquiry, Section};

/// Minimum difference to mention, nanoseconds.
const NOTED_NS: i64 = 2 * SECOND_NS;

/// All bounds combined; if they contradict each other, only the first.
fn together(bounds: &[(i64, i64)]) -> Option<(i64, i64)> {
    let least = bounds.iter().map(|bound| bound.0).max()?;
    let most = bounds.iter().map(|bound| bound.1).min()?;
    if least <= most { Some((least, most)) } else { bounds.first().copied() }
}

/// Reports the difference of the clocks.
pub fn ask(inquiry: &mut Inquiry) -> Vec<Finding> {
    let id = (Section::Line, "clock");
    let Some((least, most)) = together(&inquiry.clock_bounds) else {
        return vec![Finding::unknown(id, "no answer had a Date")];
    };
    let seconds = |ns: i64| ns as f64 / SECOND_NS as f64;
    let how =
        format!("Date of {} answers compared with the client's clock", inquiry.clock_bounds.len());
    let value = serde_json::json!({"least_s": seconds(least), "most_s": seconds(most)});
    let finding = if most < -NOTED_NS || least > NOTED_NS {
        let (off, way) = if most < 0 { (-most, "behind") } else { (least, "ahead of") };
        let text = format!("at least {:.1} s {way} the client's", seconds(off));
        Finding::known(id, Grade::Note, value, text).means(
            "times in the server's log differ from the run's; the run itself does not use them",
        )
    } else {
        let text = format!("{:+.1} to {:+.1} s from the client's", seconds(least), seconds(most));
        Finding::known(id, Grade::Good, value, text)
    };
    vec![finding.how(how)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_answers_bound_the_difference_more_closely() {
        assert_eq!(together(&[(-900, 300), (-200, 900), (-500, 500)]), Some((-200, 300)));
        assert_eq!(together(&[(-900, 300), (400, 900)]), Some((-900, 300)));
        assert_eq!(together(&[]), None);
    }
}
