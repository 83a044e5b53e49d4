// The drawings of numbers in cells and of block masks.
'use strict';
const CELL = { height: 28, most: 120 };
// Height of upright names of columns, pixels.
const UPRIGHT_MOST = 130;

function groupRuns(headings) {
  const runs = [];
  headings.forEach((heading, i) => {
    const last = runs[runs.length - 1];
    if (last && last.group === heading.group) last.to = i;
    else runs.push({ group: heading.group, from: i, to: i });
  });
  return runs;
}

/** Names of groups of columns; without the word that all begin with where a name would be cut. */
function groupNames(runs) {
  const first = (name) => name.slice(0, name.indexOf(' ') + 1);
  const isShared = runs.every((run) => first(run.group) !== '' && first(run.group) === first(runs[0].group));
  const fits = (run) => isWhole(run.group, SIZE.text, run.room, 2, 600);
  return runs.map((run) => (fits(run) || !isShared ? run.group : run.group.slice(first(run.group).length)));
}

/** Where the parts of a heatmap lie. */
function heatmapLayout(d, width) {
  const pad = d.pad;
  const hasRowGroups = d.rows.some((row) => row.group !== '');
  const hasColumnGroups = d.columns.some((column) => column.group !== '');
  const longest = (list) => list.reduce((most, text) => Math.max(most, widthOf(text, SIZE.text)), 0);
  const rowGroup = hasRowGroups
    ? Math.min(longest(d.rows.map((row) => row.group)) + 14, (width - 2 * pad) * 0.26) : 0;
  const rowName = Math.min(longest(d.rows.map((row) => row.short)) + 12, (width - 2 * pad) * 0.34);
  const left = pad + rowGroup + rowName;
  const cell = clamp((width - pad - left) / Math.max(1, d.columns.length), 8, CELL.most);
  const room = Math.max(cell - 4, 20);
  // Names that do not fit next to each other are rotated upright.
  const isUpright = d.columns.some((column) => !isWhole(column.short, SIZE.text, room, 2));
  const nameHeight = isUpright ? Math.min(longest(d.columns.map((column) => column.short)), UPRIGHT_MOST) + 4
    : d.columns.reduce((most, column) => Math.max(most, linesOf(column.short, SIZE.text, room).length), 1) * 15;
  const runs = groupRuns(d.columns).map((run) => ({ ...run, room: (run.to - run.from + 1) * cell - 4 }));
  const names = groupNames(runs);
  const groups = runs.map((run, i) => ({ ...run, lines: wrap(names[i], SIZE.text, run.room, 2, 600) }));
  const groupHeight = hasColumnGroups ? groups.reduce((most, run) => Math.max(most, run.lines.length), 1) * 15 + 7 : 0;
  return { pad, rowGroup, rowName, left, cell, room, isUpright, groups, groupHeight, head: groupHeight + nameHeight + 8 };
}

function heatmapHeight(d, width) {
  const titles = headHeight(d, width);
  return d.pad + titles + heatmapLayout(d, width).head + Math.max(1, d.rows.length) * CELL.height + 34 + d.pad;
}

function heatmapOption(d, theme, width, height) {
  const canvas = new Canvas(theme);
  const at = heatmapLayout(d, width);
  const top = drawHead(canvas, d, [], width, at.pad) + at.head;
  drawHeadings(canvas, d, at, top, width);
  const boxOf = (cell) => ({
    x: at.left + cell.column * at.cell + 1,
    y: top + cell.row * CELL.height + 1,
    width: at.cell - 2,
    height: CELL.height - 2,
  });
  const widest = d.cells.reduce((most, cell) => Math.max(most, widthOf(cell.text, SIZE.text)), 1);
  const size = clamp(Math.floor((SIZE.text * (at.cell - 4)) / widest * 2) / 2, 8.5, SIZE.text);
  const series = [{
    type: 'custom',
    coordinateSystem: 'none',
    data: d.cells.map((cell, i) => ({ value: i, name: cell.text })),
    z: Z.series,
    renderItem: (params) => {
      const cell = d.cells[params.dataIndex];
      return { type: 'group', children: cellShapes(theme, cell, boxOf(cell), size) };
    },
  }];
  drawHeatLegend(canvas, d, at, top + Math.max(1, d.rows.length) * CELL.height + 12, width);
  if (d.rows.length === 0 || d.columns.length === 0) drawNothing(canvas, width, height);
  const formatter = (params) => {
    const cell = d.cells[params.dataIndex];
    const name = (heading) => (heading.group === '' ? heading.name : `${heading.group} · ${heading.name}`);
    return tooltipBox([inFull(name(d.rows[cell.row])), inFull(name(d.columns[cell.column])), cell.told].map((text) => ({ text })));
  };
  return optionOf(canvas, d, series, { tooltip: { trigger: 'item', formatter } });
}

