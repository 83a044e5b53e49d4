//! The files that our pages load: one style sheet, two scripts, one sign for the tab.
//!
//! They are part of the program: the page needs no network. htmx is vendored as it was published;
//! a test holds it against its checksum.

use crate::failure::Failure;
use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};

/// Name, type and content of each file.
const ASSETS: [(&str, &str, &str); 4] = [
    ("ui.css", "text/css; charset=utf-8", include_str!("../assets/ui.css")),
    ("ui.js", "text/javascript; charset=utf-8", include_str!("../assets/ui.js")),
    ("htmx.min.js", "text/javascript; charset=utf-8", include_str!("../assets/htmx.min.js")),
    ("sign.svg", "image/svg+xml", include_str!("../assets/sign.svg")),
];

/// One of them, by its name.
pub(crate) async fn asset(Path(name): Path<String>) -> Result<Response, Failure> {
    let found = ASSETS.iter().find(|(known, ..)| *known == name);
    let (_, kind, content) = found.ok_or_else(|| Failure::not_found("no such file"))?;
    Ok(([(header::CONTENT_TYPE, *kind)], *content).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};

    /// `dist/htmx.min.js` of htmx.org 2.0.11 on npm, 0BSD.
    const HTMX_SHA256: &str = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717";

    #[test]
    fn htmx_is_the_published_file() {
        let content = ASSETS.iter().find(|(name, ..)| *name == "htmx.min.js").unwrap().2;
        let sum = Sha256::digest(content.as_bytes());
        let digits: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digits, HTMX_SHA256);
    }

    #[test]
    fn nothing_of_ours_loads_from_elsewhere_or_needs_a_looser_policy() {
        for (name, _, content) in ASSETS.iter().filter(|(name, ..)| *name != "htmx.min.js") {
            let content = content.replace("http://www.w3.org/2000/svg", "");
            for forbidden in ["http:", "https:", "@import", "eval(", ".innerHTML", "new Function"] {
                assert!(!content.contains(forbidden), "{name}: {forbidden}");
            }
        }
    }
}
