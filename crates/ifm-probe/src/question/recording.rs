//! The recording for APIs that accept audio: a second of silence.
//!
//! Not here: recordings of workloads (`ifm-workload`).

use ifm_core::{Carried, Medium, MediumKind, Message, Placed, Prompt, Role};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Sample rate of eight-bit samples, and the value of silence. Speech models need this rate.
const SAMPLES_PER_S: u32 = 16_000;
const SILENCE: u8 = 0x80;
/// Bytes of the header after its first eight.
const HEAD_BYTES: u32 = 36;

/// A prompt with a second of silence, as a WAV file.
pub fn silence() -> Prompt {
    let mut file = b"RIFF".to_vec();
    file.extend((HEAD_BYTES + SAMPLES_PER_S).to_le_bytes());
    file.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    file.extend(SAMPLES_PER_S.to_le_bytes());
    file.extend(SAMPLES_PER_S.to_le_bytes());
    file.extend(b"\x01\0\x08\0data");
    file.extend(SAMPLES_PER_S.to_le_bytes());
    file.resize(file.len() + SAMPLES_PER_S as usize, SILENCE);
    let medium = Medium {
        kind: MediumKind::Audio,
        mime: "audio/wav".to_owned(),
        sha256: Sha256::digest(&file).into(),
        size: None,
        frames: None,
        duration_ns: Some(1_000_000_000),
        file_bytes: Some(file.len() as u64),
        uuid: None,
        detail: None,
        carried: Carried::File(file.into()),
    };
    let media = vec![Placed { at: 0, medium: Arc::new(medium) }];
    Prompt::Messages(vec![Message { media, ..Message::text(Role::User, "") }])
}
