//! What llama.cpp's benchmarks write, by the names of their fields: the same in every one of their
//! formats.

pub(crate) mod batched;
pub(crate) mod bench;
