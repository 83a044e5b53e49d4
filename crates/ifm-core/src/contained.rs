//! A boundary around code that works on foreign input: a panic inside it becomes an error.
//!
//! The program treats a panic as its own bug and ends, because a load that goes on with a thread less measures
//! something else. That is wrong where a library panics on a damaged file or one request of a page: those run
//! inside [`contained`], or in a task of an async runtime whose thread holds [`TaskBoundary`]. The panic hook of the
//! program asks [`boundary`] what to do.

use std::any::Any;
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static CLOSURES: Cell<u32> = const { Cell::new(0) };
    static TASKS: Cell<u32> = const { Cell::new(0) };
}

/// What catches a panic on the calling thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    /// Nothing: the program cannot go on.
    None,
    /// A task: its runtime drops the task and does not report why, so the hook has to print the panic.
    Task,
    /// A call of [`contained`]: the panic becomes an error that the caller reports.
    Closure,
}

/// The innermost boundary of the calling thread.
pub fn boundary() -> Boundary {
    match (CLOSURES.get(), TASKS.get()) {
        (1.., _) => Boundary::Closure,
        (0, 1..) => Boundary::Task,
        (0, 0) => Boundary::None,
    }
}

/// Held by a thread while it drives an async runtime that catches the panics of its tasks.
#[derive(Debug)]
pub struct TaskBoundary {
    _of_this_thread: PhantomData<*const ()>,
}

impl TaskBoundary {
    /// Marks the calling thread until the value is dropped.
    #[expect(
        clippy::new_without_default,
        reason = "a default with an effect on the thread surprises"
    )]
    pub fn new() -> TaskBoundary {
        TASKS.set(TASKS.get() + 1);
        TaskBoundary { _of_this_thread: PhantomData }
    }
}

impl Drop for TaskBoundary {
    fn drop(&mut self) {
        TASKS.set(TASKS.get() - 1);
    }
}

/// A panic that was caught.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("internal error: {message}")]
pub struct Panicked {
    /// Message of the panic, one line.
    pub message: String,
}

/// Runs `work` and turns a panic in it into an error. What `work` changed outside itself before the panic stays
/// changed, so pass it owned input or data that the caller drops on an error.
///
/// # Errors
/// [`Panicked`], with the message of the panic.
pub fn contained<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    CLOSURES.set(CLOSURES.get() + 1);
    let ended = catch_unwind(AssertUnwindSafe(work));
    CLOSURES.set(CLOSURES.get() - 1);
    ended.map_err(|payload| Panicked { message: message(payload.as_ref()) })
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let line = text.unwrap_or_default().lines().next().unwrap_or_default();
    if line.is_empty() { "a library panicked".to_owned() } else { line.chars().take(300).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_a_panic_into_an_error_and_leaves_the_boundary() {
        assert_eq!(contained(boundary), Ok(Boundary::Closure));
        let caught = contained(|| -> u8 { panic!("row {} is damaged", 7) });
        assert_eq!(caught, Err(Panicked { message: "row 7 is damaged".to_owned() }));
        assert_eq!(boundary(), Boundary::None);
    }

    #[test]
    fn closures_nest() {
        let outer = contained(|| (contained(|| -> u8 { panic!("inner") }).is_err(), boundary()));
        assert_eq!(outer, Ok((true, Boundary::Closure)));
    }

    #[test]
    fn a_task_boundary_ends_with_its_value() {
        let mark = TaskBoundary::new();
        assert_eq!(boundary(), Boundary::Task);
        assert_eq!(contained(boundary), Ok(Boundary::Closure));
        assert_eq!(std::thread::spawn(boundary).join().ok(), Some(Boundary::None));
        drop(mark);
        assert_eq!(boundary(), Boundary::None);
    }
}
