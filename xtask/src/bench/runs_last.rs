//! What a thread that runs last leaves of a processor to one that does not.
//!
//! The flag `--precise` keeps a processor awake with such a thread: what it takes from others is what
//! that costs them.

use super::lab::Lab;
use super::statistics::median;
use super::table::{Table, number, verdict};
use anyhow::{Context as _, Result};
use ifm_sys::{thread, thread_cpu_ns};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const LASTS: Duration = Duration::from_secs(2);
/// Largest share of the processor that it may take, percent.
const TARGET_PERCENT: f64 = 20.0;

const NOTE: &str = "Two threads that never rest on the client's processor for 2 s: one that runs last, \
    one that does not. The share is that of the first in the time of both.";

/// Runs the benchmark.
///
/// # Errors
/// When the kernel refuses a thread its processor or its place.
pub fn run(lab: &Lab, say: &mut dyn FnMut(&str)) -> Result<Vec<Table>> {
    let mut shares = Vec::new();
    for repeat in 1..=lab.repeats {
        let (last_ns, plain_ns) = side_by_side(lab.client_cpu())?;
        let share = last_ns as f64 / (last_ns + plain_ns).max(1) as f64 * 100.0;
        say(&format!("run {repeat}: {share:.2} %"));
        shares.push(share);
    }
    let mut table = Table::new(
        "A thread that runs last",
        NOTE,
        &["share of a processor, %", "median", "target"],
    );
    let share = median(&shares);
    let target = verdict(share, TARGET_PERCENT, "20");
    table.push(vec!["of the one that runs last".to_owned(), number(share, 2), target]);
    Ok(vec![table])
}

/// CPU time of the two threads, nanoseconds: the one that runs last first.
fn side_by_side(cpu: usize) -> Result<(u64, u64)> {
    let is_over = AtomicBool::new(false);
    let spent = |runs_last: bool| -> Result<u64> {
        thread::pin_to(&[cpu]).context("no place on the client's processor")?;
        if runs_last {
            thread::run_last().context("a thread may not run last")?;
        }
        let before_ns = thread_cpu_ns();
        while !is_over.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        Ok(thread_cpu_ns() - before_ns)
    };
    let spent = &spent;
    std::thread::scope(|scope| {
        let threads = [true, false].map(|runs_last| scope.spawn(move || spent(runs_last)));
        std::thread::sleep(LASTS);
        is_over.store(true, Ordering::Relaxed);
        let [last, plain] = threads
            .map(|thread| thread.join().unwrap_or_else(|_| anyhow::bail!("a thread panicked")));
        Ok((last?, plain?))
    })
}
