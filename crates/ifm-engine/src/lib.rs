//! The embedded engine: a real decoder on the CPU with continuous batching.
