//! Tests that need more of the workspace than xtask itself does.

mod pages;
