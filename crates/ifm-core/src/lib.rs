//! Nouns and units: specs, records, outcomes, the manifest.
