//! Text to token ids and back: the embedded vocabulary, and tokenizer.json files.
