//! A sheet that is stored as JSON reads back as the same sheet, bit for bit.

use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{
    Definition, Factors, Figure, Part, PartKind, Place, Remark, RemarkKind, Row, RowRole,
    SheetRequest, Source, Statistic, StdKind, Unit,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value};

fn place() -> impl Strategy<Value = Place> {
    (option::of(any::<u32>()), option::of(any::<String>()))
        .prop_map(|(line, pointer)| Place { line, pointer })
}

fn number() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO
}

fn quantity() -> impl Strategy<Value = Metric> {
    prop_oneof![
        Just(Metric::Ttft),
        Just(Metric::OutputRate),
        Just(Metric::PeakInFlight),
        any::<String>().prop_map(Metric::other),
    ]
}

fn statistic() -> impl Strategy<Value = Statistic> {
    prop_oneof![
        Just(Statistic::Value),
        Just(Statistic::HalfWidth),
        number().prop_map(Statistic::Percentile),
        prop_oneof![Just(StdKind::Sample), Just(StdKind::Population), Just(StdKind::Unknown)]
            .prop_map(Statistic::Std),
    ]
}

fn unit() -> impl Strategy<Value = Unit> {
    prop_oneof![
        Just(Unit::Ms),
        Just(Unit::GbPerS),
        Just(Unit::MiB),
        any::<String>().prop_map(Unit::Other)
    ]
}

fn definition() -> impl Strategy<Value = Definition> {
    prop_oneof![
        Just(Definition::Same),
        Just(Definition::Unstated),
        any::<String>().prop_map(Definition::Derivable),
        any::<String>().prop_map(Definition::Different),
    ]
}

fn figure() -> impl Strategy<Value = Figure> {
    let place = option::of(place());
    let text = option::of(any::<String>());
    (quantity(), statistic(), option::of(number()), unit(), text, definition(), place).prop_map(
        |(quantity, statistic, value, unit, printed, definition, place)| Figure {
            quantity,
            statistic,
            value,
            unit,
            printed,
            definition,
            place,
        },
    )
}

fn factors() -> impl Strategy<Value = Factors> {
    vec((any::<String>(), any::<String>()), 0..4).prop_map(|pairs| {
        let mut factors = Factors::default();
        pairs.into_iter().for_each(|(name, value)| factors.set(name, value));
        factors
    })
}

/// Fields that no figure holds, of every kind that JSON has.
fn unknown() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        number().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((any::<String>(), inner), 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    });
    vec((any::<String>(), value), 0..3).prop_map(|fields| fields.into_iter().collect())
}

fn request() -> impl Strategy<Value = SheetRequest> {
    let times = (option::of(number()), option::of(number()), option::of(number()));
    let counts = (option::of(any::<u32>()), option::of(any::<u64>()), option::of(any::<u64>()));
    (times, counts, option::of(any::<String>())).prop_map(|(times, counts, error)| SheetRequest {
        start_s: times.0,
        client_queue_ms: times.1,
        ttft_ms: times.2,
        e2e_ms: times.0,
        gaps: counts.0,
        gaps_sum_ms: times.1,
        gap_max_ms: times.2,
        input_tokens: counts.1,
        output_tokens: counts.2,
        status: error.as_ref().and(Some(503)),
        error,
    })
}

fn row() -> impl Strategy<Value = Row> {
    let role = prop_oneof![
        Just(RowRole::Measured),
        Just(RowRole::Summary),
        Just(RowRole::Stated),
        Just(RowRole::Planned)
    ];
    let texts = (option::of(any::<String>()), option::of(any::<String>()));
    (role, place(), texts, factors(), vec(figure(), 0..3), vec(request(), 0..2), unknown())
        .prop_map(|(role, place, (label, text), factors, figures, requests, unknown)| Row {
            role,
            place,
            label,
            factors,
            figures,
            requests,
            text,
            unknown,
            spreads: Vec::new(),
        })
}

fn part() -> impl Strategy<Value = Part> {
    let kind = prop_oneof![Just(PartKind::Serving), Just(PartKind::StaticBatch)];
    let texts = (option::of(any::<String>()), vec(any::<String>(), 0..3));
    (kind, texts, place(), factors(), vec(row(), 0..3), unknown()).prop_map(
        |(kind, (tool, headings), place, factors, rows, unknown)| Part {
            kind,
            tool,
            headings,
            place,
            factors,
            rows,
            unknown,
        },
    )
}

fn sheet() -> impl Strategy<Value = Sheet> {
    let tool = (option::of(any::<String>()), option::of(any::<String>()));
    let source = (any::<String>(), any::<String>(), tool, any::<u64>()).prop_map(
        |(name, format, (tool, tool_version), bytes)| Source {
            name,
            format,
            tool,
            tool_version,
            bytes,
            run_id: None,
        },
    );
    let kind = prop_oneof![Just(RemarkKind::Repaired), Just(RemarkKind::Lost)];
    let remark = (kind, place(), any::<String>()).prop_map(|(kind, place, text)| Remark {
        kind,
        place,
        text,
    });
    (source, vec(part(), 0..3), vec(remark, 0..3)).prop_map(|(source, parts, remarks)| Sheet {
        source,
        parts,
        remarks,
    })
}

/// The same bits: `==` would take -0 for 0.
fn bits(sheet: &Sheet) -> String {
    format!("{sheet:?}")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]
    #[test]
    fn a_stored_sheet_is_the_same_sheet(sheet in sheet()) {
        let text = serde_json::to_string(&sheet).expect("JSON");
        let back: Sheet = serde_json::from_str(&text).expect("a sheet");
        prop_assert_eq!(bits(&back), bits(&sheet));
        prop_assert_eq!(serde_json::to_string(&back).expect("JSON"), text);
    }
}
