//! Runs that were computed and not measured, and runs of a server that only plays one. A run of a
//! real server has nothing of it.

use super::{Check, Context, Finding, Made, Severity};

/// The constant of predictions that is the time of compiling a grammar.
const GRAMMAR_COMPILE_MS: &str = "grammar_compile_ms";

pub(super) const CHECK: Check = Check {
    id: "predicted",
    title: "predictions are not presented as measurements",
    run: Made::ForRun(make),
};

fn make(context: &Context) -> Option<Vec<Finding>> {
    let Some(prediction) = context.run.manifest.predicted.as_ref() else {
        return simulated_server(context).map(|text| vec![(Severity::Caution, text)]);
    };
    let is_free = context.run.manifest.spec.workload.forms.is_empty();
    let forms = match prediction.constants.contains_key(GRAMMAR_COMPILE_MS) {
        true => {
            "; of the cost of structured answers, only the time to compile a grammar is \
             included: not enforcing it, nor ending answers when they are complete"
        }
        false => {
            "; the cost of structured answers is not included: neither compiling their grammars, \
             nor enforcing them, nor ending answers when they are complete"
        }
    };
    let text = format!(
        "{}; computed, not measured; only as accurate as these constants{}",
        prediction.words(),
        if is_free { "" } else { forms }
    );
    Some(vec![(Severity::Caution, text)])
}

/// The text for a measured run whose server says that it is simulated.
fn simulated_server(context: &Context) -> Option<String> {
    let notes = &context.run.manifest.server.notes;
    let of_what = ["machine", "model", "stored_dtype", "server_defaults", "constants_from"];
    let told: Vec<&str> =
        of_what.iter().filter_map(|name| Some(notes.get(*name)?.as_str())).collect();
    let of_what = match told.is_empty() {
        true => String::new(),
        false => format!(" ({})", told.join(", ")),
    };
    context.run.manifest.server.is_simulated().then(|| {
        format!(
            "the server is simulated{of_what}: its times come from a simulation, as observed by this client"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::predicted;
    use crate::warning::CheckState;
    use crate::warning::testing::{check, sound_run, state};

    #[test]
    fn reports_a_prediction_and_its_basis() {
        assert_eq!(state(&sound_run(), "predicted"), CheckState::NotApplicable);
        let run = predicted(sound_run());
        let summary = crate::summarize(&run);
        let found = summary.warnings.iter().find(|warning| warning.check == CHECK.id);
        let text = &found.expect("it fires").text;
        assert!(text.starts_with("predicted, not measured: H100 SXM, "), "{text}");
        assert!(!text.contains("structured"), "{text}");
        let mut run = run;
        run.manifest.spec.workload.forms = vec![crate::testing::form_spec("json", 0.5)];
        let said = crate::summarize(&run).warnings;
        let found = said.iter().find(|warning| warning.check == CHECK.id);
        assert!(found.expect("it fires").text.contains("neither compiling their grammars"));
        let prediction = run.manifest.predicted.as_mut().expect("a prediction");
        prediction.constants.insert(GRAMMAR_COMPILE_MS.to_owned(), 400.0);
        let said = crate::summarize(&run).warnings;
        let found = said.iter().find(|warning| warning.check == CHECK.id);
        assert!(found.expect("it fires").text.contains("only the time to compile a grammar"));
    }

    #[test]
    fn reports_a_simulated_server() {
        let mut run = sound_run();
        let notes = &mut run.manifest.server.notes;
        notes.insert("simulated".to_owned(), "true".to_owned());
        notes.insert("machine".to_owned(), "NVIDIA L40S".to_owned());
        assert_eq!(state(&run, "predicted"), CheckState::Caution);
        let summary = crate::summarize(&run);
        let found = summary.warnings.iter().find(|warning| warning.check == CHECK.id);
        let text = &found.expect("it fires").text;
        assert!(text.contains("simulated (NVIDIA L40S)"), "{text}");
        run.manifest.server.notes.insert("simulated".to_owned(), "false".to_owned());
        assert_eq!(state(&run, "predicted"), CheckState::NotApplicable);
    }

    #[test]
    fn what_only_a_measurement_has_is_not_asked_of_a_prediction() {
        // Each of these fires on a measured run.
        let corrupt = |run: &mut ifm_core::RunData| {
            run.requests.iter_mut().for_each(|record| record.co_arrived_events = 4);
        };
        check("co_arrival", corrupt, Severity::Note, "of the events");
        let mut run = predicted(sound_run());
        corrupt(&mut run);
        for check in super::super::OF_MEASURING {
            assert_eq!(state(&run, check.id), CheckState::NotApplicable, "{}", check.id);
        }
        assert_eq!(state(&run, "samples"), CheckState::Passed);
    }
}
