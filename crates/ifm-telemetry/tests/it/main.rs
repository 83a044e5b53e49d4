//! What servers tell of themselves, read from outside.

mod pages;
