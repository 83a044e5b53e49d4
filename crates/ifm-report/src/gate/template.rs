//! A thresholds file to begin with, made from a run and full of comments.
//!
//! What is not here: the choice of thresholds, which comes from
//! [`suggest`](ifm_compare::gate::suggest).

use super::short;
use crate::comparison::words;
use crate::format::plain;
use ifm_compare::comparison::Unit;
use ifm_compare::gate::{Bound, Limit, Suggestion, Suggestions};

const HEAD: &str = "\
# A name is METRIC@LOAD: ttft, ttfat, itl, tpot, e2e or tok_s_user with .p50,
# .p99 or .mean; out_tok_s, req_s, error_rate, success. The load is a number of
# users, or a rate such as 2.5/s; without one the threshold holds at every load
# of the run.
#
# A limit is a value (50ms, 0.5s, 1200, 1%), or with a sign a change against the
# baseline (+5%, -3%). A threshold passes if its whole 95 % interval is inside,
# fails if all of it is outside, and is inconclusive otherwise. Without a limit
# on failures, 1 % of the requests may fail, as counted.
#
# Choose a load of 50 to 70 % of the capacity, below the knee. Prefer throughput
# and P50 with tight limits, and P99 with loose ones. Measure three times and
# more. On a shared machine, compare with a baseline that was measured in the
# same job.
";

/// The file, from what a run suggests; ends with a line break.
pub fn gate_template(suggestions: &Suggestions) -> String {
    let run = &suggestions.run;
    let mut out = format!(
        "# Thresholds for `inferometer gate`, at {1}, made from\n# {0}.\n#\n{HEAD}\n",
        plain(&words::side(&run.label, &run.runs)),
        words::condition(&suggestions.at)
    );
    out.push_str(
        "# Inconclusive thresholds: \"report\" (exit code 4), \"pass\" or \
         \"fail\".\ninconclusive = \"report\"\n\n\
         # The run that changes are taken against; --baseline says otherwise.\n\
         # baseline = \"main\"\n",
    );
    for (bound, name) in [(Bound::Max, "max"), (Bound::Min, "min")] {
        out.push_str(&format!("\n[{name}]\n"));
        for suggestion in suggestions.list.iter().filter(|one| one.threshold.bound == bound) {
            out.push_str(&line(suggestion));
        }
        out.push_str(match bound {
            Bound::Max => "# Against a baseline:\n# \"ttft.p50\" = \"+5%\"\n",
            Bound::Min => "# Against a baseline:\n# \"out_tok_s\" = \"-3%\"\n",
        });
    }
    out
}

fn line(suggestion: &Suggestion) -> String {
    let threshold = &suggestion.threshold;
    let unit = threshold.measure.unit();
    let limit = match (threshold.limit, unit) {
        (Limit::Value(ns), Unit::Ns) => format!("{}ms", short(ns / 1e6)),
        (Limit::Value(share), Unit::Share) => format!("{}%", short(share * 100.0)),
        (Limit::Value(value), _) => short(value),
        (Limit::Band, _) => ifm_compare::gate::BAND.to_owned(),
        (Limit::Change(change), _) => format!("{:+}%", change * 100.0),
    };
    let found = words::bounds(unit, &suggestion.cell);
    match &suggestion.shortage {
        None => format!("\"{threshold}\" = \"{limit}\"  # now {found}\n"),
        Some(shortage) => {
            format!("# now {found}; left out: {shortage}\n# \"{threshold}\" = \"{limit}\"\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::template;

    #[test]
    fn a_file_to_begin_with() {
        insta::assert_snapshot!(template());
    }
}
