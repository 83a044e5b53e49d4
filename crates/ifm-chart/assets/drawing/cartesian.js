// The drawing of series over two axes. Places come as shares of the axes from 0 to 1; here they
// become pixels, so that labels can be kept apart for the width at hand.
'use strict';

/** Whether a series is named at its end rather than in a legend. */
function isNamedAtEnd(series) {
  return series.form === 'Line';
}

/** Last drawn point of a series. */
function lastOf(series) {
  for (let i = series.points.length - 1; i >= 0; i--) {
    if (series.points[i].y !== null) return series.points[i];
  }
  return null;
}

/** Which series are named where: at line ends if the ends are at the right. */
function naming(d) {
  const lines = d.series.filter(isNamedAtEnd).filter((series) => lastOf(series) !== null);
  const atRight = lines.every((series) => lastOf(series).x > 0.55);
  const rises = lines.every((series) => series.points.every((point, i) => i === 0 || point.x >= series.points[i - 1].x));
  const ends = !d.isHorizontal && atRight && rises ? lines : [];
  const others = d.series.filter((series) => !ends.includes(series) && series.name !== '');
  const isNeedless = ends.length === 0 && others.length === 1 && others[0].form !== 'Tick';
  const isSaid = ends.length === 1 && others.length === 0 && d.y.name.startsWith(ends[0].name);
  return { ends: isSaid ? [] : ends, legend: isNeedless ? [] : others };
}

function cartesianHeight(d, width) {
  if (d.isEmpty) return 170;
  if (!d.isHorizontal) return Math.round(clamp(width * 0.54, 280, 420));
  const rows = d.x.ticks.length;
  const lane = Math.max(1, d.lanes);
  const room = rowNameWidth(d, width);
  const isHigh = d.x.ticks.some((tick) => widthOf(tick.text, SIZE.text) > room);
  const row = clamp(lane * 15 + 12, isHigh ? 2 * LINE + 6 : 24, 90);
  const canvas = new Canvas({ colors: ['#000'] });
  const top = drawHead(canvas, d, naming(d).legend, width, d.pad);
  return Math.ceil(top + rows * row + 60 + d.pad);
}

/** Room for the names of rows; those that need more are written in two lines. */
function rowNameWidth(d, width) {
  const widest = d.x.ticks.reduce((most, tick) => Math.max(most, widthOf(tick.text, SIZE.text)), 0);
  return Math.min(widest, (width - 2 * d.pad) * 0.42);
}

/** Where the plot lies and what surrounds it. */
function frameOf(canvas, d, width, height) {
  const names = naming(d);
  const pad = d.pad;
  const widest = (ticks) => ticks.reduce((most, tick) => Math.max(most, widthOf(tick.text, SIZE.text)), 0);
  let top = drawHead(canvas, d, names.legend, width, pad);
  const frame = { names, pad, width, height };
  if (d.isHorizontal) {
    frame.left = pad + rowNameWidth(d, width) + 10;
    frame.right = pad + Math.max(widest(d.y.ticks.slice(-1)) / 2, rowTextWidth(d));
    frame.bottom = pad + 22 + (d.y.name === '' ? 0 : 20);
    top += 4;
  } else {
    frame.nameRow = top + 8;
    if (d.y.name !== '' || d.y.second) top += 27;
    else top += 8;
    frame.left = pad + widest(d.y.ticks) + 10;
    const room = names.ends.reduce((most, series) => Math.max(most, widthOf(series.short, SIZE.text, 600)), 0);
    // There may be too many to show; then their count has to fit as well.
    const count = names.ends.length > 12 ? widthOf('and 888 more', SIZE.text) : 0;
    frame.labelWidth = Math.max(count, Math.min(room, Math.max(60, width * 0.27)));
    const last = d.x.isCategory || d.x.ticks.length === 0 ? 0 : widthOf(d.x.ticks[d.x.ticks.length - 1].text, SIZE.text) / 2;
    const second = d.y.second ? widest(d.y.second.ticks) + 10 : 0;
    frame.right = pad + Math.max(names.ends.length > 0 ? frame.labelWidth + 20 : 6, last, 0) + second;
    frame.second = second;
    frame.xLines = d.x.isCategory ? categoryLines(d, width - frame.left - frame.right) : 1;
    frame.bottom = pad + 8 + frame.xLines * 15 + (d.x.name === '' ? 2 : 22);
  }
  frame.top = top;
  frame.plotWidth = Math.max(20, width - frame.left - frame.right);
  frame.plotHeight = Math.max(20, height - top - frame.bottom);
  frame.inside = { x: frame.left, y: frame.top, width: frame.plotWidth, height: frame.plotHeight };
  frame.at = d.isHorizontal
    ? (x, y) => [frame.left + y * frame.plotWidth, frame.top + x * frame.plotHeight]
    : (x, y) => [frame.left + x * frame.plotWidth, frame.top + (1 - y) * frame.plotHeight];
  frame.slot = d.slot * (d.isHorizontal ? frame.plotHeight : frame.plotWidth);
  return frame;
}

