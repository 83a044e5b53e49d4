//! Metrics and verdicts from records: pure functions, no clock, no file.
