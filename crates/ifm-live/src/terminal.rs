//! The terminal on standard error, as the live view needs it.

use std::fmt::Debug;

/// The terminal on standard error, which the live view shares with all messages of the program.
pub trait LiveTerminal: Debug + Sync {
    /// Prints a line.
    fn say(&self, line: &str);
    /// Prints a warning.
    fn warn(&self, sentence: &str);
    /// Shows a line that the next one replaces.
    fn show_line(&self, line: &str);
    /// Removes that line.
    fn clear_line(&self);
    /// Starts the full screen, which `leave` leaves. Output waits from here on.
    fn begin_screen(&self, leave: fn());
    /// Whether the full screen is active.
    fn has_screen(&self) -> bool;
    /// Writes a picture to the full screen, if it is still active.
    ///
    /// # Errors
    /// The terminal cannot be written.
    fn paint_screen(&self, bytes: &[u8]) -> std::io::Result<()>;
    /// Leaves the full screen, if it is active, and prints what has waited. Any thread may call this
    /// at any time.
    fn end_screen(&self);
    /// The last message that waits for the end of the full screen.
    fn waiting_message(&self) -> Option<String>;
}
