//! Energy of processors and their memory: RAPL, by the kernel's tree `/sys/class/powercap`.
//!
//! A counter of microjoules that wraps around at a range of its own, which the kernel reports. Since
//! Linux 5.10 only root may read it. Packages and their memory (`dram`) are added up; cores and
//! graphics are parts of a package, and `psys` is all of it once more.

use crate::sysfs::{entries, number, text};
use crate::{DeviceSource, Reading};
use ifm_core::series::Signal;
use std::path::{Path, PathBuf};

/// Where the kernel lists the zones.
pub const ROOT: &str = "/sys/class/powercap";
const J_PER_UJ: f64 = 1e-6;

/// A package, or the memory at it.
#[derive(Debug)]
struct Zone {
    source: String,
    file: PathBuf,
    range_uj: Option<f64>,
    last_uj: f64,
    /// Energy since the zone was found.
    total_uj: f64,
}

/// Zones that are read again and again.
#[derive(Debug)]
pub struct Zones(Vec<Zone>);

impl Zones {
    /// The zones below a folder, [`ROOT`] on a real host.
    ///
    /// # Errors
    /// Why no zone was found, in words.
    pub fn find(root: &Path) -> Result<Zones, String> {
        let folders = entries(root, |name| {
            name.strip_prefix("intel-rapl:").is_some_and(|number| !number.is_empty())
        });
        if folders.is_empty() {
            return Err(format!("{}: no RAPL here", root.display()));
        }
        let mut zones = Vec::new();
        for folder in folders {
            let Some(name) = text(&folder.join("name")) else { continue };
            if !(name.starts_with("package") || name == "dram") {
                continue;
            }
            let file = folder.join("energy_uj");
            let last_uj = match std::fs::read_to_string(&file) {
                Ok(text) => text.trim().parse::<u64>().ok(),
                Err(error) => return Err(format!("{}: {error}", file.display())),
            };
            let Some(last_uj) = last_uj else { continue };
            let place = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            zones.push(Zone {
                source: format!("RAPL {name} ({place})"),
                range_uj: number(&folder.join("max_energy_range_uj")).filter(|range| *range > 0.0),
                file,
                last_uj: last_uj as f64,
                total_uj: 0.0,
            });
        }
        match zones.is_empty() {
            true => Err(format!("{}: no zone of RAPL is a package", root.display())),
            false => Ok(Zones(zones)),
        }
    }
}

impl Zone {
    /// Energy since the zone was found, joules; absent where the counter cannot be read, or went
    /// back and its range is unknown.
    fn read(&mut self) -> Option<f64> {
        let now_uj = number(&self.file).filter(|now| *now >= 0.0)?;
        let step = match now_uj - self.last_uj {
            step if step >= 0.0 => step,
            step => step + self.range_uj?,
        };
        self.last_uj = now_uj;
        self.total_uj += step.max(0.0);
        Some(self.total_uj * J_PER_UJ)
    }
}

impl DeviceSource for Zones {
    fn words(&self) -> String {
        let packages = self.0.iter().filter(|zone| zone.source.starts_with("RAPL package")).count();
        format!("{packages} processor package{} (RAPL)", if packages == 1 { "" } else { "s" })
    }

    fn read(&mut self) -> Vec<Reading> {
        let read = |zone: &mut Zone| {
            let joules = zone.read()?;
            Some(Reading::new(zone.source.clone(), Signal::CpuEnergy, joules))
        };
        self.0.iter_mut().filter_map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn zone(root: &Path, place: &str, name: &str, energy: &str) {
        let folder = root.join(place);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("name"), format!("{name}\n")).expect("a name");
        fs::write(folder.join("energy_uj"), energy).expect("an energy");
        fs::write(folder.join("max_energy_range_uj"), "1000000\n").expect("a range");
    }

    #[test]
    fn packages_and_memory_are_read_and_the_counter_goes_round() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        zone(root, "intel-rapl:0", "package-0", "900000\n");
        zone(root, "intel-rapl:0:0", "core", "1\n");
        zone(root, "intel-rapl:0:1", "dram", "10\n");
        zone(root, "intel-rapl:1", "psys", "5\n");
        zone(root, "intel-rapl-mmio:0", "package-0", "900000\n");
        fs::create_dir_all(root.join("dtpm")).expect("another");
        let mut zones = Zones::find(root).expect("zones");
        assert_eq!(zones.words(), "1 processor package (RAPL)");
        let joules = |zones: &mut Zones| -> Vec<f64> {
            zones.read().into_iter().map(|told| told.value).collect()
        };
        assert_eq!(joules(&mut zones), [0.0, 0.0]);
        zone(root, "intel-rapl:0", "package-0", "950000\n");
        let found = joules(&mut zones);
        assert!((found[0] - 0.05).abs() < 1e-12 && found[1] == 0.0, "{found:?}");
        // Round its end: 50,000 up to the range and 200,000 after it.
        zone(root, "intel-rapl:0", "package-0", "200000\n");
        let found = joules(&mut zones);
        assert!((found[0] - 0.3).abs() < 1e-12, "{found:?}");
        fs::write(root.join("intel-rapl:0/energy_uj"), "nonsense").expect("an energy");
        assert_eq!(joules(&mut zones).len(), 1);
    }

    #[test]
    fn reports_why_there_is_no_zone() {
        let root = tempfile::tempdir().expect("a folder");
        assert!(Zones::find(root.path()).is_err_and(|why| why.contains("no RAPL")));
        zone(root.path(), "intel-rapl:1", "psys", "5\n");
        assert!(Zones::find(root.path()).is_err_and(|why| why.contains("is a package")));
        zone(root.path(), "intel-rapl:0", "package-0", "5\n");
        let file = root.path().join("intel-rapl:0/energy_uj");
        fs::remove_file(&file).expect("gone");
        fs::create_dir(&file).expect("a folder in its place");
        assert!(Zones::find(root.path()).is_err_and(|why| why.contains("energy_uj")));
    }
}