function drawHeadings(canvas, d, at, top, width) {
  const theme = canvas.theme;
  d.columns.forEach((column, i) => {
    const x = at.left + (i + 0.5) * at.cell;
    if (at.isUpright) {
      canvas.text(x, top - 6, cut(column.short, SIZE.text, UPRIGHT_MOST), { fill: theme.muted, rotation: Math.PI / 2 });
      return;
    }
    const lines = linesOf(column.short, SIZE.text, at.room);
    lines.forEach((line, k) => canvas.text(x, top - 12 - (lines.length - 1 - k) * 15, line, { align: 'center', fill: theme.muted }));
  });
  if (at.groupHeight > 0) {
    const y = top - at.head + 10;
    const under = y + at.groupHeight - 11;
    for (const run of at.groups) {
      const [from, to] = [at.left + run.from * at.cell, at.left + (run.to + 1) * at.cell];
      run.lines.forEach((line, k) => canvas.text((from + to) / 2, y + k * 15, line, { align: 'center', weight: 600 }));
      canvas.line(Z.grid, from + 3, under, to - 3, under, { stroke: theme.axis, lineWidth: 1 });
    }
  }
  d.rows.forEach((row, i) => {
    const isShort = widthOf(row.short, SIZE.text) <= at.rowName - 10;
    const size = isShort ? SIZE.text : SIZE.small;
    const lines = wrap(row.short, size, at.rowName - 10, 2);
    lines.forEach((line, k) => canvas.text(at.left - 9, top + (i + 0.5) * CELL.height + (k - (lines.length - 1) / 2) * 13, line,
      { align: 'right', fill: theme.muted, size }));
  });
  if (at.rowGroup > 0) {
    for (const run of groupRuns(d.rows)) {
      const from = top + run.from * CELL.height;
      const rows = run.to - run.from + 1;
      const lines = wrap(run.group, SIZE.text, at.rowGroup - 10, Math.min(3, rows * 2), 600);
      lines.forEach((line, k) => canvas.text(at.pad, from + CELL.height / 2 + k * 15, line, { weight: 600 }));
      if (run.from > 0) canvas.line(Z.grid, at.pad, from, at.left + d.columns.length * at.cell, from, { stroke: theme.axis, lineWidth: 1 });
    }
  }
}

/** A cell; its number is left out where it does not fit, since a part of it would be another. */
function cellShapes(theme, cell, box, size) {
  const shapes = [];
  const text = (fill) => {
    if (cell.text === '' || widthOf(cell.text, size) > box.width) return;
    shapes.push({ type: 'text', x: box.x + box.width / 2, y: box.y + box.height / 2,
      style: { text: cell.text, fill, fontSize: size, fontFamily: FONT, align: 'center', verticalAlign: 'middle' } });
  };
  if (cell.state === 'Missing') {
    shapes.push({ type: 'rect', shape: { ...box, r: 3 }, style: { fill: 'none', stroke: theme.axis, lineWidth: 1, lineDash: [3, 3] } });
    text(theme.muted);
  } else if (cell.state === 'Tie') {
    shapes.push({ type: 'rect', shape: { ...box, r: 3 }, style: { fill: theme.tie } });
    const strokes = hatch(box.x + 1, box.y + 1, box.width - 2, box.height - 2, 'Dashed', 9);
    if (strokes.length > 0) shapes.push(hatchShape(strokes, { stroke: theme.tieHatch, lineWidth: 1 }));
    text(theme.ink);
  } else {
    shapes.push({ type: 'rect', shape: { ...box, r: 3 }, style: { fill: theme.heat[cell.step] } });
    text(theme.heatInk[cell.step]);
  }
  return shapes;
}

