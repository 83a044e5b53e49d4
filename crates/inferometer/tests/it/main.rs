//! The program as a user runs it: real processes, real sockets, exit codes and words.

// Test helpers may panic like the tests themselves.
#![allow(clippy::unwrap_used)]

mod agents;
mod audit;
mod bad_input;
mod beside;
mod calibrate;
mod ci;
mod claims;
mod client;
mod comparison;
mod completions;
mod conform;
mod demo;
mod documents;
mod endings;
mod engine;
mod engine_tools;
mod engine_url;
mod exec;
mod facts;
mod faults;
mod foreign;
mod guard;
mod guides;
mod hostile;
mod lengths;
mod load;
mod loads;
mod outward;
mod pages;
mod plan;
mod plan_answers;
mod probe;
mod project;
mod proofs;
mod real_files;
mod says;
mod schemas;
mod screens;
mod secrets;
mod sides;
mod simulated;
mod store;
mod strict_server;
mod support;
mod telemetry;
mod ui;
mod workloads;