/** What is written after a bar of a horizontal chart. */
function rowText(point) {
  return [point.text, point.label].filter((part) => part).join(' ');
}

function rowTextWidth(d) {
  let most = 0;
  for (const series of d.series) {
    for (const point of series.points) {
      const text = series.form === 'Bar' ? rowText(point) : point.label || '';
      most = Math.max(most, widthOf(text, SIZE.small));
    }
  }
  return most === 0 ? 12 : Math.min(most, 170) + 12;
}

function categoryLines(d, room) {
  const slot = room / Math.max(1, d.x.ticks.length) - 6;
  return d.x.ticks.reduce((most, tick) => Math.max(most, wrap(tick.text, SIZE.text, Math.max(slot, 24), 3).length), 1);
}

function drawAxes(canvas, d, frame) {
  const theme = canvas.theme;
  const { left, top, plotWidth, plotHeight, at } = frame;
  const [right, bottom] = [left + plotWidth, top + plotHeight];
  const grid = { stroke: theme.grid, lineWidth: 1 };
  const axis = { stroke: theme.axis, lineWidth: 1 };
  if (d.isHorizontal) {
    for (const tick of spread(d.y.ticks, (t) => at(0, t.at)[0], 8)) {
      const x = at(0, tick.at)[0];
      canvas.line(Z.grid, x, top, x, bottom, grid);
      canvas.text(x, bottom + 13, tick.text, { align: 'center', fill: theme.muted });
    }
    for (const tick of d.x.ticks) {
      const lines = wrap(tick.text, SIZE.text, left - frame.pad - 9.5, 2);
      drawLines(canvas, left - 9, at(tick.at, 0)[1], lines, { align: 'right' });
    }
    const base = at(0, d.base)[0];
    canvas.line(Z.guide, base, top, base, bottom, axis);
    canvas.text((left + right) / 2, bottom + 33, cut(d.y.name, SIZE.text, plotWidth + frame.right), { align: 'center', fill: theme.muted });
    return;
  }
  for (const tick of d.y.ticks) {
    const y = at(0, tick.at)[1];
    canvas.line(Z.grid, left, y, right, y, grid);
    canvas.text(left - 8, y, tick.text, { align: 'right', fill: theme.muted });
  }
  const base = at(0, d.base)[1];
  canvas.line(Z.guide, left, base, right, base, axis);
  const room = frame.width - 2 * frame.pad - 16;
  const own = widthOf(d.y.name, SIZE.text);
  const other = d.y.second ? widthOf(d.y.second.name, SIZE.text) : 0;
  const share = Math.min(1, room / Math.max(1, own + other));
  canvas.text(frame.pad, frame.nameRow, cut(d.y.name, SIZE.text, own * share), { fill: theme.muted });
  if (d.y.second) {
    for (const tick of d.y.second.ticks) {
      canvas.text(frame.width - frame.pad, at(0, tick.at)[1], tick.text, { align: 'right', fill: theme.muted });
    }
    canvas.text(frame.width - frame.pad, frame.nameRow, cut(d.y.second.name, SIZE.text, other * share), { align: 'right', fill: theme.muted });
  }
  drawXTicks(canvas, d, frame, bottom, axis);
  canvas.text((left + right) / 2, bottom + 8 + frame.xLines * 15 + 10, cut(d.x.name, SIZE.text, plotWidth + left), { align: 'center', fill: theme.muted });
}

