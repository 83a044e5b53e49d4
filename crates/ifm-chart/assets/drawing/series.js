// The series of a drawing as series of ECharts, and where their bars and dots lie.
'use strict';

/** Middle and breadth of the lane of a bar or dot across its slot. */
function laneOf(d, frame, series) {
  const most = d.isHorizontal ? 20 : 46;
  const lanes = Math.max(1, d.lanes);
  const breadth = Math.min(most, (frame.slot * (lanes === 1 ? 0.62 : 0.78)) / lanes);
  return { shift: (series.lane - (lanes - 1) / 2) * breadth, breadth };
}

/** Pixel of a point, moved to its lane. */
function pixelOf(d, frame, series, x, y) {
  const [px, py] = frame.at(x, y);
  if (series.lane === null) return [px, py];
  const { shift } = laneOf(d, frame, series);
  return d.isHorizontal ? [px, py + shift] : [px + shift, py];
}

function barBox(d, frame, series, point) {
  const { breadth } = laneOf(d, frame, series);
  const [bx, by] = pixelOf(d, frame, series, point.x, d.base);
  const [px, py] = pixelOf(d, frame, series, point.x, point.y);
  const side = Math.max(1, breadth - 2);
  return d.isHorizontal
    ? { x: Math.min(bx, px), y: py - side / 2, width: Math.abs(px - bx), height: side }
    : { x: px - side / 2, y: Math.min(by, py), width: side, height: Math.abs(py - by) };
}

/** The stretches of points whose interval is known. */
function stretches(points) {
  const all = [];
  let open = [];
  for (const point of points) {
    if (point.low !== null && point.high !== null) open.push(point);
    else if (open.length > 0) { all.push(open); open = []; }
  }
  if (open.length > 0) all.push(open);
  return all;
}

function drawTicks(canvas, d, frame, series) {
  const color = colorOf(canvas.theme, series);
  for (const point of series.points) {
    if (point.y === null) continue;
    const [x, y] = frame.at(point.x, point.y);
    const half = Math.max(6, frame.slot * 0.36);
    const style = { stroke: color, lineWidth: 2.5 };
    if (d.isHorizontal) canvas.line(Z.error, x, y - half, x, y + half, style);
    else canvas.line(Z.error, x - half, y, x + half, y, style);
  }
}

function lineSeries(d, theme, frame, series) {
  const color = colorOf(theme, series);
  const isFaint = series.weight === 'Faint';
  const isStep = series.form === 'Step';
  const swap = (point) => (d.isHorizontal ? [point.y, point.x] : [point.x, point.y]);
  const dense = series.points.length > 60;
  return {
    type: 'line',
    name: series.name,
    clip: false,
    connectNulls: false,
    step: isStep ? 'end' : false,
    showSymbol: !isStep && !dense,
    showAllSymbol: true,
    symbol: SYMBOLS[series.mark],
    symbolSize: series.weight === 'Strong' ? 9 : isFaint ? 5 : 7.5,
    z: isFaint ? Z.series - 0.5 : Z.series,
    lineStyle: { color, width: { Normal: 2, Strong: 3.25, Faint: 1 }[series.weight], type: DASHES[series.dash] || 'solid', opacity: isFaint ? 0.55 : 1, cap: 'round', join: 'round' },
    itemStyle: { color, borderColor: color, borderWidth: 1.75, opacity: isFaint ? 0.7 : 1 },
    emphasis: theme.isLive ? { focus: 'series', scale: 1.3 } : { disabled: true },
    data: series.points.map((point) => (point.y === null ? { value: ['-', '-'] }
      : { value: swap(point), itemStyle: point.trusted ? undefined : { color: theme.paper } })),
  };
}

function dotSeries(d, theme, frame, series) {
  const color = colorOf(theme, series);
  return {
    type: 'custom',
    name: series.name,
    clip: false,
    z: series.weight === 'Faint' ? Z.series - 0.5 : Z.series,
    data: series.points.map((point) => (d.isHorizontal ? [point.y ?? '-', point.x] : [point.x, point.y ?? '-'])),
    renderItem: (params) => {
      const point = series.points[params.dataIndex];
      if (point.y === null) return null;
      const [x, y] = pixelOf(d, frame, series, point.x, point.y);
      const canvas = new Canvas(theme);
      drawMark(canvas, series.mark, x, y, color, point.trusted && isFull(series), Z.series);
      const children = canvas.items.map((item) => ({ type: item.type, shape: item.shape, style: item.style }));
      return { type: 'group', children };
    },
  };
}

function barSeries(d, theme, frame, series) {
  const color = colorOf(theme, series);
  return {
    type: 'custom',
    name: series.name,
    clip: false,
    z: Z.series,
    data: series.points.map((point) => (d.isHorizontal ? [point.y ?? '-', point.x] : [point.x, point.y ?? '-'])),
    renderItem: (params) => {
      const point = series.points[params.dataIndex];
      if (point.y === null) return null;
      return { type: 'group', children: barShapes(theme, barBox(d, frame, series, point), color, series.dash, point.trusted) };
    },
  };
}
