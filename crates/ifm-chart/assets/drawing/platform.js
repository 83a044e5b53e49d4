// What a chart needs outside of a browser: widths of letters of the bundled font, and one function
// from a drawing to SVG. `advances` is handed in: for each weight, code points and widths in em.
'use strict';
var console = { log() {}, warn() {}, error() {} };
// A still picture waits for nothing.
var setTimeout = () => 0;
var clearTimeout = () => {};

/** Width in em of a letter that the font lacks. */
function strangeAdvance(code) {
  if (code >= 0x300 && code < 0x370) return 0;
  return code >= 0x1100 && (code < 0x1200 || code >= 0x2e80) ? 1 : 0.62;
}

function installMeasure(advances) {
  echarts.setPlatformAPI({
    measureText(text, font) {
      const size = parseFloat((/([\d.]+)px/.exec(font) || [0, 12])[1]);
      const table = /(^|\s)(600|700|bold)\s/.test(font) ? advances.bold : advances.regular;
      let em = 0;
      for (const letter of text || '') {
        const code = letter.codePointAt(0);
        em += table[code] ?? strangeAdvance(code);
      }
      return { width: em * size };
    },
  });
}

function drawStill(drawingJson, themeJson, width, wantedHeight) {
  const d = JSON.parse(drawingJson);
  const theme = JSON.parse(themeJson);
  const height = wantedHeight > 0 ? wantedHeight : heightOf(d, theme, width);
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    chart.setOption(chartOption(d, theme, width, height));
    return chart.renderToSVGString();
  } finally {
    chart.dispose();
  }
}
