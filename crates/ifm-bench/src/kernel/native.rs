//! Our own kernels' end of the protocol: what `inferometer worker kernels` does.

use super::masks::Masks;
use super::protocol::{
    self, About, Answer, Case, Load, Operation, Order, Pass, Prepared, Timed, VERSION,
};
use ifm_core::sheet::kernel::GEMM;
use ifm_kernels::attention::{Attention, Setup, Shape};
use ifm_kernels::{Bandwidth, Gemm, GemmType, Isa, Motion, Pool};
use std::io::{BufRead, Write};
use std::path::Path;

/// Rows and columns of a product, and numbers of an array, that are checked.
const CORNER: usize = 16;
const MOVED: usize = 256;

/// Answers orders on standard input until it ends. `print` writes each answer, one line.
pub fn serve(print: impl Fn(&str)) {
    let mut worker: Option<Worker> = None;
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let answer = match serde_json::from_str(&line) {
            _ if !ifm_engine::BUILT => Err(ifm_engine::NOT_BUILT.to_owned()),
            Ok(Order::Load(load)) => Worker::new(&load).map(|made| {
                let about = made.about();
                worker = Some(made);
                Answer::Ready(Box::new(about))
            }),
            Ok(order) => match &mut worker {
                Some(worker) => worker.answer(order),
                None => Err("nothing is loaded".to_owned()),
            },
            Err(error) => Err(format!("not an order: {error}")),
        };
        let answer = answer.unwrap_or_else(|why| Answer::Cannot { why });
        print(&format!("{}\n", serde_json::json!(answer)));
    }
}

/// Threads and instructions, and the case that is prepared.
struct Worker {
    pool: Pool,
    isa: Isa,
    ready: Option<Ready>,
    /// Written so that caches hold nothing else.
    flushed: Vec<u8>,
}

/// A case with its numbers.
enum Ready {
    Attention(Box<Attention>),
    Gemm(Box<Gemm>),
    Bandwidth(Box<Bandwidth>),
}

impl Worker {
    fn new(load: &Load) -> Result<Worker, String> {
        if load.protocol != VERSION {
            return Err(format!("our kernels speak protocol {VERSION}, not {}", load.protocol));
        }
        if let Some(device) = load.device.as_deref().filter(|device| *device != "cpu") {
            return Err(format!("native kernels run on the processor (cpu), not on \"{device}\""));
        }
        let isa = match &load.instructions {
            None => Isa::best(),
            Some(name) => name.parse::<Isa>().map_err(|error| error.to_string())?,
        };
        if !isa.is_here() {
            return Err(format!("this processor has no {isa}"));
        }
        let processors = ifm_sys::thread::allowed_cpus().map_or(1, |cpus| cpus.len());
        let threads = load.threads.map_or(processors, |threads| threads as usize);
        let pool = Pool::new(threads.max(1));
        if pool.threads() < threads {
            return Err(format!("the system gives {} threads, not {threads}", pool.threads()));
        }
        Ok(Worker { pool, isa, ready: None, flushed: Vec::new() })
    }

    fn about(&self) -> About {
        About {
            provider: "native".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            device: "cpu".to_owned(),
            threads: u32::try_from(self.pool.threads()).ok(),
            instructions: Some(self.isa.name().to_owned()),
            ..About::default()
        }
    }

    fn answer(&mut self, order: Order) -> Result<Answer, String> {
        match order {
            Order::Load(_) => Err("everything is loaded".to_owned()),
            Order::Prepare { case, seed, check } => {
                // What was prepared goes first: its memory may be needed.
                self.ready = None;
                self.prepare(&case, seed, &check).map(Answer::Prepared)
            }
            Order::Time { pass, warm_up, repeats, flush_bytes } => {
                self.time(pass, (warm_up, repeats), flush_bytes).map(Answer::Timed)
            }
        }
    }

    fn prepare(&mut self, case: &Case, seed: u64, check: &Path) -> Result<Prepared, String> {
        let mut prepared = Prepared::default();
        let (arrays, ready) = match &case.operation {
            Operation::Attention(of) => {
                let (arrays, ready) = self.attention(case, of, seed, &mut prepared)?;
                (arrays, Ready::Attention(Box::new(ready)))
            }
            Operation::Gemm { m, n, k } => {
                let (arrays, ready) = self.gemm(case, (*m, *n, *k), seed, &mut prepared)?;
                (arrays, Ready::Gemm(Box::new(ready)))
            }
            Operation::Bandwidth { bytes } => {
                let motion: Motion =
                    case.implementation.parse().map_err(|error| format!("{error}"))?;
                if case.kind != "f32" {
                    return Err(format!("arrays are of f32, not of {}", case.kind));
                }
                fits(*bytes as f64 * motion.arrays() as f64)?;
                let mut moved = Bandwidth::new(motion, *bytes as usize, self.isa)
                    .map_err(|error| error.to_string())?;
                moved.run(&self.pool);
                let [a, b, c] = moved.first(MOVED);
                let arrays = match motion {
                    Motion::Read => vec![vec![moved.sum() as f32]],
                    Motion::Write => vec![a, vec![moved.written()]],
                    Motion::Copy | Motion::Triad => vec![a, b, c],
                };
                (arrays, Ready::Bandwidth(Box::new(moved)))
            }
        };
        write(check, &arrays)?;
        self.ready = Some(ready);
        Ok(prepared)
    }

