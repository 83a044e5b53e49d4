//! What all requests share.
//!
//! Not here: which path leads where (`router`), what stands on the pages (`page`), who may ask
//! (`guard`).

use crate::catalogue::Catalogue;
use crate::digest::Digests;
use crate::failure::Failure;
use crate::guard::Guard;
use crate::live::Watches;
use axum::http::StatusCode;
use ifm_core::contained::contained;
use ifm_store::{Import, RunEntry, Store};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// Imports that are read at the same time; others are asked to wait.
const IMPORTS_MAX: usize = 2;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) store: Store,
    pub(crate) version: String,
    pub(crate) guard: Guard,
    pub(crate) importers: Semaphore,
    catalogue: Mutex<Catalogue>,
    digests: Mutex<Digests>,
    watches: Mutex<Watches>,
}

impl App {
    pub(crate) fn new(store: Store, version: String, guard: Guard) -> App {
        App {
            store,
            version,
            guard,
            importers: Semaphore::new(IMPORTS_MAX),
            catalogue: Mutex::default(),
            digests: Mutex::default(),
            watches: Mutex::default(),
        }
    }

    /// What is known of the store's heads.
    pub(crate) fn catalogue(&self) -> MutexGuard<'_, Catalogue> {
        self.catalogue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of the answers of runs.
    pub(crate) fn digests(&self) -> MutexGuard<'_, Digests> {
        self.digests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of runs that go on.
    pub(crate) fn watches(&self) -> MutexGuard<'_, Watches> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run of an id that a request names.
    ///
    /// # Errors
    /// There is none, or the store cannot be read.
    pub(crate) fn run(&self, id: &str) -> Result<RunEntry, Failure> {
        let found = self.store.entry(id)?;
        found.ok_or_else(|| Failure::not_found("the store has no such run"))
    }

    /// The import of an id that a request names.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub(crate) fn import(&self, id: &str) -> Result<Import, Failure> {
        let ids = self.store.import_ids()?;
        let known = ids.iter().find(|known| *known == id);
        let known = known.ok_or_else(|| Failure::not_found("the store has no such import"))?;
        Ok(self.store.import(known)?)
    }
}

/// Does work on files beside the thread that serves.
///
/// # Errors
/// Those of the work.
pub(crate) async fn aside<T: Send + 'static>(
    app: &Arc<App>,
    work: impl FnOnce(&App) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let app = Arc::clone(app);
    let done = tokio::task::spawn_blocking(move || contained(|| work(&app))).await;
    let caught = match done {
        Ok(Ok(ended)) => return ended,
        Ok(Err(panicked)) => panicked.to_string(),
        Err(stopped) => stopped.to_string(),
    };
    let sentence = format!("{caught}; this is a bug of inferometer, please report it");
    Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, sentence))
}
