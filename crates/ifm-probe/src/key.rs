//! The API key: the variable that contains it, and the header that carries it.
//!
//! The key is never printed and never stored.

use ifm_terminal::exit::Failure;

/// The variable with the API key: the named one, or the usual one if it is set.
pub fn key_env(named: Option<&str>) -> Option<String> {
    const USUAL: &str = "OPENAI_API_KEY";
    let usual = || std::env::var_os(USUAL).is_some_and(|key| !key.is_empty()).then_some(USUAL);
    named.or_else(usual).map(str::to_owned)
}

/// The value of the `Authorization` header.
///
/// # Errors
/// The variable contains no key, or one that a header cannot contain.
pub fn authorization(key_env: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(name) = key_env else { return Ok(None) };
    match std::env::var(name) {
        Ok(key) if key.trim().bytes().any(|byte| !byte.is_ascii_graphic()) => {
            Err(Failure::usage(format!(
                "the API key in {name} contains a space or another character \
                that no header can carry"
            ))
            .hint("copy it again, without line breaks"))
        }
        Ok(key) if !key.trim().is_empty() => Ok(Some(format!("Bearer {}", key.trim()))),
        _ => Err(Failure::usage(format!("the environment variable {name} contains no API key"))),
    }
}
