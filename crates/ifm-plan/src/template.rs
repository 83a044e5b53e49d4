//! Plans to begin with: one for each question that people bring, with comments.
//!
//! Each runs unchanged on the embedded engine, or says which machine it needs; the blocks for real
//! servers follow, commented out.

/// A plan to begin with.
#[derive(Debug, Clone, Copy)]
pub struct Template {
    /// Its word.
    pub word: &'static str,
    /// What it answers, in a line.
    pub about: &'static str,
    /// The file.
    pub text: &'static str,
}

/// Every template. To add one, add its file and a line.
pub const TEMPLATES: &[Template] = &[
    Template {
        word: "scenarios",
        about: "speed of one server for several lengths of prompts, over users",
        text: include_str!("templates/scenarios.toml"),
    },
    Template {
        word: "quantization",
        about: "a base model against quantized ones, over rates or users, with repeats",
        text: include_str!("templates/quantization.toml"),
    },
    Template {
        word: "confidential-computing",
        about: "what confidential computing costs, over workloads, users and models",
        text: include_str!("templates/confidential-computing.toml"),
    },
    Template {
        word: "power",
        about: "speed, energy and temperature over power limits of a GPU, and a training run",
        text: include_str!("templates/power.toml"),
    },
    Template {
        word: "servers",
        about: "parameters of a server against each other under load",
        text: include_str!("templates/servers.toml"),
    },
    Template {
        word: "start-up",
        about: "how long servers take until their first token, cold and warm",
        text: include_str!("templates/start-up.toml"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plan, cells};

    #[test]
    fn every_template_is_a_plan() {
        for template in TEMPLATES {
            let plan =
                Plan::parse(template.text).unwrap_or_else(|e| panic!("{}: {e}", template.word));
            assert_eq!(plan.head.name, template.word);
            assert!(!cells(&plan).unwrap().is_empty());
        }
    }

    #[test]
    fn what_is_commented_out_is_a_plan_too() {
        for template in TEMPLATES {
            let uncommented: String = template
                .text
                .lines()
                .map(|line| line.strip_prefix("#~ ").unwrap_or(line))
                .map(|line| format!("{line}\n"))
                .collect();
            Plan::parse(&uncommented).unwrap_or_else(|e| panic!("{}: {e}", template.word));
        }
    }
}
