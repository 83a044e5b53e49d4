// Puts live charts in the place of still ones: once they come near the view, again when their
// width or the colours change. Arrow keys walk through the figures and tell them to screen readers.
const dark = matchMedia('(prefers-color-scheme: dark)');

class LiveChart {
  constructor(holder) {
    this.holder = holder;
    this.drawing = JSON.parse(holder.querySelector('script[type="application/json"]').textContent);
    this.width = 0;
    this.place = null;
  }

  start() {
    this.box = document.createElement('div');
    this.box.className = 'chart-live';
    this.box.tabIndex = 0;
    this.box.setAttribute('role', 'application');
    this.box.setAttribute('aria-roledescription', 'chart');
    this.box.setAttribute('aria-label', `${this.drawing.title} ${this.drawing.description} Arrow keys read the figures.`);
    this.told = document.createElement('div');
    this.told.className = 'chart-told';
    this.told.setAttribute('role', 'status');
    this.holder.append(this.box, this.told);
    this.box.addEventListener('keydown', (event) => this.onKey(event));
    this.box.addEventListener('blur', () => this.hide());
    this.holder.classList.add('is-live');
  }

  draw() {
    const width = Math.floor(this.holder.clientWidth);
    if (width < 40) return;
    if (!this.box) this.start();
    this.width = width;
    const theme = { ...(dark.matches ? THEMES.dark : THEMES.light), isPage: true, isLive: true };
    const height = heightOf(this.drawing, theme, width);
    this.box.style.height = `${height}px`;
    if (!this.chart) this.chart = echarts.init(this.box, null, { renderer: 'svg', width, height });
    else this.chart.resize({ width, height, silent: true });
    this.chart.setOption(chartOption(this.drawing, theme, width, height), { notMerge: true });
    this.stops = this.findStops();
  }

  /** Where the arrow keys stop: series of the live chart, index, words. */
  findStops() {
    const d = this.drawing;
    if (d.kind === 'heatmap') {
      const name = (heading) => (heading.group === '' ? heading.name : `${heading.group}, ${heading.name}`);
      return [d.cells.map((cell, index) => ({ series: 0, index, words: `${name(d.rows[cell.row])}; ${name(d.columns[cell.column])}: ${cell.told}` }))];
    }
    if (d.kind !== 'cartesian') return [];
    const live = d.series.filter((series) => ['Line', 'Step', 'Bar', 'Dots'].includes(series.form));
    return live.map((series, at) => series.points
      .map((point, index) => ({ series: at, index, words: `${series.name}, ${point.head}: ${point.told}`, isDrawn: point.y !== null }))
      .filter((stop) => stop.isDrawn)).filter((stops) => stops.length > 0);
  }

  onKey(event) {
    if (event.key === 'Escape') { this.hide(); return; }
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!step || this.stops.length === 0) return;
    event.preventDefault();
    const [row, column] = this.place === null ? [0, 0] : [this.place[0] + step[0], this.place[1] + step[1]];
    const line = clamp(row, 0, this.stops.length - 1);
    const stop = clamp(column, 0, this.stops[line].length - 1);
    this.place = [line, stop];
    const { series, index, words } = this.stops[line][stop];
    this.chart.dispatchAction({ type: 'showTip', seriesIndex: series, dataIndex: index });
    this.told.textContent = words;
  }

  hide() {
    this.place = null;
    if (this.chart) this.chart.dispatchAction({ type: 'hideTip' });
  }
}

const charts = new Map(Array.from(document.querySelectorAll('[data-chart]'), (holder) => [holder, new LiveChart(holder)]));
const redraw = () => charts.forEach((chart) => { if (chart.box) chart.draw(); });
const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const chart = charts.get(target);
    if (Math.floor(target.clientWidth) !== chart.width) chart.draw();
  }
});
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    charts.get(target).draw();
    resized.observe(target);
  }
}, { rootMargin: '400px' });
charts.forEach((_, holder) => seen.observe(holder));
dark.addEventListener('change', redraw);
// Labels are measured with the font that the page brings.
if (document.fonts) document.fonts.ready.then(redraw);
