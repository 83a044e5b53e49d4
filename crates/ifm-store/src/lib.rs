//! The run folder: manifest, journal, Parquet, sealing.
