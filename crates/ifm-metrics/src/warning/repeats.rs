//! Prompts that were sent more than once: a server with a prefix cache answers those sooner.

use super::{Check, Context, Finding, Made, Severity, percent};

pub(super) const CHECK: Check =
    Check { id: "repeated_prompts", title: "no prompt was sent twice", run: Made::ForRun(make) };

fn make(context: &Context) -> Option<Vec<Finding>> {
    let sent = context.run.manifest.workload.as_ref().filter(|sent| sent.prompts > 0)?;
    let repeated = sent.prompts.saturating_sub(sent.distinct_prompts);
    if repeated == 0 {
        return Some(Vec::new());
    }
    let share = repeated as f64 / sent.prompts as f64;
    Some(vec![(
        Severity::Caution,
        format!(
            "{repeated} of {} prompts ({}) had been sent before in this run: if the server keeps \
             a prefix cache, their TTFT is not that of new prompts",
            sent.prompts,
            percent(share)
        ),
    )])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::testing::check;

    #[test]
    fn fires_on_prompts_that_come_back() {
        let repeat = |run: &mut ifm_core::RunData| {
            run.manifest.workload.as_mut().unwrap().distinct_prompts -= 6;
        };
        check("repeated_prompts", repeat, Severity::Caution, "6 of 120 prompts (5.0 %)");
    }
}
