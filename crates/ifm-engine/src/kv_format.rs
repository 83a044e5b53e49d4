//! How keys and values are kept, and how that is spelled.
//!
//! Not here: keeping them (`kv`).

use std::{fmt, str::FromStr};

use half::f16;

/// How keys and values are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum KvFormat {
    /// 32-bit floats, as they were computed.
    #[default]
    F32,
    /// Rounded to 16-bit floats: half the memory.
    F16,
}

impl KvFormat {
    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Self::F32 => size_of::<f32>(),
            Self::F16 => size_of::<f16>(),
        }
    }
}

impl fmt::Display for KvFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
        })
    }
}

/// A name that is not a valid [`KvFormat`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the KV cache type is f32 or f16, not {0}")]
pub struct UnknownKvFormat(pub String);

impl FromStr for KvFormat {
    type Err = UnknownKvFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        [Self::F32, Self::F16]
            .into_iter()
            .find(|format| format.to_string() == name)
            .ok_or_else(|| UnknownKvFormat(name.to_owned()))
    }
}
