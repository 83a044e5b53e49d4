//! Stores with small runs.

use ifm_core::{Manifest, RunData};
use ifm_metrics::testing::{NoisyLoop, noisy_run};
use ifm_store::{RunWriter, Store};

/// A store that goes with the test.
pub struct Shelf {
    pub folder: tempfile::TempDir,
    pub store: Store,
}

/// A run of two levels whose answers take so long.
pub fn noisy(ttft_ms: f64, seed: u64) -> RunData {
    let level = |users| NoisyLoop {
        users,
        rounds: 40,
        ttft_ms,
        itl_ms: 10.0,
        tokens: 12,
        spread: 0.1,
        memory: 0.2,
        seed,
    };
    noisy_run(&[level(1), level(4)])
}

impl Shelf {
    pub fn empty() -> Shelf {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("runs"));
        Shelf { folder, store }
    }

    /// A store with a base and a faster variant.
    pub fn of_two() -> Shelf {
        let shelf = Shelf::empty();
        shelf.sealed("20261120-120000-0001", noisy(100.0, 1), |head| {
            head.name = Some("base".to_owned());
        });
        shelf.sealed("20261120-130000-0002", noisy(50.0, 2), |head| {
            head.name = Some("faster".to_owned());
        });
        shelf
    }

    /// Adds a sealed run whose head is changed first.
    pub fn sealed(&self, id: &str, mut run: RunData, change: impl FnOnce(&mut Manifest)) {
        run.manifest.run_id = id.to_owned();
        change(&mut run.manifest);
        self.begin(&run).seal(run.manifest, &run.series).unwrap();
    }

    /// Adds a run that has all its requests and is not sealed.
    pub fn begin(&self, run: &RunData) -> RunWriter {
        let mut writer = self.store.create(&run.manifest).unwrap();
        run.requests.iter().for_each(|record| writer.append(record).unwrap());
        writer.tick(0).unwrap();
        writer
    }

    /// Every file of the store with its content: what a refused request must not change.
    pub fn state(&self) -> Vec<(std::path::PathBuf, Vec<u8>)> {
        let mut folders = vec![self.folder.path().to_owned()];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => files.push((path.clone(), std::fs::read(&path).unwrap())),
                }
            }
        }
        files.sort();
        files
    }
}
