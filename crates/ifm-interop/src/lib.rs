//! Results of other tools: what they wrote becomes a [`Sheet`](ifm_core::Sheet).
//!
//! `import` recognizes a file by its content and reads it: files with fields by one reader per tool
//! (`import/format`), text by the blocks that it contains (`import/block`). Nothing is invented: an
//! absent number stays absent, and data that a sheet cannot hold is reported. Not here: opening
//! files, keeping sheets (`inferometer`), judging them (`ifm-rules`).
#![forbid(unsafe_code)]

pub mod export;
mod heads;
pub mod import;

pub use export::{EXPORTS, Export, ExportError, ExportOptions, Exported};
pub use import::{
    ColumnMap, ImportError, Input, MapError, Recognised, TEXT, formats, llama_bench_rows, read,
    read_mapped, recognise, settle_together, yaml_value,
};
