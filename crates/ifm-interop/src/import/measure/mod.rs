//! What labels, cells and units of free text mean: the words that people and tools use for
//! quantities, statistics, settings and units.
//!
//! A label means something only where all of it is understood; what is ambiguous means nothing.
//! Not here: where the text is.

mod cell;
mod label;
mod lex;
mod mark;
mod name;
mod plain;
mod unit;

pub(crate) use cell::{Cell, printed};
pub(crate) use label::{Meaning, Named, meaning, statistic};
pub(crate) use lex::{Kind, Token, lex};
pub(crate) use mark::{decode_entities, tag};
pub(crate) use name::{Mention, mentions, setting};
pub(crate) use plain::plain;
pub(crate) use unit::{Dimension, name_and_unit, natural as natural_unit, unit, unit_field};
