//! What the rows of the table of metrics are made of.

/// What a metric's values are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricUnit {
    /// Nanoseconds.
    Ns,
    /// Tokens per second.
    TokPerS,
    /// Requests per second.
    ReqPerS,
    /// Steps per second.
    StepPerS,
    /// Sessions per hour.
    SessionPerHour,
    /// Images per second.
    ImagePerS,
    /// Millions of pixels per second.
    MegapixelPerS,
    /// A share, 0 to 1.
    Share,
    /// Bytes.
    Bytes,
    /// Joules.
    J,
    /// Watts.
    W,
    /// Bytes per second.
    BytesPerS,
    /// Floating-point operations per second.
    FlopPerS,
    /// US dollars.
    Usd,
    /// A number as it is: tokens of a pass, tokens over tokens, seconds over seconds.
    Plain,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// A smaller value is better.
    Lower,
    /// A larger value is better.
    Higher,
    /// Neither: a number of requests, a length.
    Neither,
}

/// How many values a metric has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    /// One or more for each request, and a latency target can bound them.
    Bounded,
    /// One or more for each request or call.
    Many,
    /// One number for a level.
    One,
    /// One number for a level, and a latency target can bound it.
    OneBounded,
}

/// Who has a metric: the groups in which they are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Answers,
    Media,
    Sessions,
    Drafts,
    Tools,
    Commands,
    /// What documents state beside them: it has no word on the command line.
    Stated,
}

/// The groups in the order of the list, each with the prefix of its metrics.
pub(super) const GROUPS: [(Group, &str); 6] = [
    (Group::Answers, ""),
    (Group::Media, "of media "),
    (Group::Sessions, "of conversations "),
    (Group::Drafts, "with speculative decoding "),
    (Group::Tools, "of engines, kernels and files of other tools "),
    (Group::Commands, "of commands "),
];

/// What metrics of one kind have in common.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub(super) unit: MetricUnit,
    pub(super) direction: Direction,
    pub(super) values: Values,
}

impl Kind {
    pub(super) const fn new(unit: MetricUnit, direction: Direction, values: Values) -> Kind {
        Kind { unit, direction, values }
    }
}

pub(super) const TARGET: Kind = Kind::new(MetricUnit::Ns, Direction::Lower, Values::Bounded);
pub(super) const TIME: Kind = Kind::new(MetricUnit::Ns, Direction::Lower, Values::Many);
pub(super) const SPEED: Kind = Kind::new(MetricUnit::TokPerS, Direction::Higher, Values::Many);
pub(super) const TOKENS: Kind = Kind::new(MetricUnit::TokPerS, Direction::Higher, Values::One);
pub(super) const REQUESTS: Kind = Kind::new(MetricUnit::ReqPerS, Direction::Higher, Values::One);
pub(super) const FAILED: Kind = Kind::new(MetricUnit::Share, Direction::Lower, Values::One);
pub(super) const OK: Kind = Kind::new(MetricUnit::Share, Direction::Higher, Values::One);
pub(super) const FAILED_SESSIONS: Kind =
    Kind::new(MetricUnit::Share, Direction::Lower, Values::OneBounded);
pub(super) const CACHED: Kind = Kind::new(MetricUnit::Share, Direction::Higher, Values::Many);
pub(super) const UNCACHED: Kind = Kind::new(MetricUnit::Share, Direction::Lower, Values::Bounded);
pub(super) const PLAIN: Kind = Kind::new(MetricUnit::Plain, Direction::Higher, Values::One);
pub(super) const HEARD: Kind = Kind::new(MetricUnit::Plain, Direction::Higher, Values::Many);
pub(super) const RATIO: Kind = Kind::new(MetricUnit::Plain, Direction::Lower, Values::Bounded);
pub(super) const SESSIONS: Kind =
    Kind::new(MetricUnit::SessionPerHour, Direction::Higher, Values::One);
pub(super) const IMAGES: Kind = Kind::new(MetricUnit::ImagePerS, Direction::Higher, Values::One);
pub(super) const PIXELS: Kind =
    Kind::new(MetricUnit::MegapixelPerS, Direction::Higher, Values::One);
