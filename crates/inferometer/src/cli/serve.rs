//! `inferometer serve`: the embedded engine as a server.