    fn attention(
        &self,
        case: &Case,
        of: &protocol::Attention,
        seed: u64,
        prepared: &mut Prepared,
    ) -> Result<(Vec<Vec<f32>>, Attention), String> {
        let method = case.implementation.parse().map_err(|error| format!("{error}"))?;
        let element = case.kind.parse().map_err(|error| format!("{error}"))?;
        let mut masks = Masks::default();
        masks.add(&of.mask.name, of.block)?;
        let placed = masks.placed(of).ok_or_else(|| format!("no mask {}", of.mask.name))?;
        let numbers = of.batch * of.width * (of.query_heads * of.queries + of.kv_heads * of.keys);
        // In the type and widened: inputs, outputs, gradients.
        fits(numbers as f64 * 32.0)?;
        let setup = Setup {
            shape: Shape {
                batch: of.batch as usize,
                query_heads: of.query_heads as usize,
                kv_heads: of.kv_heads as usize,
                queries: of.queries as usize,
                keys: of.keys as usize,
                width: of.width as usize,
            },
            mask: &placed,
            method,
            element,
            isa: self.isa,
            block: of.block as usize,
            seed,
        };
        let mut attention = Attention::new(&setup).map_err(|error| error.to_string())?;
        attention.forward(&self.pool);
        let backward = of.passes.contains(&Pass::Backward);
        if backward {
            attention.backward(&self.pool);
        }
        let head = attention.head(of.check_batch as usize, of.check_kv_head as usize);
        let mut arrays = vec![head.q, head.k, head.v, head.dout, head.out];
        if backward {
            arrays.extend([head.dq, head.dk, head.dv]);
        }
        prepared.mask_ns = u64::try_from(attention.mask_time().as_nanos()).ok();
        prepared.kernels = vec![format!("{} {}", case.implementation, self.isa.name())];
        Ok((arrays, attention))
    }

    fn gemm(
        &self,
        case: &Case,
        (m, n, k): (u64, u64, u64),
        seed: u64,
        prepared: &mut Prepared,
    ) -> Result<(Vec<Vec<f32>>, Gemm), String> {
        if case.implementation != GEMM {
            return Err(format!("there is no product {}, only {GEMM}", case.implementation));
        }
        let kind: GemmType = case.kind.parse().map_err(|error| format!("{error}"))?;
        fits(4.0 * (m as f64 * k as f64 + 3.0 * n as f64 * k as f64 + m as f64 * n as f64))?;
        let mut gemm = Gemm::new(kind, m as usize, n as usize, k as usize, self.isa, seed)
            .map_err(|error| error.to_string())?;
        gemm.run(&self.pool);
        prepared.kernels = vec![gemm.computed().to_owned()];
        Ok((gemm.corner(CORNER).to_vec(), gemm))
    }

    fn time(
        &mut self,
        pass: Pass,
        (warm_up, repeats): (u32, u32),
        flush_bytes: u64,
    ) -> Result<Timed, String> {
        let ready = self.ready.as_mut().ok_or("no case is prepared")?;
        self.flushed.resize(flush_bytes as usize, 0);
        let mut timed = Timed::default();
        for index in 0..warm_up + repeats {
            // Another value each time, so that it is written.
            self.flushed.fill(index as u8);
            std::hint::black_box(&self.flushed);
            let (cpu_ns, begun_ns) = (ifm_sys::process_cpu_ns(), ifm_sys::mono_ns());
            match (&mut *ready, pass) {
                (Ready::Attention(attention), Pass::Forward) => attention.forward(&self.pool),
                (Ready::Attention(attention), Pass::Backward) => attention.backward(&self.pool),
                (Ready::Gemm(gemm), Pass::Forward) => gemm.run(&self.pool),
                (Ready::Bandwidth(moved), Pass::Forward) => moved.run(&self.pool),
                (_, Pass::Backward) => return Err("there is no backward pass".to_owned()),
            }
            let wall_ns = ifm_sys::mono_ns() - begun_ns;
            let cpu_ns = ifm_sys::process_cpu_ns() - cpu_ns;
            if index >= warm_up {
                timed.wall_ns.push(wall_ns.max(1));
                timed.cpu_ns.push(cpu_ns);
            }
        }
        Ok(timed)
    }
}

/// Whether this many more bytes fit in memory.
fn fits(bytes: f64) -> Result<(), String> {
    let Some(available) = ifm_sys::host::available_memory_bytes() else { return Ok(()) };
    match bytes > available as f64 {
        true => Err(format!(
            "it needs about {:.1} GB of memory, and {:.1} GB are free",
            bytes / 1e9,
            available as f64 / 1e9
        )),
        false => Ok(()),
    }
}

/// Writes what is checked: 32-bit floats, the least byte first.
fn write(path: &Path, arrays: &[Vec<f32>]) -> Result<(), String> {
    let told = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).map_err(told)?);
    for number in arrays.iter().flatten() {
        file.write_all(&number.to_le_bytes()).map_err(told)?;
    }
    file.flush().map_err(told)
}
