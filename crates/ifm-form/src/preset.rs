//! Named schemas.
//!
//! Not here: the user's own, which are files.

/// Schemas by name: flat, with enumerations only, nested, with a long list, a tool call.
pub(super) const PRESETS: [(&str, &str); 5] = [
    ("person", include_str!("presets/person.json")),
    ("sentiment", include_str!("presets/sentiment.json")),
    ("order", include_str!("presets/order.json")),
    ("measurements", include_str!("presets/measurements.json")),
    ("call", include_str!("presets/call.json")),
];

/// The schema with a name.
pub(super) fn find(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, schema)| *schema)
}

/// The names, for a hint.
pub(super) fn names() -> String {
    PRESETS.map(|(name, _)| name).join(", ")
}
