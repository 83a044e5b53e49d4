//! Apache ECharts inside an embedded JavaScript engine: a drawing goes in, SVG comes out.
//!
//! Loading the library takes some tenths of a second, so each thread keeps its engine once it has
//! drawn a chart. The script has no clock, no file and no network; its memory is bounded.
//! What is not here: how the SVG is cleaned up ([`super::svg`]).

use super::letters;
use crate::ChartError;
use crate::drawing::DRAWING;
use crate::packed::LIBRARY;
use crate::theme::{Theme, palette};
use rquickjs::{CatchResultExt, Context, Ctx, Function, Runtime, Value};
use std::cell::RefCell;

/// Memory that the engine may take; a large chart needs some tens of MiB.
const MEMORY_BYTES: usize = 512 << 20;
/// Stack of the script, within the 2 MiB that threads have.
const STACK_BYTES: usize = 1 << 20;
const PLATFORM: &str = include_str!("../../assets/drawing/platform.js");

thread_local! {
    static ENGINE: RefCell<Option<Engine>> = const { RefCell::new(None) };
}

struct Engine {
    context: Context,
    /// Owns the memory that the context lives in.
    _runtime: Runtime,
}

/// The SVG of a drawing, as ECharts writes it.
///
/// # Errors
/// [`ChartError::Engine`] if the script fails or runs out of memory.
pub(crate) fn draw(
    drawing: &serde_json::Value,
    theme: Theme,
    width: u32,
    height: Option<u32>,
) -> Result<String, ChartError> {
    ENGINE.with(|cell| {
        let mut slot = cell.borrow_mut();
        if slot.is_none() {
            *slot = Some(Engine::load()?);
        }
        let Some(engine) = slot.as_ref() else {
            return Err(ChartError::Engine("the engine did not start".to_owned()));
        };
        let result = engine.draw(drawing, theme, width, height);
        if result.is_err() {
            // Whatever state a failure has left goes with the engine.
            *slot = None;
        }
        result
    })
}

fn failed(error: impl std::fmt::Display) -> ChartError {
    ChartError::Engine(error.to_string())
}

impl Engine {
    fn load() -> Result<Self, ChartError> {
        let runtime = Runtime::new().map_err(failed)?;
        runtime.set_memory_limit(MEMORY_BYTES);
        runtime.set_max_stack_size(STACK_BYTES);
        let context = Context::full(&runtime).map_err(failed)?;
        context.with(|ctx| {
            evaluate(&ctx, &LIBRARY)?;
            evaluate(&ctx, &format!("{DRAWING}{PLATFORM}"))?;
            evaluate(&ctx, &format!("installMeasure({})", letters::advances()))
        })?;
        Ok(Self { context, _runtime: runtime })
    }

    fn draw(
        &self,
        drawing: &serde_json::Value,
        theme: Theme,
        width: u32,
        height: Option<u32>,
    ) -> Result<String, ChartError> {
        self.context.with(|ctx| {
            let draw: Function<'_> = ctx.globals().get("drawStill").catch(&ctx).map_err(failed)?;
            let arguments =
                (drawing.to_string(), palette(theme).to_string(), width, height.unwrap_or(0));
            draw.call(arguments).catch(&ctx).map_err(failed)
        })
    }
}

fn evaluate(ctx: &Ctx<'_>, source: &str) -> Result<(), ChartError> {
    ctx.eval::<Value<'_>, _>(source).catch(ctx).map_err(failed)?;
    Ok(())
}
