//! The load generator: shards, connections, TLS, decoding off the hot path.