function drawXTicks(canvas, d, frame, bottom, axis) {
  const { at } = frame;
  if (!d.x.isCategory) {
    for (const tick of d.x.ticks) {
      const x = at(tick.at, 0)[0];
      canvas.line(Z.guide, x, bottom, x, bottom + 4, axis);
    }
    for (const tick of spread(d.x.ticks, (t) => at(t.at, 0)[0], 8)) {
      canvas.text(at(tick.at, 0)[0], bottom + 14, tick.text, { align: 'center', fill: canvas.theme.muted });
    }
    return;
  }
  const slot = frame.plotWidth / Math.max(1, d.x.ticks.length);
  const every = Math.max(1, Math.ceil(30 / slot));
  d.x.ticks.forEach((tick, i) => {
    if (i % every !== 0) return;
    wrap(tick.text, SIZE.text, Math.max(slot * every - 6, 24), 3).forEach((line, k) => {
      canvas.text(at(tick.at, 0)[0], bottom + 14 + k * 15, line, { align: 'center' });
    });
  });
}

/** Those ticks whose words do not touch; first and last are kept. */
function spread(ticks, place, apart) {
  const sorted = [...ticks].sort((a, b) => place(a) - place(b));
  const kept = [];
  const touches = (a, b) => place(b) - place(a) < (widthOf(a.text, SIZE.text) + widthOf(b.text, SIZE.text)) / 2 + apart;
  sorted.forEach((tick, i) => {
    const isLast = i === sorted.length - 1;
    if (isLast) while (kept.length > 1 && touches(kept[kept.length - 1], tick)) kept.pop();
    if (kept.length === 0 || !touches(kept[kept.length - 1], tick)) kept.push(tick);
  });
  return kept;
}

function drawIntervals(canvas, d, frame, series) {
  const color = colorOf(canvas.theme, series);
  const isArea = series.form === 'Line' || series.form === 'Step' || series.form === 'Band';
  for (const stretch of stretches(series.points)) {
    if (isArea && stretch.length > 1) {
      const upper = stretch.map((point) => frame.at(point.x, point.high));
      const lower = stretch.map((point) => frame.at(point.x, point.low));
      const isBand = series.form === 'Band';
      canvas.area(Z.band, [...upper, ...lower.reverse()], { fill: color, opacity: isBand ? 0.2 : 0.15 });
      if (isBand) {
        for (const edge of [upper, lower]) canvas.path(Z.band, edge, { stroke: color, lineWidth: 1.5, lineDash: DASHES[series.dash] });
      }
    } else {
      for (const point of stretch) drawErrorBar(canvas, d, frame, series, point);
    }
  }
}

function drawErrorBar(canvas, d, frame, series, point) {
  const style = { stroke: series.form === 'Bar' ? canvas.theme.ink : colorOf(canvas.theme, series), lineWidth: 1.25 };
  const [ax, ay] = pixelOf(d, frame, series, point.x, point.low);
  const [bx, by] = pixelOf(d, frame, series, point.x, point.high);
  const cap = 3.5;
  canvas.line(Z.error, ax, ay, bx, by, style);
  for (const [x, y, isOut] of [[ax, ay, point.isLowOut], [bx, by, point.isHighOut]]) {
    // An end that is cut at the edge of the chart has no stroke: the interval goes on.
    if (isOut) continue;
    if (d.isHorizontal) canvas.line(Z.error, x, y - cap, x, y + cap, style);
    else canvas.line(Z.error, x - cap, y, x + cap, y, style);
  }
}

/** Keeps the places of marks, bars and lines free of words. */
function keepFigures(canvas, d, frame, series) {
  let last = null;
  for (const point of series.points) {
    if (point.y === null) { last = null; continue; }
    const [x, y] = pixelOf(d, frame, series, point.x, point.y);
    canvas.keep(series.form === 'Bar' ? barBox(d, frame, series, point) : { x: x - 5, y: y - 5, width: 10, height: 10 });
    if (series.form === 'Line' && last !== null) {
      const steps = Math.min(60, Math.floor(Math.hypot(x - last[0], y - last[1]) / 6));
      for (let i = 1; i < steps; i++) {
        const share = i / steps;
        canvas.keep({ x: last[0] + (x - last[0]) * share - 2, y: last[1] + (y - last[1]) * share - 2, width: 4, height: 4 });
      }
    }
    last = [x, y];
  }
}

/** Where words of a width may begin so that no tick of the same row crosses them. */
function behindTicks(d, frame, point, from, width) {
  let start = from;
  for (const series of d.series) {
    if (series.form !== 'Tick') continue;
    for (const tick of series.points) {
      if (tick.y === null || tick.x !== point.x) continue;
      const x = frame.at(tick.x, tick.y)[0];
      if (x > start - 4 && x < start + width + 4) start = x + 8;
    }
  }
  return start;
}

