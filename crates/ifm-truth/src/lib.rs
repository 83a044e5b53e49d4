//! A test server that knows the right answer: scripted and paced token streams with its own stamps.
