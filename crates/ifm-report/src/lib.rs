//! Results to bytes: terminal tables, JSON, Markdown, HTML.