function drawPointLabels(canvas, d, frame, series) {
  const color = colorOf(canvas.theme, series);
  for (const point of series.points) {
    if (point.y === null) continue;
    const [x, y] = pixelOf(d, frame, series, point.x, point.y);
    if (d.isHorizontal) {
      const text = series.form === 'Bar' ? rowText(point) : point.label || '';
      const end = point.high === null ? x : Math.max(x, pixelOf(d, frame, series, point.x, point.high)[0]);
      const from = behindTicks(d, frame, point, Math.max(end, x) + 7, widthOf(text, SIZE.small));
      if (text !== '' && series.form !== 'Tick') {
        canvas.text(from, y, cut(text, SIZE.small, frame.width - frame.pad - from), { size: SIZE.small, fill: canvas.theme.ink });
      }
    } else if (point.label) {
      const text = cut(point.label, SIZE.small, 110);
      const style = { size: SIZE.small, fill: color, halo: true, inside: { ...frame.inside, y: frame.inside.y - 14, height: frame.inside.height + 14 } };
      const isPlaced = canvas.placed([{ x, y: y - 13, align: 'center' }, { x: x + 9, y, align: 'left' }, { x, y: y + 14, align: 'center' },
        { x: x - 9, y, align: 'right' }, { x: x + 8, y: y - 11, align: 'left' }, { x: x + 8, y: y + 11, align: 'left' }], text, style);
      if (!isPlaced) drawFarLabel(canvas, x, y, text, style);
    }
  }
}

/** A label further away where the points are dense, with a thin line to its point. */
function drawFarLabel(canvas, x, y, text, style) {
  for (const [dx, dy] of [[0, -30], [0, 31], [14, -30], [-14, 31], [14, 31], [-14, -30], [0, -46], [0, 47]]) {
    if (!canvas.placed([{ x: x + dx, y: y + dy, align: 'center' }], text, style)) continue;
    const end = y + dy - Math.sign(dy) * 8;
    canvas.line(Z.guide, x, y + Math.sign(dy) * 6, x + dx, end, { stroke: style.fill, lineWidth: 1, opacity: 0.45 });
    return;
  }
}

/** Lines of words around the middle of their height. */
function drawLines(canvas, x, y, lines, options) {
  lines.forEach((line, i) => canvas.text(x, y + (i - (lines.length - 1) / 2) * LINE, line, options));
}

/** Names at line ends, pushed apart, each with a thin line to its end; long ones in two lines. */
function drawEnds(canvas, frame) {
  const labelX = frame.left + frame.plotWidth + 14;
  const weightOf = (series) => (series.weight === 'Faint' ? 400 : 600);
  const ends = [];
  for (const series of frame.names.ends) {
    const last = lastOf(series);
    const [x, y] = frame.at(last.x, last.y);
    const style = { fill: colorOf(canvas.theme, series), weight: weightOf(series), halo: true, inside: frame.inside };
    const lines = wrap(series.short, SIZE.text, frame.labelWidth, 2, style.weight);
    // A line that ends early is named there if there is room.
    const places = [{ x: x + 9, y, align: 'left' }, { x, y: y - 14, align: 'center' }, { x, y: y + 15, align: 'center' }];
    const isPlaced = lines.length === 1 && labelX - x > 60 && canvas.placed(places, lines[0], style);
    if (!isPlaced) ends.push({ series, x, y, place: y, lines, tall: lines.length * LINE + 1 });
  }
  ends.sort((a, b) => a.y - b.y);
  const [top, bottom] = [frame.top + 2, frame.top + frame.plotHeight - 2];
  const need = () => ends.reduce((sum, end) => sum + end.tall, 0) - LINE;
  if (need() > bottom - top) {
    for (const end of ends) {
      end.lines = [cut(end.series.short, SIZE.text, frame.labelWidth, weightOf(end.series))];
      end.tall = LINE + 1;
    }
  }
  const room = Math.max(1, Math.floor((bottom - top) / (LINE + 1)) + 1);
  const isFull = need() > bottom - top;
  const shown = isFull ? ends.slice(0, room - 1) : ends;
  pushApart(shown, top, isFull ? bottom - LINE - 1 : bottom);
  for (const { series, x, y, place, lines } of shown) {
    const color = colorOf(canvas.theme, series);
    if (Math.abs(place - y) > 3 || labelX - x > 26) {
      canvas.path(Z.guide, [[x + 6, y], [labelX - 9, y], [labelX - 3, place]], { stroke: color, lineWidth: 1, opacity: 0.45 });
    }
    drawLines(canvas, labelX, place, lines, { fill: color, weight: weightOf(series) });
  }
  if (isFull) {
    const text = cut(`and ${ends.length - shown.length} more`, SIZE.text, frame.labelWidth);
    canvas.text(labelX, bottom, text, { fill: canvas.theme.muted });
  }
}

