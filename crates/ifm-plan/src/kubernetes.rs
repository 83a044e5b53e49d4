//! The manifests that run a plan as an Indexed Job: the plan's text as a ConfigMap, and one pod for
//! each start of a server.
//!
//! Texts only; `kubectl apply` is the user's. Values are written as JSON strings, which YAML takes.

use crate::spec::{Plan, PlanError};
use std::fmt::Write as _;

/// Where the image has this program.
const PROGRAM: &str = "inferometer";
/// Where pods find the plan and store the runs.
const PLAN_FOLDER: &str = "/plan";
const RESULTS_FOLDER: &str = "/results";
/// Longest name of a Job whose pods get names of their own.
const NAME_MAX: usize = 52;

/// The Kubernetes manifests of a plan with this many groups, given its text.
///
/// # Errors
/// The plan names no image or no volume: runs without a volume are lost with their pods.
pub fn manifests(plan: &Plan, text: &str, groups: usize) -> Result<String, PlanError> {
    let kubernetes = &plan.kubernetes;
    let missing = |name: &str| PlanError::Meaning {
        place: "[kubernetes]".to_owned(),
        sentence: format!("needs {name}"),
    };
    let image = kubernetes.image.as_deref().ok_or_else(|| missing("an image"))?;
    let volume = kubernetes.volume.as_deref().ok_or_else(|| {
        missing("a volume: the claim of a volume that all pods can write, for the runs")
    })?;
    let name = name_of(&plan.head.name);
    let json = |value: &str| serde_json::Value::from(value).to_string();
    let namespace = kubernetes.namespace.as_ref();
    let namespace = namespace.map_or_else(String::new, |n| format!("  namespace: {}\n", json(n)));
    let mut out = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n{namespace}data:\n  plan.toml: {}\n",
        json(text)
    );
    let at_once = kubernetes.at_once.unwrap_or(1);
    let _ = write!(
        out,
        "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {name}\n{namespace}spec:\n  \
         completionMode: Indexed\n  completions: {groups}\n  parallelism: {at_once}\n  \
         backoffLimitPerIndex: 1\n  template:\n    spec:\n      restartPolicy: Never\n"
    );
    if !kubernetes.node_selector.is_empty() {
        out.push_str("      nodeSelector:\n");
        for (label, value) in &kubernetes.node_selector {
            let _ = writeln!(out, "        {}: {}", json(label), json(value));
        }
    }
    let words = [
        "plan",
        "run",
        &format!("{PLAN_FOLDER}/plan.toml"),
        "--task",
        "$(JOB_COMPLETION_INDEX)",
        "--store",
        &format!("{RESULTS_FOLDER}/runs"),
    ]
    .map(json)
    .join(", ");
    let _ = write!(
        out,
        "      containers:\n        - name: inferometer\n          image: {}\n          \
         command: [\"{PROGRAM}\"]\n          args: [{words}]\n          env:\n            \
         - name: JOB_COMPLETION_INDEX\n              valueFrom:\n                fieldRef:\n                  \
         fieldPath: metadata.annotations['batch.kubernetes.io/job-completion-index']\n",
        json(image)
    );
    let limits = [
        ("nvidia.com/gpu", kubernetes.gpus.map(|n| n.to_string())),
        ("cpu", kubernetes.cpus.clone()),
        ("memory", kubernetes.memory.clone()),
    ];
    if limits.iter().any(|(_, value)| value.is_some()) {
        out.push_str("          resources:\n            limits:\n");
        for (resource, value) in limits {
            value.iter().for_each(|value| {
                let _ = writeln!(out, "              {resource}: {}", json(value));
            });
        }
    }
    let _ = write!(
        out,
        "          volumeMounts:\n            - name: plan\n              mountPath: {PLAN_FOLDER}\n            \
         - name: results\n              mountPath: {RESULTS_FOLDER}\n      volumes:\n        \
         - name: plan\n          configMap:\n            name: {name}\n        \
         - name: results\n          persistentVolumeClaim:\n            claimName: {}\n",
        json(volume)
    );
    Ok(out)
}

/// A name as Kubernetes takes it: small letters, digits and hyphens.
fn name_of(plan: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = format!("inferometer-{plan}").chars().map(letter).take(NAME_MAX).collect();
    name.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_hold_the_plan_and_a_pod_for_each_group() {
        let text = "[plan]\nname = \"My_Plan.\"\n[[load]]\nexec = [\"x\"]\n[kubernetes]\n\
                    image = \"i:1\"\nvolume = \"runs\"\ngpus = 1\nat-once = 2\n\
                    node-selector = { \"gpu/kind\" = \"h100\" }\n";
        let plan = Plan::parse(text).unwrap();
        let yaml = manifests(&plan, text, 3).unwrap();
        for line in [
            "  name: inferometer-my-plan",
            "  completions: 3",
            "  parallelism: 2",
            "        \"gpu/kind\": \"h100\"",
            "              nvidia.com/gpu: \"1\"",
            "            claimName: \"runs\"",
        ] {
            assert!(yaml.lines().any(|other| other == line), "{line}\n{yaml}");
        }
        let without = Plan::parse(&text.replace("volume = \"runs\"\n", "")).unwrap();
        assert!(manifests(&without, text, 3).unwrap_err().to_string().contains("volume"));
    }
}
