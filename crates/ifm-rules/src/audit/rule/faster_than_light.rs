//! Nothing is faster than its bytes and operations at the peak of the machine.

use super::super::light::{Ground, Lit, is_rate, lit, prompts};
use super::super::{Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_roofline::Verdict;

pub(super) const RULE: Rule =
    Rule { id: "faster_than_light", title: "no figure is faster than its machine allows", look };

fn look(subject: &Subject) -> Looked {
    told(&RULE, subject, |verdict| verdict == Verdict::BelowStrict, "strict")
}

/// One finding for all figures with such a verdict, the farthest as the example.
pub(super) fn told(
    rule: &Rule,
    subject: &Subject,
    is_meant: fn(Verdict) -> bool,
    limit: &str,
) -> Looked {
    let lit = lit(subject);
    if lit.is_empty() {
        return Looked::Needs("rows of a known machine and model; --gpu and --model name them");
    }
    let is_strict = limit == "strict";
    let mut below: Vec<&Lit> = lit.iter().filter(|lit| is_meant(lit.share.verdict)).collect();
    let share = |lit: &Lit| if is_strict { lit.share.of_strict } else { lit.share.of_serial };
    // What rests on no assumption comes first.
    below.order_by(|a, b| b.ground.cmp(&a.ground).then(share(b).total_cmp(&share(a))));
    let Some(worst) = below.first() else { return Looked::Found(Vec::new()) };
    let term = if is_strict { worst.bound.strict } else { worst.bound.serial };
    let kind = match is_strict {
        true => "the larger of bytes / bandwidth and operations / peak rate",
        false => "part after part at its own peak",
    };
    let said = |seconds: f64| match is_rate(worst.quantity) {
        true => format!("{:.0} tokens per second", worst.bound.tokens / seconds),
        false => format!("{:.3} ms", seconds * 1e3),
    };
    let of_burst = match (&worst.quantity, prompts(&worst.bound)) {
        (Metric::Ttft, prompts) if prompts > 1.0 => {
            format!("{prompts:.0} or more prompts that begin together, ")
        }
        _ => String::new(),
    };
    let text = format!(
        "{} of {} figures are faster than the {limit} limit of their machine, such as {} by {:.2} times: \
         the {} of {of_burst}{} says {}, {kind} says {} ({}){}",
        below.len(),
        lit.len(),
        worst.setup,
        share(worst),
        worst.quantity,
        worst.cell.name(),
        said(worst.share.measured_s),
        said(term.seconds),
        term.binds.label(),
        if worst.ground == Ground::Uncached { ", unless prompts came from a cache" } else { "" }
    );
    let level = match (is_strict, worst.ground) {
        (true, Ground::Stated) => Level::Proof,
        (true, Ground::Assumed) => Level::Strong,
        (true, Ground::Fewest | Ground::Uncached | Ground::Format) | (false, _) => Level::Hint,
    };
    let finding = Finding::new(rule.id, level, text)
        .at_all(below.iter().map(|lit| lit.cell.spot()))
        .with("measured", worst.share.measured_s * 1e3, "ms")
        .with("limit", term.seconds * 1e3, "ms")
        .with("factor", share(worst), "")
        .remedy(
            "look for prompts from a prefix cache, other lengths, another number format, machine or \
             number of GPUs",
        );
    Looked::Found(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use ifm_core::Metric;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Statistic, Unit, key};

    use super::super::super::{Level, Subject};

    /// 8 B parameters at 16 bits on an L40S: 4096 tokens need 4096 x 2 x 8.0e9 operations, 0.18 s
    /// at 362e12 per second, and a step 16 GB / 864 GB per second, 17.4 ms.
    fn document(ttft: &str, tpot: &str) -> Sheet {
        let mut row = row(
            3,
            &[
                (Metric::Ttft, Statistic::Median, ttft, Unit::Ms),
                (Metric::Tpot, Statistic::Median, tpot, Unit::Ms),
            ],
        );
        row.factors = row
            .factors
            .with(key::GPU, "L40S")
            .with(key::MODEL, "Llama-3.1-8B-Instruct")
            .with(key::QUANTIZATION, "bf16")
            .with(key::TENSOR_PARALLEL, 1)
            .with(key::INPUT_TOKENS, 4096);
        sheet(PartKind::Serving, vec![row])
    }

    #[test]
    fn prompts_from_a_cache_are_faster_than_light() {
        let corrupt = |sheet: &mut Sheet| *sheet = document("40.0", "25.0");
        check(
            "faster_than_light",
            &document("400.0", "25.0"),
            corrupt,
            Level::Proof,
            "the TTFT of",
        );
        let corrupt = |sheet: &mut Sheet| *sheet = document("400.0", "9.0");
        check(
            "faster_than_light",
            &document("400.0", "25.0"),
            corrupt,
            Level::Proof,
            "the TPOT of",
        );
    }

    /// 64 users who begin together: of 400 requests 4 at most took longer than the P99, so that 60
    /// or more of the 64 first prompts were computed in that time. 40 of 1024 tokens need 1.8 s.
    #[test]
    fn prompts_of_a_burst_that_come_from_a_cache_are_too_fast() {
        let document = |p99: &str, tool: &str| {
            let (count, value) = (Unit::Count, Statistic::Value);
            let figures = [
                (Metric::RequestsOk, value, "400", count.clone()),
                (Metric::InputTokens, value, "409600", count),
                (Metric::Ttft, Statistic::Percentile(99.0), p99, Unit::Ms),
            ];
            let mut sheet = document("400.0", "25.0");
            let row = &mut sheet.parts[0].rows[0];
            row.figures = super::super::super::testing::row(3, &figures).figures;
            row.factors.set(key::CONCURRENCY, 64);
            sheet.parts[0].tool = Some(tool.to_owned());
            sheet
        };
        let vllm = "vllm bench serve";
        let corrupt = |sheet: &mut Sheet| *sheet = document("900", vllm);
        let sound = document("4000", vllm);
        check("faster_than_light", &sound, corrupt, Level::Strong, "40 or more prompts");
        // Users of other tools may begin one after the other.
        assert_eq!(found("faster_than_light", &[document("900", "genai-bench")]), []);
    }

    #[test]
    fn given_model_applies_to_rows_without_a_model() {
        let proof = |name: &str, given: &str| {
            let mut sheet = document("400.0", "9.0");
            sheet.parts[0].rows[0].factors.set(key::MODEL, name);
            let sheets = [sheet];
            let subject = Subject::new(&sheets).measured_with(None, Some(given.to_owned()));
            let audit = super::super::super::audit(&subject);
            audit.findings().iter().find(|it| it.rule == "faster_than_light").map(|it| it.level)
        };
        assert_eq!(proof("", "llama-3.1-8b"), Some(Level::Proof));
        assert_eq!(proof("Llama-3.1-8B-Instruct", "llama-3.1-8b"), Some(Level::Proof));
        // 0.6 B parameters are read in 1.4 ms.
        assert_eq!(proof("Qwen3-0.6B", "llama-3.1-8b"), None);
        assert_eq!(proof("acme-1b", "llama-3.1-8b"), None);
        // A server's own name for it may be that model.
        assert_eq!(proof("my-server", "llama-3.1-8b"), Some(Level::Strong));
    }

    #[test]
    fn a_name_that_says_nothing_is_not_every_model_of_a_document() {
        let mut sheet = document("400.0", "9.0");
        sheet.parts[0].rows[0].factors.set(key::MODEL, "red");
        let mut other = sheet.parts[0].rows[0].clone();
        other.factors.set(key::MODEL, "blue");
        sheet.parts[0].rows.push(other);
        let sheets = [sheet];
        let given = Some("llama-3.1-8b".to_owned());
        let audit = super::super::super::audit(&Subject::new(&sheets).measured_with(None, given));
        assert!(audit.findings().iter().all(|finding| finding.rule != "faster_than_light"));
    }

    /// 32 tokens in a step of 17.4 ms are 1800 per second; prompts are read at 24000 per second.
    #[test]
    fn checks_rates_of_a_load_against_its_steps() {
        let document = |users: &str, output: &str, total: &str| {
            let mut sheet = document("400.0", "25.0");
            let rates = row(
                3,
                &[
                    (Metric::OutputRate, Statistic::Value, output, Unit::PerS),
                    (Metric::TotalRate, Statistic::Value, total, Unit::PerS),
                ],
            );
            let row = &mut sheet.parts[0].rows[0];
            row.figures.extend(rates.figures);
            row.factors.set(key::CONCURRENCY, users);
            row.factors.set(key::HARDWARE, "single L40S");
            sheet
        };
        let sound = document("32", "900", "9000");
        let say = |corrupted: Sheet, level: Level, word: &str| {
            check("faster_than_light", &sound, |sheet| *sheet = corrupted, level, word);
        };
        let word = "the output throughput of";
        say(document("32", "90000", "900000"), Level::Proof, word);
        say(document("32", "2000", "9000"), Level::Proof, "says 2000 tokens per second");
        say(document("max", "90000", "90000"), Level::Proof, word);
        say(document("32", "900", "900000"), Level::Hint, "unless prompts came from a cache");
        // Copies of the model answer together.
        let mut copies = document("32", "3000", "9000");
        copies.parts[0].rows[0].factors.set(key::HARDWARE, "");
        let findings = found("faster_than_light", &[copies]);
        assert_eq!(findings.iter().map(|finding| finding.level).collect::<Vec<_>>(), [Level::Hint]);
        assert!(findings[0].text.contains("further copies of the model are not counted"));
        // With more in flight a step gives more.
        assert_eq!(found("faster_than_light", &[document("64", "2000", "9000")]), []);
        assert_eq!(found("faster_than_light", &[document("max", "20000", "21000")]), []);
        let mut peak = document("32", "2000", "9000");
        let figure = (Metric::PeakInFlight, Statistic::Value, "64", Unit::Count);
        peak.parts[0].rows[0].figures.extend(row(3, &[figure]).figures);
        assert_eq!(found("faster_than_light", &[peak]), []);
    }

    #[test]
    fn assumptions_are_not_proof() {
        let mut sheet = document("40.0", "25.0");
        let factors = &mut sheet.parts[0].rows[0].factors;
        let kept: Vec<(String, String)> = factors
            .iter()
            .filter(|(name, _)| *name != key::TENSOR_PARALLEL)
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        *factors = Default::default();
        for (name, value) in kept {
            factors.set(name, value);
        }
        let hint = &found("faster_than_light", &[sheet.clone()])[0];
        assert_eq!(hint.level, Level::Hint);
        assert!(hint.text.contains("on 1 x NVIDIA L40S (the fewest that hold it"), "{}", hint.text);
        // A node of eight needs 22.9 ms for these prompts.
        sheet.parts[0].rows[0].figures[0].value = Some(15.0);
        let strong = &found("faster_than_light", &[sheet.clone()])[0];
        assert_eq!(strong.level, Level::Strong);
        assert!(strong.text.contains("(their number is not stated)"), "{}", strong.text);
        sheet.parts[0].rows[0].factors.set(key::HARDWARE, "8x NVIDIA L40S");
        assert_eq!(found("faster_than_light", &[sheet.clone()])[0].level, Level::Proof);
        sheet.parts[0].rows[0].figures[0].value = Some(40.0);
        assert_eq!(found("faster_than_light", &[sheet]), []);
    }

    /// The step of 70 B parameters at 16 bits: 141 GB over 8 x 3.35 TB/s is 5.3 ms.
    #[test]
    fn a_node_is_as_fast_as_its_gpus_together() {
        let document = |hardware: &str, tpot: &str| {
            let mut row = row(3, &[(Metric::Tpot, Statistic::Median, tpot, Unit::Ms)]);
            row.factors = row
                .factors
                .with(key::GPU, "NVIDIA H100 80GB HBM3")
                .with(key::MODEL, "Llama-3.1-70B-Instruct")
                .with(key::QUANTIZATION, "bf16")
                .with(key::HARDWARE, hardware);
            sheet(PartKind::Serving, vec![row])
        };
        let corrupt = |sheet: &mut Sheet| *sheet = document("8x NVIDIA H100 80GB HBM3", "3.00");
        let sound = document("8x NVIDIA H100 80GB HBM3", "9.00");
        check("faster_than_light", &sound, corrupt, Level::Proof, "on 8 x NVIDIA H100 SXM by");
        // Weights of four bits are read in a quarter of the time.
        let mut bare = document("8x NVIDIA H100 80GB HBM3", "3.00");
        bare.parts[0].rows[0].factors.set(key::QUANTIZATION, "");
        let hint = &found("faster_than_light", &[bare])[0];
        assert_eq!(hint.level, Level::Hint);
        assert!(hint.text.contains("its number format assumed"), "{}", hint.text);
        let level = |tpot| found("faster_than_light", &[document("", tpot)])[0].level;
        assert_eq!((level("9.00"), level("3.00")), (Level::Hint, Level::Strong));
    }
}