/** The colours in words, with the hatch of a tie and the outline of what is missing. */
function drawHeatLegend(canvas, d, at, top, width) {
  const theme = canvas.theme;
  const [box, y] = [13, top + 9];
  let x = at.left + 1;
  const needs = widthOf(d.lowEnd, SIZE.small) + widthOf(d.highEnd, SIZE.small) + theme.heat.length * box + 12;
  if (x + needs > width - at.pad) x = at.pad;
  canvas.text(x, y, d.lowEnd, { size: SIZE.small, fill: theme.muted });
  x += widthOf(d.lowEnd, SIZE.small) + 6;
  theme.heat.forEach((_, i) => {
    const step = d.isMoreBetter ? i : theme.heat.length - 1 - i;
    canvas.rect(Z.label, x, y - 5, box, 10, { fill: theme.heat[step] });
    x += box;
  });
  canvas.text(x + 6, y, d.highEnd, { size: SIZE.small, fill: theme.muted });
  x += widthOf(d.highEnd, SIZE.small) + 22;
  const words = [['Tie', 'difference not shown'], ['Missing', 'not measured']];
  for (const [state, name] of words) {
    if (!d.cells.some((cell) => cell.state === state)) continue;
    if (x + 24 + widthOf(name, SIZE.small) > width - at.pad) break;
    for (const shape of cellShapes(theme, { state, text: '' }, { x, y: y - 6, width: 20, height: 12 }, SIZE.small)) {
      canvas.add(shape, Z.label);
    }
    canvas.text(x + 26, y, name, { size: SIZE.small, fill: theme.muted });
    x += 26 + widthOf(name, SIZE.small) + 18;
  }
}

function maskLayout(d, width) {
  const columns = d.blocks.reduce((most, row) => Math.max(most, row.length), 0);
  const side = clamp(Math.min((width - 2 * d.pad - 24) / Math.max(1, columns), 340 / Math.max(1, d.blocks.length)), 1, 22);
  return { columns, side, left: d.pad + 24 };
}

function maskHeight(d, width) {
  const titles = headHeight(d, width);
  return Math.ceil(d.pad + titles + 24 + 24 + Math.max(2, d.blocks.length) * maskLayout(d, width).side + d.pad);
}

function maskOption(d, theme, width, height) {
  const canvas = new Canvas(theme);
  const at = maskLayout(d, width);
  const legend = [['F', 'full'], ['P', 'partial'], ['E', 'empty']];
  let top = drawHead(canvas, d, [], width, d.pad);
  let x = d.pad;
  for (const [kind, name] of legend) {
    canvas.rect(Z.label, x, top + 2, 12, 12, blockStyle(theme, kind, 12));
    canvas.text(x + 18, top + 8, name, { fill: theme.muted });
    x += 18 + widthOf(name, SIZE.text) + 18;
  }
  top += 24;
  canvas.text(at.left, top + 8, cut(`${d.columnName} →`, SIZE.small, width - at.left - d.pad), { size: SIZE.small, fill: theme.muted });
  top += 20;
  const tall = Math.max(2, d.blocks.length) * at.side;
  canvas.text(d.pad + 8, top + tall / 2, cut(`← ${d.rowName}`, SIZE.small, tall),
    { size: SIZE.small, fill: theme.muted, align: 'center', rotation: Math.PI / 2 });
  const gap = at.side >= 6 ? 1 : 0;
  d.blocks.forEach((row, i) => maskRuns(row, gap > 0).forEach(({ kind, from, to }) => {
    const side = at.side;
    canvas.rect(Z.series, at.left + from * side, top + i * side, (to - from + 1) * side - gap, side - gap, blockStyle(theme, kind, side));
  }));
  if (at.columns === 0) drawNothing(canvas, width, height);
  return optionOf(canvas, d, [], { tooltip: { show: false } });
}

/** Blocks of a row; without gaps between them, equal neighbours are one. */
function maskRuns(row, isSingle) {
  const runs = [];
  Array.from(row).forEach((kind, i) => {
    const last = runs[runs.length - 1];
    if (!isSingle && last && last.kind === kind) last.to = i;
    else runs.push({ kind, from: i, to: i });
  });
  return runs.filter((run) => isSingle || run.kind !== 'E');
}

function blockStyle(theme, kind, side) {
  if (kind === 'F') return { fill: theme.colors[0] };
  if (kind === 'P') return { fill: theme.colors[0], opacity: 0.38 };
  return side >= 6 ? { fill: 'none', stroke: theme.grid, lineWidth: 1 } : { fill: 'none' };
}

function drawNothing(canvas, width, height) {
  canvas.text(width / 2, height / 2, 'nothing measured', { align: 'center', fill: canvas.theme.muted });
}
