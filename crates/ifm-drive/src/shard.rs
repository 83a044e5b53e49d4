//! A shard: one thread, one epoll instance, some slots. The hot path.
//!
//! After the start barrier the loop neither allocates nor locks nor formats for an event: it
//! waits, reads once per ready socket into the slot's segment, stamps, and follows the framing.

mod limits;

use crate::Histogram;
use crate::feed::{Claim, Feed, Prepared};
use crate::mark::{LateStamps, Marks};
use crate::plan::{LevelPlan, Loop, StopLevel};
use crate::shared::Shared;
use crate::slot::{Active, Done, Line, Message, Segment, Slot};
use crate::transport::{Transport, cannot_connect, is_hang_up};
use crate::upload::Upload;
use crate::waiting::{REST_NS, WAIT_NS, Waiting};
use ifm_core::record::Phase;
use ifm_sys::{ClockPair, Interest, Poller, enable_stamps, mono_ns, socket, thread};
use ifm_wire::{EndCause, Step};
use std::io::{self, ErrorKind};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Sockets reported by one wait. Small enough that due work is looked at often.
const READY_MAX: usize = 256;
/// Connections opened at the same time before the start: small listen queues must not overflow.
const CONNECTS_AT_ONCE: usize = 64;
/// Connections that a shard of an open loop opens before the start.
const OPEN_AHEAD_MAX: usize = 256;
/// How often limits, the stop and the clocks are looked at.
const SWEEP_NS: u64 = 20_000_000;
/// Slots whose limits are looked at between two looks at what is due: a few microseconds.
const SWEPT_AT_ONCE: usize = 128;
/// About what one read takes. A shard that runs before all other threads does not begin one when a
/// request is due sooner.
const READ_NS: u64 = 10_000;
/// How long arrivals are left to gather before they are read, while they come faster than that.
///
/// Waking up costs more than reading. The kernel has stamped what waits, and events of one stream
/// are further apart than this, so no stamp moves; what moves is the start of a slot's next
/// request, by at most this much. Without kernel stamps nothing is left to gather.
const GATHER_NS: u64 = 100_000;
/// A step of the wall clock against the monotonic one that is counted.
const CLOCK_STEP_NS: i64 = 50_000;
/// First and longest pause of a slot after a failed connection.
const PAUSE_MIN_NS: u64 = 20_000_000;
const PAUSE_MAX_NS: u64 = 1_000_000_000;
/// A wait that takes longer than this had no events when it began.
const WAITED_NS: u64 = 10_000;
/// What the poller calls the connection of the marks; slots have their index.
const MARKS: u64 = u64::MAX;

/// A shard's report about itself at the end.
#[derive(Debug, Default)]
pub(crate) struct ShardReport {
    pub cpu_ns: u64,
    pub wall_ns: u64,
    pub involuntary_switches: u64,
    pub send_lateness: Histogram,
    /// How late the stamps were; empty where the kernel takes them.
    pub late_stamps: LateStamps,
    pub starved_sends: u64,
    pub late_segments: u64,
    pub decoder_stalls: u64,
    pub clock_steps: u64,
    pub reconnects: u64,
    /// Connections opened.
    pub connections: u64,
    /// Whether it ran before all ordinary threads.
    pub ran_first: bool,
    /// (monotonic time, wall minus monotonic clock), about one a second.
    pub clock: Vec<(u64, i64)>,
    /// Why the shard could not run at all.
    pub failure: Option<String>,
}

pub(crate) struct Shard<'level> {
    plan: &'level LevelPlan,
    feed: &'level Feed,
    shared: &'level Shared,
    poller: Poller,
    slots: Vec<Slot>,
    /// Slots without a request.
    idle: Vec<usize>,
    /// Whether such a slot waits for a request whose bytes are not ready.
    is_starved: bool,
    /// A request that is not due yet.
    ahead: Option<Box<Prepared>>,
    /// Slots that pause after a failure, until.
    paused: Vec<(u64, usize)>,
    /// Number of slots with a request.
    active: usize,
    clock: ClockPair,
    clock_noted_ns: u64,
    started: bool,
    /// Measures the delay of stamps that the kernel does not take.
    marks: Option<Marks>,
    /// What is ready now was not ready then.
    unready_ns: u64,
    report: ShardReport,
}