/** Moves places, sorted, so that neighbours do not touch and all lie between two ends. */
function pushApart(items, low, high) {
  const half = (item) => (item.tall - LINE - 1) / 2;
  const apart = (a, b) => (a.tall + b.tall) / 2;
  items.forEach((item, i) => {
    const least = i === 0 ? low + half(item) : items[i - 1].place + apart(items[i - 1], item);
    item.place = Math.max(item.place, least);
  });
  for (let i = items.length - 1; i >= 0; i--) {
    const most = i === items.length - 1 ? high - half(items[i]) : items[i + 1].place - apart(items[i], items[i + 1]);
    items[i].place = Math.min(items[i].place, most);
  }
}

function drawGuides(canvas, d, frame) {
  for (const guide of d.guides) {
    const color = toneOf(canvas.theme, guide.tone);
    const isGrey = guide.tone === 'Neutral';
    const style = { stroke: isGrey ? canvas.theme.grey : color, lineWidth: 1.5, lineDash: isGrey ? DASHES.Dotted : DASHES.Dashed };
    if (guide.kind === 'Zone') {
      const [a, b] = guide.along === 'Y' ? [frame.at(0, guide.from), frame.at(1, guide.to)] : [frame.at(guide.from, 0), frame.at(guide.to, 1)];
      const box = { x: Math.min(a[0], b[0]), y: Math.min(a[1], b[1]), width: Math.abs(a[0] - b[0]), height: Math.abs(a[1] - b[1]) };
      canvas.rect(Z.zone, box.x, box.y, box.width, box.height, { fill: color, opacity: canvas.theme.zone });
      const name = cut(guide.name, SIZE.small, box.width - 8);
      const left = { x: box.x + 5, align: 'left' };
      const right = { x: box.x + box.width - 5, align: 'right' };
      // A zone too low for its name is only tinted.
      if (box.height >= 13 && name !== '') {
        canvas.placed([{ ...left, y: box.y + 9 }, { ...right, y: box.y + 9 }, { ...left, y: box.y + box.height - 8 },
          { ...right, y: box.y + box.height - 8 }, { ...right, y: box.y + box.height / 2 }], name, { size: SIZE.small, fill: canvas.theme.muted, inside: box });
      }
      continue;
    }
    const [a, b] = guide.ends.map(([x, y]) => frame.at(x, y));
    canvas.line(Z.guide, a[0], a[1], b[0], b[1], style);
    drawGuideName(canvas, frame, guide, a, b, isGrey ? canvas.theme.muted : color);
  }
}

function drawGuideName(canvas, frame, guide, a, b, fill) {
  const name = cut(guide.name, SIZE.small, frame.plotWidth - 12);
  if (name === '') return;
  const isUpright = Math.abs(a[0] - b[0]) < 1;
  const places = [];
  if (isUpright) {
    for (const y of [frame.top + 9, frame.top + frame.plotHeight - 9, frame.top + frame.plotHeight / 2]) {
      places.push({ x: a[0] + 6, y, align: 'left' }, { x: a[0] - 6, y, align: 'right' });
    }
  } else {
    const isSloped = Math.abs(a[1] - b[1]) > 1;
    for (const share of isSloped ? [0.85, 0.6, 0.35] : [1, 0, 0.5]) {
      const [x, y] = [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share];
      const align = isSloped || share === 1 ? 'right' : share === 0 ? 'left' : 'center';
      const nudge = align === 'right' ? -6 : align === 'left' ? 6 : 0;
      places.push({ x: x + nudge, y: y - 9, align }, { x: x + nudge, y: y + 10, align });
    }
  }
  const style = { size: SIZE.small, weight: 600, fill, halo: true };
  if (!canvas.placed(places, name, { ...style, inside: frame.inside })) canvas.text(places[0].x, places[0].y, name, { ...style, align: places[0].align });
}

