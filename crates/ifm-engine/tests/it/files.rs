//! Files that cannot be loaded say why.
