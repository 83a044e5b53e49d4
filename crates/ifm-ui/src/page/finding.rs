//! The findings of an audit on a page.

use ifm_report::AuditText;
use ifm_rules::audit::Level;
use maud::{Markup, html};

/// Sign, class and word of a level.
fn level(level: Level) -> (&'static str, &'static str, &'static str) {
    match level {
        Level::Proof => ("✗", "bad", "Cannot be right"),
        Level::Strong => ("⚠", "warn", "Deserves doubt"),
        Level::Hint => ("·", "plain", "Worth a look"),
    }
}

/// Every finding, the strongest first, and what was found in order.
pub(crate) fn findings(audit: &AuditText) -> Markup {
    html! {
        @if audit.findings.is_empty() { p class="good" { "✓ Nothing was found." } }
        @for of in [Level::Proof, Level::Strong, Level::Hint] {
            @let found: Vec<_> = audit.findings.iter().filter(|finding| finding.level == of).collect();
            @if !found.is_empty() {
                @let (sign, class, words) = level(of);
                section class="findings" {
                    h3 class=(class) { span aria-hidden="true" { (sign) } " " (words) " " span class="soft" { "(" (of.word()) ", " (found.len()) ")" } }
                    ul {
                        @for finding in found {
                            li {
                                p { (finding.text) }
                                @if let Some(remedy) = &finding.remedy { p class="soft" { (remedy) } }
                                p class="soft" { code { (finding.rule) } @if !finding.spots.is_empty() { " · " (finding.spots) } }
                            }
                        }
                    }
                }
            }
        }
        p class="soft" { (audit.closing) "." }
        @if !audit.silent.is_empty() {
            details {
                summary { "What was looked at and found in order (" (audit.silent.len()) ")" }
                ul class="calm" { @for title in &audit.silent { li { "✓ " (title) } } }
            }
        }
    }
}
