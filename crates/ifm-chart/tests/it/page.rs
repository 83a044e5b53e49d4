//! What goes into a page: nothing that a strict content policy forbids, and the files as bundled.

use crate::sample;
use ifm_chart::{css, figure, font_bold_ttf, font_bold_woff2, font_ttf, font_woff2, script};
use sha2::{Digest, Sha256};

#[test]
fn bundled_files_are_those_that_are_written_down() {
    let readme = include_str!("../../assets/README.md");
    let files: [(&str, &[u8]); 5] = [
        ("echarts/echarts.min.js", include_bytes!("../../assets/echarts/echarts.min.js")),
        ("font/Inter-Regular.ttf", font_ttf()),
        ("font/Inter-Regular.woff2", font_woff2()),
        ("font/Inter-SemiBold.ttf", font_bold_ttf()),
        ("font/Inter-SemiBold.woff2", font_bold_woff2()),
    ];
    for (name, bytes) in files {
        let sum: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let row = readme.lines().find(|line| line.contains(&format!("`{name}`"))).unwrap();
        assert!(row.contains(&sum), "{name}: {sum}");
    }
}

#[test]
fn a_figure_keeps_to_a_strict_content_policy() {
    for chart in sample::all().into_iter().chain(sample::hostile()) {
        let html = figure(&chart).unwrap();
        assert!(!html.contains(" style="), "{}", chart.id);
        // The data cannot end its element, and no name begins another.
        let scripts = html.matches("<script").count();
        assert_eq!(scripts, html.matches("<script type=\"application/json\">").count());
        assert_eq!(scripts, html.matches("</script>").count(), "{}", chart.id);
    }
    for forbidden in ["eval(", "new Function", "import(", "fetch(", "XMLHttpRequest", "</script"] {
        assert!(!script().contains(forbidden), "{forbidden}");
    }
}

#[test]
fn a_switch_only_where_both_axes_say_something() {
    assert_eq!(figure(&sample::itl()).unwrap().matches("type=\"radio\"").count(), 2);
    assert_eq!(figure(&sample::pareto()).unwrap().matches("type=\"radio\"").count(), 0);
    // Negative and missing values have no logarithm.
    for chart in sample::hostile().iter().take(3) {
        assert!(!figure(chart).unwrap().contains("type=\"radio\""), "{}", chart.id);
    }
}

#[test]
fn every_colour_of_a_figure_is_in_the_style_sheet() {
    for chart in sample::all() {
        let html = figure(&chart).unwrap();
        for variable in html.split("var(").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert_eq!(css().matches(&format!("{variable}:")).count(), 3, "{variable}");
        }
    }
}
