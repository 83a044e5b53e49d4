//! What to send: prompts of an exact length, reproducible from a seed.