pub(super) const STEPS: Kind = Kind::new(MetricUnit::StepPerS, Direction::Higher, Values::One);
pub(super) const SPAN: Kind = Kind::new(MetricUnit::Ns, Direction::Lower, Values::One);
pub(super) const BYTES: Kind = Kind::new(MetricUnit::Bytes, Direction::Lower, Values::One);
pub(super) const COUNT: Kind = Kind::new(MetricUnit::Plain, Direction::Neither, Values::One);
pub(super) const SHARE: Kind = Kind::new(MetricUnit::Share, Direction::Neither, Values::One);
pub(super) const WATTS: Kind = Kind::new(MetricUnit::W, Direction::Lower, Values::One);
pub(super) const BANDWIDTH: Kind = Kind::new(MetricUnit::BytesPerS, Direction::Higher, Values::One);
pub(super) const ARITHMETIC: Kind = Kind::new(MetricUnit::FlopPerS, Direction::Higher, Values::One);
pub(super) const MONEY: Kind = Kind::new(MetricUnit::Usd, Direction::Lower, Values::One);
pub(super) const ENERGY: Kind = Kind::new(MetricUnit::J, Direction::Lower, Values::One);

/// A row of the table.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) about: &'static str,
    pub(super) word: &'static str,
    pub(super) name: &'static str,
    pub(super) short: Option<&'static str>,
    pub(super) stored: Option<&'static str>,
    pub(super) prose: Option<&'static str>,
    pub(super) group: Group,
    pub(super) kind: Kind,
    pub(super) key: Option<&'static str>,
    pub(super) needs_stream: bool,
    pub(super) may_be_absent: bool,
    pub(super) may_be_estimated: bool,
    pub(super) has_several: bool,
    pub(super) is_detail: bool,
}

pub(super) const fn row(group: Group, kind: Kind, word: &'static str, name: &'static str) -> Row {
    Row {
        about: "",
        word,
        name,
        short: None,
        stored: None,
        prose: None,
        group,
        kind,
        key: None,
        needs_stream: false,
        may_be_absent: false,
        may_be_estimated: false,
        has_several: false,
        is_detail: false,
    }
}

impl Row {
    /// Documents state it: its name as a stored figure, and its name in a sentence. Times from the due
    /// time are in no document: other tools count from the sending.
    pub(super) const fn figure(self, stored: &'static str, prose: &'static str) -> Row {
        Row { stored: Some(stored), prose: Some(prose), ..self }
    }

    /// Every request has its values, and this is their name in JSON, where `{}` is the unit of a time.
    /// It puts the metric into results: the summary of a level, reports, JSON.
    pub(super) const fn key(self, key: &'static str) -> Row {
        Row { key: Some(key), ..self }
    }

    /// The name in a narrow table, at most ten characters.
    pub(super) const fn short(self, short: &'static str) -> Row {
        Row { short: Some(short), ..self }
    }

    /// It is about tokens in time, which only a streamed answer has.
    pub(super) const fn streamed(self) -> Row {
        Row { needs_stream: true, ..self }
    }

    /// It needs the number of tokens, which may be an estimate.
    pub(super) const fn may_be_estimated(self) -> Row {
        Row { may_be_estimated: true, ..self }
    }

    /// A request may have several values: of gaps, or of its sequences.
    pub(super) const fn several(self) -> Row {
        Row { has_several: true, ..self }
    }

    /// Only tables of every metric show it.
    pub(super) const fn detail(self) -> Row {
        Row { is_detail: true, ..self }
    }

    /// A complete answer may lack it and yet be as requested.
    pub(super) const fn may_be_absent(self) -> Row {
        Row { may_be_absent: true, ..self }
    }
}

/// What only documents state: its name as a stored figure, and in a sentence.
pub(super) const fn stated(kind: Kind, stored: &'static str, prose: &'static str) -> Row {
    row(Group::Stated, kind, stored, prose).figure(stored, prose)
}