impl<'level> Shard<'level> {
    pub fn new(
        plan: &'level LevelPlan,
        feed: &'level Feed,
        shared: &'level Shared,
        index: usize,
        marks: Option<Marks>,
    ) -> io::Result<Shard<'level>> {
        let ids = (0..plan.slots).filter(|id| *id as usize % plan.shards == index);
        let slots: Vec<Slot> = ids.map(Slot::new).collect();
        let clock = ClockPair::sample();
        let mut report = ShardReport::default();
        report.clock.reserve(1024);
        Ok(Shard {
            plan,
            feed,
            shared,
            poller: Poller::new(READY_MAX)?,
            idle: Vec::with_capacity(slots.len()),
            is_starved: false,
            ahead: None,
            paused: Vec::with_capacity(slots.len()),
            slots,
            active: 0,
            clock,
            clock_noted_ns: 0,
            started: false,
            marks,
            unready_ns: 0,
            report,
        })
    }

    /// Opens the connections, waits for the other shards, and runs the level to its end.
    pub fn run(mut self) -> ShardReport {
        thread::sharpen_timers();
        if let Err(error) = self.open_lines() {
            self.report.failure = Some(format!("the poller failed: {error}"));
            self.shared.stop.raise(StopLevel::Cancel);
        }
        self.shared.wait_for_start();
        self.started = true;
        // Only now: preparation does not belong on a real-time thread, which nothing can preempt.
        self.report.ran_first = self.plan.precise && thread::run_first().is_ok();
        self.idle.extend((0..self.slots.len()).rev());
        let before = thread::usage();
        let start_ns = mono_ns();
        if let Err(error) = self.watch_marks().and_then(|()| self.work()) {
            self.report.failure = Some(format!("the poller failed: {error}"));
            self.shared.stop.raise(StopLevel::Cancel);
            self.cancel_all(mono_ns());
        }
        let after = thread::usage();
        self.report.wall_ns = mono_ns() - start_ns;
        self.report.cpu_ns = after.cpu_ns - before.cpu_ns;
        self.report.involuntary_switches = after.involuntary_switches - before.involuntary_switches;
        if let Some(marks) = self.marks {
            self.report.late_stamps.waking = marks.late;
        }
        self.report
    }

    fn watch_marks(&mut self) -> io::Result<()> {
        let Some(marks) = &self.marks else { return Ok(()) };
        self.poller.add(&marks.stream, MARKS, Interest::Read)
    }

    /// Opens all connections before the start, a few at a time. A slot whose connection fails stays
    /// down and tries again with its first request, which then reports the reason.
    fn open_lines(&mut self) -> io::Result<()> {
        if self.plan.target.fresh_connections {
            return Ok(());
        }
        let wanted = match self.plan.arrivals {
            Loop::Closed => self.slots.len(),
            // How many will be needed depends on the server: the others open when they are.
            Loop::Open => self.slots.len().min(OPEN_AHEAD_MAX),
        };
        let mut next = 0;
        loop {
            while next < wanted && self.opening() < CONNECTS_AT_ONCE {
                let _ = self.dial(next, mono_ns());
                next += 1;
            }
            if self.opening() == 0 || self.shared.stop.level() > StopLevel::Run {
                return Ok(());
            }
            for position in 0..self.poller.wait(Some(WAIT_NS))? {
                let index = self.poller.ready(position).token as usize;
                if self.pick_up(index, mono_ns()).is_err() {
                    self.slots[index].hang_up();
                }
            }
            let now = mono_ns();
            for slot in &mut self.slots {
                if slot.line.is_late(now, self.plan.limits.connect_ns) {
                    slot.hang_up();
                }
            }
        }
    }

    /// Number of connections that are being made.
    fn opening(&self) -> usize {
        self.slots.iter().filter(|slot| !matches!(slot.line, Line::Down | Line::Up)).count()
    }

    fn work(&mut self) -> io::Result<()> {
        let mut next_sweep_ns = 0;
        let mut woken_ns = mono_ns();
        let mut was_full = false;
        let mut rested_ns = mono_ns();
        loop {
            let mut now = mono_ns();
            if now >= next_sweep_ns {
                self.sweep(now);
                next_sweep_ns = now + SWEEP_NS;
            }
            let waiting = self.start_idle(now);
            let idle = self.idle.is_empty() && self.paused.is_empty() && self.active == 0;
            if idle && waiting == Waiting::No {
                return Ok(());
            }
            let begun_ns = mono_ns();
            let mut count = self.poller.wait(Some(waiting.timeout_ns(now)))?;
            if self.report.ran_first {
                rested_ns = waiting.rest(now, rested_ns);
            }
            now = mono_ns();
            // A wait that took its time ended when something came. Another found what had come since the
            // last one, or what that had no room to tell.
            if now - begun_ns > WAITED_NS {
                self.unready_ns = now;
            } else if !was_full {
                self.unready_ns = woken_ns;
            }
            was_full = count == READY_MAX;
            let since_woken_ns = now - woken_ns;
            let pause_ns = GATHER_NS.saturating_sub(since_woken_ns).min(waiting.rest_ns(now));
            if count > 0 && self.plan.kernel_stamps && pause_ns > 0 {
                std::thread::sleep(Duration::from_nanos(pause_ns));
                count = self.poller.wait(Some(0))?;
                now = mono_ns();
                rested_ns = now;
            }
            woken_ns = now;
            for position in 0..count {
                // Due work waits for at most one read.
                self.send_due();
                let ready = self.poller.ready(position);
                if ready.token == MARKS {
                    if let Some(marks) = &mut self.marks {
                        marks.take(count);
                    }
                    continue;
                }
                let index = ready.token as usize;
                // Anything else that is ready is reported again.
                if ready.has_error && self.note_stamps(index) {
                    continue;
                }
                if ready.writable && self.slots[index].waits_to_write {
                    self.advance(index);
                }
                if ready.readable {
                    self.receive(index);
                }
                // Free slots of a closed loop do not wait for the end of a long batch.
                if position % 64 == 63 {
                    now = mono_ns();
                    self.start_idle(now);
                }
            }
        }
    }

    /// Sends a request whose time has come, or, if this shard runs before all other threads, comes
    /// before the end of the next read.
    fn send_due(&mut self) {
        if self.ahead.is_none() {
            return;
        }
        let now = mono_ns();
        let Waiting::Until { due_ns } = self.start_idle(now) else { return };
        if self.report.ran_first && due_ns <= now + READ_NS {
            while mono_ns() < due_ns {
                std::hint::spin_loop();
            }
            self.start_idle(mono_ns());
        }
    }

    /// Gives requests to free slots; what it waits for where one stays free.
    fn start_idle(&mut self, now: u64) -> Waiting {
        while let Some(&index) = self.idle.last() {
            if let Some(request) = self.ahead.take_if(|_| self.feed.is_over_at(now)) {
                self.feed.set_aside(*request);
            }
            let request = match self.ahead.take() {
                Some(request) => request,
                None => match self.feed.claim(now) {
                    Claim::Request(request) => {
                        // Once for each request, however often it was asked for.
                        self.report.starved_sends += u64::from(self.is_starved);
                        request
                    }
                    Claim::Later { starved } => {
                        self.is_starved |= starved;
                        return Waiting::ForFeed;
                    }
                    Claim::Never => {
                        self.idle.clear();
                        self.paused.clear();
                        return Waiting::No;
                    }
                },
            };
            if let Some(due_ns) = self.feed.due_ns(&request).filter(|due_ns| *due_ns > now) {
                self.ahead = Some(request);
                return Waiting::Until { due_ns };
            }
            self.idle.pop();
            self.start(index, request);
        }
        self.is_starved = false;
        Waiting::No
    }

    fn start(&mut self, index: usize, request: Box<Prepared>) {
        self.shared.progress.in_flight.fetch_add(1, Ordering::Relaxed);
        self.active += 1;
        let slot = &mut self.slots[index];
        slot.reader.reset();
        if self.plan.target.fresh_connections && slot.line_used {
            slot.hang_up();
        }
        let start_ns = mono_ns();
        self.feed.begun(start_ns);
        let of_turn = request.meta.turn.and_then(|turn| turn.due_ns);
        // A request that waited for a slot was late from when the slot was free, and not before the
        // measurement began: a slot that ends its warm-up early waits for the others on purpose.
        let measured_from_ns = self.feed.measure_start_ns().unwrap_or(0);
        let free_ns = slot.free_since_ns.map(|free_ns| free_ns.max(measured_from_ns));
        let due_ns = self.feed.due_ns(&request).or(of_turn).max(free_ns);
        if let Some(due_ns) = due_ns
            && request.phase == Phase::Measure
        {
            self.report.send_lateness.record(start_ns.saturating_sub(due_ns));
        }
        slot.active = Some(Active {
            request,
            start_ns,
            sent_ns: None,
            sent: 0,
            upload: Upload::default(),
            connect_ns: None,
            tls_ns: None,
            dead_ns: None,
            on_reused_line: slot.line_used,
            last_activity_ns: start_ns,
            has_bytes: false,
            asked_decoder: None,
        });
        if slot.line == Line::Down
            && let Err(error) = self.dial(index, start_ns)
        {
            return self.end(index, EndCause::Broken(cannot_connect(&error)), mono_ns());
        }
        self.advance(index);
    }

    /// Begins a connection.
    fn dial(&mut self, index: usize, now: u64) -> io::Result<()> {
        let addresses = &self.plan.target.addresses;
        let slot = &mut self.slots[index];
        let address = addresses[slot.id as usize % addresses.len()];
        let stream = socket::connect_start(address)?;
        if self.plan.kernel_stamps {
            // Without stamps the run is still right, only less exact; health says how many had one.
            let _ = enable_stamps(&stream);
        }
        self.poller.add(&stream, index as u64, Interest::ReadWrite)?;
        slot.transport = Some(match &self.plan.target.tls {
            None => Transport::plain(stream),
            Some(tls) => {
                let session = tls.session().map_err(|error| io::Error::other(error.to_string()))?;
                Transport::tls(stream, session)
            }
        });
        slot.waits_to_write = true;
        slot.line_used = false;
        slot.line = Line::Connecting { since_ns: now };
        Ok(())
    }

    /// Goes on with a connection that is being made; true when it is up.
    fn pick_up(&mut self, index: usize, now: u64) -> io::Result<bool> {
        let slot = &mut self.slots[index];
        let Some(transport) = &mut slot.transport else { return Ok(false) };
        if let Line::Connecting { since_ns } = slot.line {
            if transport.socket().peer_addr().is_err() {
                socket::connect_result(transport.socket())?;
                return Ok(false);
            }
            socket::connect_result(transport.socket())?;
            slot.line = Line::Shaking { since_ns: now, connect_ns: now - since_ns };
        }
        if let Line::Shaking { since_ns, connect_ns } = slot.line {
            if !transport.shake_hands()? {
                let writes = transport.wants_write();
                self.watch(index, writes)?;
                return Ok(false);
            }
            slot.line = Line::Up;
            self.report.connections += 1;
            if let Some(active) = &mut slot.active {
                active.connect_ns = Some(connect_ns);
                active.tls_ns = self.plan.target.tls.as_ref().map(|_| mono_ns() - since_ns);
            }
            self.watch(index, false)?;
        }
        Ok(self.slots[index].line == Line::Up)
    }

    /// Asks epoll about writability, or no longer.
    fn watch(&mut self, index: usize, writes: bool) -> io::Result<()> {
        let slot = &mut self.slots[index];
        let Some(transport) = &slot.transport else { return Ok(()) };
        if slot.waits_to_write != writes {
            let interest = if writes { Interest::ReadWrite } else { Interest::Read };
            self.poller.modify(transport.socket(), index as u64, interest)?;
            slot.waits_to_write = writes;
        }
        Ok(())
    }

    /// Connects, shakes hands and sends as far as the socket allows.
    fn advance(&mut self, index: usize) {
        if let Err(error) = self.try_advance(index) {
            self.line_broke(index, &error);
        }
    }

    fn try_advance(&mut self, index: usize) -> io::Result<()> {
        if self.slots[index].line != Line::Up && !self.pick_up(index, mono_ns())? {
            return Ok(());
        }
        let slot = &mut self.slots[index];
        let (Some(transport), Some(active)) = (&mut slot.transport, &mut slot.active) else {
            return Ok(());
        };
        if active.sent_ns.is_some() {
            return Ok(());
        }
        let done = transport.send(&active.request.bytes, &mut active.sent)?;
        let now = mono_ns();
        active.last_activity_ns = now;
        if done {
            active.sent_ns = Some(now);
            active.upload.written(transport, active.sent);
        }
        self.watch(index, !done)
    }

    /// Reads the kernel's timestamps of sent bytes; returns whether there were any.
    fn note_stamps(&mut self, index: usize) -> bool {
        let slot = &mut self.slots[index];
        let Some(transport) = &slot.transport else { return false };
        let mut unused = Upload::default();
        let (upload, start_ns) = match &mut slot.active {
            Some(active) => (&mut active.upload, active.start_ns),
            // For a request that was answered before all of it had arrived.
            None => (&mut unused, 0),
        };
        upload.note(transport, self.clock, start_ns, mono_ns())
    }

    /// Reads once from a ready connection.
    fn receive(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if slot.line != Line::Up {
            // During a handshake, readiness to read is progress of the handshake.
            return self.advance(index);
        }
        let Some(transport) = &mut slot.transport else { return };
        let Some(active) = &mut slot.active else {
            // Unsolicited bytes: the server closed an idle connection, or sent data between
            // requests.
            self.report.reconnects += u64::from(slot.line_used);
            return slot.hang_up();
        };
        if !slot.segment.has_room(transport.room()) || slot.segment.is_due(slot.id) {
            self.flush(index);
            return self.receive(index);
        }
        let before = slot.segment.bytes.len();
        let arrival = match transport.receive(&mut slot.segment.bytes) {
            Ok(arrival) => arrival,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) if error.kind() == ErrorKind::Interrupted => return,
            Err(error) => return self.line_broke(index, &error),
        };
        let now = mono_ns();
        if arrival.bytes > 0 {
            if !self.plan.kernel_stamps {
                self.report.late_stamps.reading.record(now - self.unready_ns);
            }
            slot.segment.note_read(now, arrival.kernel_real_ns, self.clock, active.start_ns);
            active.last_activity_ns = now;
            active.has_bytes = true;
            let mut input = &slot.segment.bytes[before..];
            loop {
                match slot.reader.step(&mut input) {
                    Ok(Step::NeedMore) => break,
                    Ok(Step::Head | Step::Body(_)) => {}
                    Ok(Step::End) => {
                        let clean = input.is_empty() && active.sent_ns.is_some();
                        if !clean || !slot.reader.may_reuse() {
                            slot.hang_up();
                        }
                        return self.end(index, EndCause::Complete, now);
                    }
                    // The decoder meets the same error in the same bytes and puts it in words.
                    Err(_) => {
                        slot.hang_up();
                        return self.end(index, EndCause::Complete, now);
                    }
                }
            }
        }
        if arrival.closed {
            if active.on_reused_line && !active.has_bytes {
                return self.try_again(index);
            }
            slot.hang_up();
            self.end(index, EndCause::Closed, now);
        }
    }

    /// A connection failed. On a line that had been idle, the request is sent once more on a new
    /// one (the server may have closed it meanwhile); otherwise the request has failed.
    fn line_broke(&mut self, index: usize, error: &io::Error) {
        let slot = &mut self.slots[index];
        let was_up = slot.line == Line::Up;
        let Some(active) = &slot.active else { return slot.hang_up() };
        let died_idle = active.on_reused_line && !active.has_bytes;
        if was_up && died_idle && is_hang_up(error) {
            return self.try_again(index);
        }
        slot.hang_up();
        let sentence = match was_up {
            true => format!("the connection broke: {error}"),
            false => cannot_connect(error),
        };
        self.end(index, EndCause::Broken(sentence), mono_ns());
    }

    /// Sends the request again on a new connection. Its start stamp stays: the time counts.
    fn try_again(&mut self, index: usize) {
        self.report.reconnects += 1;
        let now = mono_ns();
        let slot = &mut self.slots[index];
        slot.hang_up();
        if let Some(active) = &mut slot.active {
            active.dead_ns = Some(now.saturating_sub(active.start_ns));
            active.on_reused_line = false;
            active.sent = 0;
            active.sent_ns = None;
            active.upload = Upload::default();
        }
        match self.dial(index, now) {
            Ok(()) => self.advance(index),
            Err(error) => self.end(index, EndCause::Broken(cannot_connect(&error)), mono_ns()),
        }
    }

    /// Ends the request of a slot and frees it.
    fn end(&mut self, index: usize, cause: EndCause, now: u64) {
        if self.slots[index].active.as_ref().is_some_and(|active| active.upload.is_open()) {
            self.note_stamps(index);
        }
        let slot = &mut self.slots[index];
        let Some(active) = slot.active.take() else { return };
        self.active -= 1;
        slot.line_used = slot.line == Line::Up;
        let broken = matches!(cause, EndCause::Broken(_)) && !active.has_bytes;
        slot.failures = if broken { slot.failures.saturating_add(1) } else { 0 };
        if broken {
            let pause = (PAUSE_MIN_NS << slot.failures.min(6)).min(PAUSE_MAX_NS);
            self.paused.push((now + pause, index));
            slot.free_since_ns = None;
        } else {
            self.idle.push(index);
            slot.free_since_ns = Some(now);
        }
        if active.request.phase == Phase::Warmup {
            self.feed.warmup_ended();
        }
        let done = Box::new(Done {
            request: active.request,
            start_ns: active.start_ns,
            sent_ns: active.sent_ns,
            acked_ns: active.upload.acked_ns(),
            end_ns: now,
            connect_ns: active.connect_ns,
            tls_ns: active.tls_ns,
            dead_ns: active.dead_ns,
            sent_bytes: active.sent,
            cause,
        });
        let id = slot.id;
        let segment = self.swap_segment(index);
        self.post(Message::End { slot: id, segment, done });
        self.shared.progress.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// Hands what was read so far of the slot's response to the decoder.
    fn flush(&mut self, index: usize) {
        let slot = self.slots[index].id;
        let Some(active) = &self.slots[index].active else { return };
        let (seq, tokens_asked) = (active.request.seq, active.request.meta.output_tokens_asked);
        let segment = self.swap_segment(index);
        self.post(Message::Part { slot, seq, tokens_asked, segment });
    }

    fn swap_segment(&mut self, index: usize) -> Box<Segment> {
        let fresh = self.shared.spare_segments.pop().unwrap_or_else(|| {
            self.report.late_segments += u64::from(self.started);
            Box::new(Segment::new())
        });
        std::mem::replace(&mut self.slots[index].segment, fresh)
    }

    /// Puts a message on the decoder's queue. A full queue means that the decoder is far
    /// behind: memory stays bounded, the wait is counted, and kernel stamps stay right.
    fn post(&mut self, message: Message) {
        let mut message = message;
        while let Err(back) = self.shared.post(message) {
            message = back;
            self.report.decoder_stalls += 1;
            // A yield only lets threads of equal priority run, and the decoder of a shard that runs
            // first has a lower one.
            match self.report.ran_first {
                true => std::thread::sleep(Duration::from_nanos(REST_NS)),
                false => std::thread::yield_now(),
            }
        }
    }

    /// Looks at the clocks, the stop, the pauses and the limits.
    fn sweep(&mut self, now: u64) {
        let clock = ClockPair::sample();
        self.report.clock_steps +=
            u64::from((clock.offset_ns - self.clock.offset_ns).abs() > CLOCK_STEP_NS);
        self.clock = clock;
        if now >= self.clock_noted_ns + 1_000_000_000 && self.report.clock.len() < 100_000 {
            self.report.clock.push((clock.mono_ns, clock.offset_ns));
            self.clock_noted_ns = now;
        }
        let idle = &mut self.idle;
        self.paused.retain(|&(until, index)| {
            let over = now >= until;
            if over {
                idle.push(index);
            }
            !over
        });
        if self.shared.stop.level() == StopLevel::Cancel {
            return self.cancel_all(now);
        }
        for index in 0..self.slots.len() {
            if index % SWEPT_AT_ONCE == SWEPT_AT_ONCE - 1 {
                self.send_due();
            }
            if self.is_refused(index) {
                self.slots[index].hang_up();
                self.end(index, EndCause::Refused, now);
            } else if let Some(kind) = self.limit_reached(index, now) {
                self.slots[index].hang_up();
                self.end(index, EndCause::TimedOut(kind), now);
            }
        }
    }

    fn cancel_all(&mut self, now: u64) {
        for index in 0..self.slots.len() {
            if self.slots[index].active.is_some() {
                self.slots[index].hang_up();
                self.end(index, EndCause::Cancelled, now);
            }
        }
    }
}
