//! Charts of every kind, drawn in every way, and read again.

mod look;
mod page;
mod sample;
mod svg;
mod text;
