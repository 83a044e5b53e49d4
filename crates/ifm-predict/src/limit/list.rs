//! The tables of machines and models, as text.

use ifm_roofline::{Machine, Model, WeightFormat};

/// Both tables.
pub fn list_text() -> String {
    let mut out = String::from("Machines (dense rates, 1e12 a second):\n");
    out.push_str(&format!(
        "  {:<20} {:>6} {:>6} {:>7} {:>7} {:>7} {:>7}  {}\n",
        "id", "GB/s", "GiB", "bf16", "int8", "fp8", "fp4", "conf"
    ));
    for machine in Machine::all() {
        let or_dash = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value}"));
        out.push_str(&format!(
            "  {:<20} {:>6} {:>6} {:>7} {:>7} {:>7} {:>7}  {:?}\n      {}\n",
            machine.id,
            machine.bandwidth_gb_s,
            or_dash(machine.memory_gib.map(f64::round)),
            machine.bf16_tflops,
            or_dash(machine.int8_tops),
            or_dash(machine.fp8_tflops),
            or_dash(machine.fp4_tflops),
            machine.confidence,
            machine.source
        ));
    }
    out.push_str("\nModels (total parameters, and active parameters per token):\n");
    for model in Model::all() {
        out.push_str(&format!(
            "  {:<20} {:>9.3} B {:>8.3} B  {:<6} {:?}\n      {}\n",
            model.id,
            model.parameters() / 1e9,
            model.active_parameters() / 1e9,
            model.native_format.as_deref().unwrap_or("?"),
            model.confidence,
            model.source
        ));
    }
    let formats: Vec<&str> = WeightFormat::all().map(|format| format.id).collect();
    out.push_str("\nNumber formats:\n");
    for line in formats.chunks(10) {
        out.push_str(&format!("  {}\n", line.join(" ")));
    }
    out.push_str(
        "\nconf: A the vendor's or publisher's own, B derived from it, C a secondary source\n",
    );
    out
}