function drawNotes(canvas, d, frame) {
  for (const note of d.notes) {
    const fill = note.tone === 'Neutral' ? canvas.theme.muted : toneOf(canvas.theme, note.tone);
    const text = cut(note.text, SIZE.small, Math.max(30, note.y === null ? frame.slot + 10 : 200));
    const style = { size: SIZE.small, weight: 600, fill, halo: true };
    const [x, y] = frame.at(note.x, note.y === null ? note.above : note.y);
    if (d.isHorizontal) canvas.text(x + 8, y, text, style);
    else if (!canvas.placed([{ x, y: y - 11, align: 'center' }, { x: x + 9, y, align: 'left' }, { x: x - 9, y, align: 'right' }, { x, y: y + 13, align: 'center' }], text, style)) {
      canvas.text(x, y - 11, text, { ...style, align: 'center' });
    }
  }
}

/** Thin lines between the points of one row across series. */
function drawJoins(canvas, d, frame) {
  const rows = new Map();
  for (const series of d.series) {
    for (const point of series.points) {
      if (point.y === null || series.form !== 'Dots') continue;
      rows.set(point.x, [...(rows.get(point.x) || []), pixelOf(d, frame, series, point.x, point.y)]);
    }
  }
  for (const ends of rows.values()) {
    if (ends.length > 1) canvas.path(Z.band, ends, { stroke: canvas.theme.axis, lineWidth: 3, lineCap: 'round' });
  }
}

function cartesianOption(d, theme, width, height) {
  const canvas = new Canvas(theme);
  const frame = frameOf(canvas, d, width, height);
  drawAxes(canvas, d, frame);
  const drawn = [];
  for (const series of d.series) {
    drawIntervals(canvas, d, frame, series);
    keepFigures(canvas, d, frame, series);
    if (series.form === 'Line' || series.form === 'Step') drawn.push([series, lineSeries(d, theme, frame, series)]);
    else if (series.form === 'Bar') drawn.push([series, barSeries(d, theme, frame, series)]);
    else if (series.form === 'Dots') drawn.push([series, dotSeries(d, theme, frame, series)]);
    else if (series.form === 'Tick') drawTicks(canvas, d, frame, series);
  }
  if (d.isJoined) drawJoins(canvas, d, frame);
  for (const series of d.series) drawPointLabels(canvas, d, frame, series);
  drawNotes(canvas, d, frame);
  drawGuides(canvas, d, frame);
  drawEnds(canvas, frame);
  if (d.isEmpty) drawNothing(canvas, frame.left * 2 + frame.plotWidth, frame.top * 2 + frame.plotHeight);
  const axis = { type: 'value', min: 0, max: 1, show: false };
  const axes = {
    grid: { left: frame.left, top: frame.top, width: frame.plotWidth, height: frame.plotHeight, containLabel: false, outerBoundsMode: 'none' },
    xAxis: axis,
    yAxis: { ...axis, inverse: d.isHorizontal },
  };
  return optionOf(canvas, d, drawn.map(([, option]) => option), { axes, tooltip: tooltipOf(d, theme, drawn.map(([series]) => series)) });
}

/** The tooltip at the pointer: all series at one load or category, or one point. */
function tooltipOf(d, theme, drawn) {
  const formatter = (given) => {
    const list = (Array.isArray(given) ? given : [given]).filter((item) => item.componentType === 'series');
    const points = list.map((item) => [drawn[item.seriesIndex], drawn[item.seriesIndex].points[item.dataIndex]])
      .filter(([, point]) => point && point.y !== null);
    if (points.length === 0) return '';
    const head = points[0][1].head;
    const rows = points.filter(([, point]) => point.head === head).slice(0, 14)
      .map(([series, point]) => ({ text: `${inFull(series.name)}  ${point.told}`, color: colorOf(theme, series), isHollow: !point.trusted }));
    return tooltipBox([{ text: inFull(head) }, ...rows]);
  };
  if (!d.isShared) return { trigger: 'item', formatter };
  const pointer = { type: 'line', snap: true, lineStyle: { color: theme.axis, width: 1, type: 'solid' }, label: { show: false } };
  return { trigger: 'axis', axisPointer: { ...pointer, axis: d.isHorizontal ? 'y' : 'x' }, formatter };
}
