//! Power limits and clocks as conditions: held by the guard, set, read back, and followed by a wait
//! for a steady temperature.

use crate::terminal;
use ifm_launch::guard::{Guard, Held, Undo};
use ifm_plan::{Condition, Setter};
use ifm_telemetry::control::{Control, ControlError};
use ifm_telemetry::steady::{Steadiness, SteadyRule, steadiness};
use std::time::{Duration, Instant};

const MW_PER_W: f64 = 1e3;
/// Time between two readings of the temperature.
const PERIOD: Duration = Duration::from_secs(1);

/// Sets a power limit (watts) or a clock (MHz) on the GPUs of a condition. Its undo is held first,
/// once per GPU.
///
/// # Errors
/// One sentence: missing permissions, a value that the GPU does not accept, or no GPU.
pub fn set(
    condition: &Condition,
    value: &str,
    guard: &Guard,
    is_first: bool,
) -> Result<Vec<Held>, String> {
    let words = |error: ControlError| error.to_string();
    let control = Control::open(ifm_machine::facts::library().as_deref()).map_err(words)?;
    let number: f64 = value.parse().map_err(|_| format!("{value} is not a number"))?;
    let gpus: Vec<u32> = match condition.gpus.is_empty() {
        true => (0..control.count()).collect(),
        false => condition.gpus.clone(),
    };
    if gpus.is_empty() {
        return Err("the driver knows no GPU".to_owned());
    }
    let mut held = Vec::new();
    for &gpu in &gpus {
        if is_first {
            let undo = match condition.setter() {
                Setter::Clocks => Undo::Clocks { gpu },
                _ => {
                    let milliwatts = control.power_limit(gpu).map_err(words)?.set_mw;
                    Undo::PowerLimit { gpu, milliwatts }
                }
            };
            held.push(guard.hold(undo).map_err(|failure| failure.to_string())?);
        }
        match condition.setter() {
            Setter::Clocks => control.lock_clocks(gpu, number as u32, number as u32),
            _ => control.set_power_limit(gpu, (number * MW_PER_W).round() as u32).map(|_| ()),
        }
        .map_err(words)?;
    }
    if let Some(limit_s) = condition.settle_s {
        settle(&control, &gpus, limit_s);
    }
    Ok(held)
}

/// Why no value of a condition can be set on this machine, as far as that is known without setting
/// one.
pub fn obstacle(condition: &Condition) -> Option<String> {
    let control = match Control::open(ifm_machine::facts::library().as_deref()) {
        Ok(control) => control,
        Err(ControlError::NoDriver(why)) => return Some(format!("no NVIDIA driver ({why})")),
        Err(error) => return Some(error.to_string()),
    };
    let count = control.count();
    if count == 0 {
        return Some("the driver reports no GPU".to_owned());
    }
    if let Some(gpu) = condition.gpus.iter().find(|gpu| **gpu >= count) {
        return Some(format!("there is no GPU {gpu}"));
    }
    let wrong = condition.values.iter().find(|value| value.parse::<f64>().is_err());
    wrong.map(|value| format!("\"{value}\" is not a number"))
}

/// Waits until the temperature of each GPU is steady, up to a limit, and reports GPUs where it is
/// not.
fn settle(control: &Control, gpus: &[u32], limit_s: f64) {
    let rule = SteadyRule { limit_s, ..SteadyRule::default() };
    let begun = Instant::now();
    let mut readings = vec![Vec::new(); gpus.len()];
    loop {
        let now_s = begun.elapsed().as_secs_f64();
        let mut is_over = true;
        for (gpu, readings) in gpus.iter().zip(&mut readings) {
            // A GPU that does not report its temperature is not waited for.
            let Ok(degrees) = control.temperature(*gpu) else { continue };
            readings.push((now_s, f64::from(degrees)));
            match steadiness(readings, now_s, &rule) {
                Steadiness::Steady => {}
                Steadiness::Waiting => is_over = false,
                Steadiness::GaveUp(slope) => {
                    let slope = slope.map_or_else(String::new, |slope| {
                        format!(" ({slope:+.1} degrees per minute)")
                    });
                    terminal::warn(&format!(
                        "GPU {gpu}: the temperature is not steady after {limit_s} s{slope}"
                    ));
                }
            }
        }
        if is_over {
            return;
        }
        std::thread::sleep(PERIOD);
    }
}
