//! Draws one chart of every kind, and charts that are hard to draw, into a folder:
//! `cargo run -p ifm-chart --example gallery -- FOLDER`.

#[path = "../tests/it/sample.rs"]
mod sample;

use ifm_chart::{Screen, Theme, braille, css, csv, figure, png, script, svg};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("name a folder")?);
    std::fs::create_dir_all(&folder)?;
    let charts = sample::all().into_iter().chain(sample::hostile());
    let mut page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport \
         content=\"width=device-width\"><title>charts</title><style>{}body{{max-width:1500px;\
         margin:auto;padding:16px;font-family:Inter,sans-serif;background:var(--chart-paper);\
         color:var(--chart-ink)}}main{{display:grid;grid-template-columns:repeat(auto-fit,\
         minmax(min(100%,560px),1fr));gap:32px}}figure{{margin:0;min-width:0}}figcaption{{\
         font-weight:600;margin-bottom:8px;overflow-wrap:anywhere}}</style><main>",
        css()
    );
    for (index, chart) in charts.enumerate() {
        let caption = chart.title.replace('&', "&amp;").replace('<', "&lt;");
        page += &format!("<figure><figcaption>{caption}</figcaption>{}</figure>", figure(&chart)?);
        let screen = Screen { columns: 80, lines: 20, is_ascii: false, has_color: false };
        let plain = Screen { is_ascii: true, ..screen };
        let text = [braille(&chart, screen), braille(&chart, plain), csv(&chart)].join("\n");
        std::fs::write(folder.join(format!("{index:02}.txt")), text)?;
        for (theme, name) in [(Theme::Light, "light"), (Theme::Dark, "dark")] {
            let stem = format!("{index:02}-{name}");
            std::fs::write(folder.join(format!("{stem}.svg")), svg(&chart, theme)?)?;
            std::fs::write(folder.join(format!("{stem}.png")), png(&chart, theme, 1.0)?)?;
        }
    }
    page += &format!("</main><script>{}</script>", script());
    std::fs::write(folder.join("page.html"), page)?;
    Ok(())
}
