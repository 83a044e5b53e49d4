//! The inferometer binary.
fn main() {}
