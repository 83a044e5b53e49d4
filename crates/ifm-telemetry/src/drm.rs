//! GPUs that the kernel itself reports on: amdgpu, i915 and xe, by `/sys/class/drm` and its
//! sensors (`hwmon`).
//!
//! Files and units after the kernel's documentation of hwmon and amdgpu: microwatts, microjoules,
//! thousandths of a degree, hertz.

use crate::sysfs::{entries, number, text};
use crate::{DeviceSource, Reading};
use ifm_core::series::Signal;
use std::path::{Path, PathBuf};

/// Where the kernel lists graphics devices.
pub const ROOT: &str = "/sys/class/drm";
/// Drivers whose sensors mean what is written here.
const DRIVERS: [&str; 3] = ["amdgpu", "i915", "xe"];

/// A file, its quantity, and the factor that converts its number to our unit. If several files have
/// one quantity, the first readable one is used.
const SENSORS: [(&str, Signal, f64); 6] = [
    ("power1_average", Signal::GpuPower, 1e-6),
    ("power1_input", Signal::GpuPower, 1e-6),
    ("energy1_input", Signal::GpuEnergy, 1e-6),
    ("temp1_input", Signal::GpuTemperature, 1e-3),
    ("freq1_input", Signal::GpuClock, 1e-6),
    ("freq2_input", Signal::GpuMemoryClock, 1e-6),
];
const DEVICE_FILES: [(&str, Signal, f64); 2] = [
    ("gpu_busy_percent", Signal::GpuBusyShare, 1e-2),
    ("mem_info_vram_used", Signal::GpuMemory, 1.0),
];

/// One graphics card.
#[derive(Debug)]
struct Card {
    source: String,
    device: PathBuf,
    sensors: PathBuf,
}

/// Cards that are read again and again.
#[derive(Debug)]
pub struct Cards(Vec<Card>);

impl Cards {
    /// The cards below a folder, [`ROOT`] on a real host, that report a power or an energy; with
    /// their place in the list, or those whose places are given.
    ///
    /// # Errors
    /// Why no card was found, in words.
    pub fn find(root: &Path, wanted: Option<&[u32]>) -> Result<Cards, String> {
        let is_card = |name: &str| {
            name.strip_prefix("card").is_some_and(|number| {
                !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
            })
        };
        let cards = (0..).zip(entries(root, is_card).into_iter().filter_map(|path| card(&path)));
        let cards: Vec<Card> = cards
            .filter(|(place, _)| wanted.is_none_or(|wanted| wanted.contains(place)))
            .map(|(_, card)| card)
            .collect();
        match cards.is_empty() {
            true => Err(format!("{}: no card reports its power", root.display())),
            false => Ok(Cards(cards)),
        }
    }
}

fn card(path: &Path) -> Option<Card> {
    let device = path.join("device");
    let sensors = entries(&device.join("hwmon"), |name| name.starts_with("hwmon"))
        .into_iter()
        .find(|folder| {
            text(&folder.join("name")).is_some_and(|name| DRIVERS.contains(&name.as_str()))
        })?;
    let driver = text(&sensors.join("name"))?;
    let name = path.file_name()?.to_str()?;
    let card = Card { source: format!("{driver} {name}"), device, sensors };
    let reports = card
        .read()
        .iter()
        .any(|told| matches!(told.quantity, Signal::GpuPower | Signal::GpuEnergy));
    reports.then_some(card)
}

impl Card {
    fn read(&self) -> Vec<Reading> {
        let files = SENSORS.iter().map(|file| (&self.sensors, file));
        let files = files.chain(DEVICE_FILES.iter().map(|file| (&self.device, file)));
        let mut readings: Vec<Reading> = Vec::new();
        for (folder, (file, quantity, factor)) in files {
            if readings.iter().all(|told| told.quantity != *quantity) {
                let value = number(&folder.join(file));
                readings.extend(
                    value.map(|value| Reading::new(self.source.clone(), *quantity, value * factor)),
                );
            }
        }
        readings
    }
}

impl DeviceSource for Cards {
    fn words(&self) -> String {
        match self.0.as_slice() {
            [only] => only.source.clone(),
            many => format!("{} cards of {}", many.len(), ROOT),
        }
    }

    fn read(&mut self) -> Vec<Reading> {
        self.0.iter().flat_map(Card::read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, text).expect("a file");
        }
        root
    }

    const TWO: [(&str, &str); 11] = [
        ("card0/device/hwmon/hwmon3/name", "amdgpu\n"),
        ("card0/device/hwmon/hwmon3/power1_average", "187000000\n"),
        ("card0/device/hwmon/hwmon3/power1_input", "1\n"),
        ("card0/device/hwmon/hwmon3/temp1_input", "54000\n"),
        ("card0/device/hwmon/hwmon3/freq1_input", "2100000000\n"),
        ("card0/device/gpu_busy_percent", "93\n"),
        ("card0/device/mem_info_vram_used", "1048576\n"),
        ("card0-DP-1/device/hwmon/hwmon3/name", "amdgpu\n"),
        ("card1/device/hwmon/hwmon4/name", "xe\n"),
        ("card1/device/hwmon/hwmon4/energy1_input", "5500000\n"),
        ("card2/device/hwmon/hwmon5/name", "nouveau\n"),
    ];

    #[test]
    fn cards_of_a_tree_are_read() {
        let root = tree(&TWO);
        let mut cards = Cards::find(root.path(), None).expect("cards");
        let found: Vec<(String, &str, i64)> = cards
            .read()
            .into_iter()
            .map(|told| (told.source, told.quantity.word(), (told.value * 100.0).round() as i64))
            .collect();
        let amd = "amdgpu card0".to_owned();
        assert_eq!(
            found,
            [
                (amd.clone(), "gpu_power_w", 18700),
                (amd.clone(), "gpu_temperature_c", 5400),
                (amd.clone(), "gpu_clock_mhz", 210_000),
                (amd.clone(), "gpu_busy_share", 93),
                (amd, "gpu_memory_bytes", 104_857_600),
                ("xe card1".to_owned(), "gpu_energy_j", 550),
            ]
        );
        let second = Cards::find(root.path(), Some(&[1])).expect("a card");
        assert_eq!(second.words(), "xe card1");
    }

    #[test]
    fn a_card_without_power_is_not_a_source() {
        assert!(Cards::find(Path::new("/nowhere"), None).is_err());
        let root = tree(&[
            ("card0/device/hwmon/hwmon3/name", "amdgpu"),
            ("card0/device/hwmon/hwmon3/power1_average", "not a number"),
            ("card1/device/hwmon/hwmon4/power1_input", "1000000"),
        ]);
        assert!(Cards::find(root.path(), None).is_err());
    }
}
