//! Linux: affinity, timer slack, scheduling policies, accounts of a thread.

use super::ThreadUsage;
use std::io;

/// Real-time priorities, the lowest that there are: the kernel's own threads stay above them.
const FIRST: libc::c_int = 2;
const SECOND: libc::c_int = 1;

/// The processors that the calling thread may run on, in ascending order.
///
/// # Errors
/// The kernel's.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let set = rustix::thread::sched_getaffinity(None)?;
    Ok((0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// Ties the calling thread, and threads that it starts later, to some processors.
///
/// # Errors
/// `InvalidInput` when none of them exists or is allowed.
pub fn pin_to(cpus: &[usize]) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| **cpu < rustix::thread::CpuSet::MAX_CPU) {
        set.set(*cpu);
    }
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// Lets the calling thread's timers fire as exactly as the kernel can (slack of 1 ns).
pub fn sharpen_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes one unsigned long and touches no memory of this program; a kernel
    // that refuses it leaves the default slack, which the send-lateness figures then show.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// Asks for the shortest turns that the kernel gives (0.1 ms). A thread that sleeps until something is due
/// and then works for microseconds is let in as soon as it wakes, and not only when the thread on its
/// processor has had its turn of some milliseconds. Kernels before Linux 6.12 change nothing.
pub fn take_short_turns() {
    const TURN_NS: u64 = 100_000;
    // SAFETY: all-zero is a valid sched_attr; the kernel reads as many bytes as its `size` says, and it
    // lives over the call; pid 0 is this thread. Without it wakes are late, which shows when they are timed.
    unsafe {
        let mut attr: libc::sched_attr = std::mem::zeroed();
        attr.size = size_of::<libc::sched_attr>() as u32;
        attr.sched_policy = libc::SCHED_OTHER as u32;
        attr.sched_nice = libc::getpriority(libc::PRIO_PROCESS, 0);
        attr.sched_runtime = TURN_NS;
        libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0);
    }
}

/// Lowers the calling thread's priority, so that threads at the default come first.
pub fn be_nice(steps: i32) {
    // SAFETY: setpriority touches no memory of this program. On Linux `who` 0 is the calling thread.
    // Lowering one's own priority needs no right; a refusal only costs the courtesy.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, steps) };
}

/// Lets the calling thread run before all ordinary ones: the kernel puts it on its processor as
/// soon as it is awake. Threads that it starts are ordinary.
///
/// # Errors
/// `PermissionDenied` without the right to real-time priority (root, `CAP_SYS_NICE`, or a limit
/// `rtprio` above 0).
pub fn run_first() -> io::Result<()> {
    set_policy(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, FIRST)
}

/// Lets the calling thread run before all ordinary ones, and after those that run first.
///
/// # Errors
/// As [`run_first`].
pub fn run_second() -> io::Result<()> {
    set_policy(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, SECOND)
}

/// Lets the calling thread run only where no other thread is runnable, whatever its niceness.
///
/// # Errors
/// The kernel's; every thread may lower itself.
pub fn run_last() -> io::Result<()> {
    set_policy(libc::SCHED_IDLE, 0)
}

fn set_policy(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    // SAFETY: all-zero is a valid sched_param, and it lives over the call; pid 0 is this thread.
    let refused = unsafe {
        let mut param: libc::sched_param = std::mem::zeroed();
        param.sched_priority = priority;
        libc::sched_setscheduler(0, policy, &param)
    };
    if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads the calling thread's accounts.
pub fn usage() -> ThreadUsage {
    // SAFETY: all-zero is a valid rusage, and it lives over the call.
    let accounts = unsafe {
        let mut accounts: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut accounts);
        accounts
    };
    ThreadUsage {
        cpu_ns: crate::clock::thread_cpu_ns(),
        involuntary_switches: accounts.ru_nivcsw.max(0) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_may_run_only_there() {
        std::thread::spawn(|| {
            let cpus = allowed_cpus().unwrap();
            pin_to(&cpus[..1]).unwrap();
            assert_eq!(allowed_cpus().unwrap(), cpus[..1]);
            assert!(pin_to(&[]).is_err());
        })
        .join()
        .unwrap();
    }

    /// Policy and priority of the calling thread.
    fn scheduling() -> (i32, i32) {
        // SAFETY: both read the calling thread's settings, into a value of theirs.
        unsafe {
            let mut set: libc::sched_param = std::mem::zeroed();
            assert_eq!(libc::sched_getparam(0, &mut set), 0);
            (libc::sched_getscheduler(0) & !libc::SCHED_RESET_ON_FORK, set.sched_priority)
        }
    }

    /// What it leaves to others is a matter of the host: the benchmark `runs-last` says how much.
    #[test]
    fn a_thread_that_runs_last_is_idle_to_the_scheduler() {
        std::thread::spawn(|| {
            run_last().unwrap();
            assert_eq!(scheduling(), (libc::SCHED_IDLE, 0));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn running_first_is_granted_or_refused_for_want_of_a_right() {
        for (run, priority) in [(run_first as fn() -> io::Result<()>, FIRST), (run_second, SECOND)]
        {
            std::thread::spawn(move || match run() {
                Ok(()) => assert_eq!(scheduling(), (libc::SCHED_FIFO, priority)),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
            })
            .join()
            .unwrap();
        }
    }
}
