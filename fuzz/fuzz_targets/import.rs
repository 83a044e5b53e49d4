//! Files of other tools: whatever the bytes are, they are read or it is told why not.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(sheet) = ifm_interop::read(ifm_interop::Input::new("fuzz", bytes)) else { return };
    for row in sheet.parts.iter().flat_map(|part| &part.rows) {
        for figure in &row.figures {
            assert!(figure.value.is_none_or(f64::is_finite), "{figure:?}");
        }
    }
});
