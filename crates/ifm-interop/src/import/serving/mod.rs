//! What the serving benchmarks of vLLM, SGLang and TensorRT-LLM have in common: one grew out of the
//! other, and names, arrays and the printed frame are still the same. What they mean is not.

mod details;
mod dialect;
mod fields;
pub(crate) mod names;

pub(crate) use dialect::Dialect;
pub(crate) use fields::Fields;
