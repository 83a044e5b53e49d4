// Words, colours and places that all drawings share: measuring and cutting text, keeping labels
// apart, the head of a chart. Pixels are CSS pixels of a chart of the given width and height.
'use strict';
// Without quotation marks: they would end an attribute of the SVG.
const FONT = 'Inter, system-ui, Helvetica, Arial, sans-serif';
const SIZE = { title: 15, text: 12, small: 11 };
// From one line of words to the next.
const LINE = 14;
// Layers from back to front.
const Z = { zone: 0, grid: 1, band: 2, guide: 3, series: 4, error: 5, label: 8 };
const DASHES = { Solid: null, Dashed: [7, 4], Dotted: [1.5, 4], DashDot: [8, 3, 1.5, 3] };
const SYMBOLS = { Circle: 'circle', Square: 'rect', Triangle: 'triangle', Diamond: 'diamond', None: 'none' };

function clamp(value, low, high) {
  return Math.max(low, Math.min(high, value));
}

/** Width of words. */
function widthOf(text, size, weight) {
  return text === '' ? 0 : echarts.textWidth(text, `${weight || 400} ${size}px ${FONT}`);
}

/** The words, cut with an ellipsis to a width. */
function cut(text, size, width, weight) {
  if (widthOf(text, size, weight) <= width) return text;
  const letters = Array.from(text);
  let low = 0;
  let high = letters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (widthOf(letters.slice(0, middle).join('').trimEnd() + '…', size, weight) <= width) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? '…' : letters.slice(0, low).join('').trimEnd() + '…';
}

/** The words of a text; one that is wider than a line is taken apart behind its hyphens and strokes. */
function wordsOf(text, size, width, weight) {
  const parts = [];
  for (const word of text.split(/[ \t\n]+/).filter((each) => each !== '')) {
    const pieces = widthOf(word, size, weight) <= width ? [word] : word.match(/[^-_/.:→⇒]*[-_/.:→⇒]+|[^-_/.:→⇒]+/g);
    pieces.forEach((piece, i) => parts.push({ piece, gap: i === 0 ? ' ' : '' }));
  }
  return parts;
}

/** The words in lines of a width, not cut; a wider word gets a line of its own. */
function linesOf(text, size, width, weight) {
  const lines = [];
  let line = '';
  for (const { piece, gap } of wordsOf(text, size, width, weight)) {
    const longer = line === '' ? piece : line + gap + piece;
    if (line !== '' && widthOf(longer, size, weight) > width) {
      lines.push(line);
      line = piece;
    } else line = longer;
  }
  if (line !== '') lines.push(line);
  return lines;
}

/** The words in up to `most` lines of a width; the last one is cut. */
function wrap(text, size, width, most, weight) {
  const lines = linesOf(text, size, width, weight);
  if (lines.length > most) {
    const shown = lines.slice(0, most - 1);
    const last = lines.slice(most - 1).join(' ');
    return [...shown, last].map((each) => cut(each, size, width, weight));
  }
  return lines.map((each) => cut(each, size, width, weight));
}

/** Whether words fit uncut into `most` lines of a width. */
function isWhole(text, size, width, most, weight) {
  const lines = linesOf(text, size, width, weight);
  return lines.length <= most && lines.every((line) => widthOf(line, size, weight) <= width);
}

/** A name in as many lines as it needs; only one without end is cut. */
function inFull(name) {
  return wrap(name, SIZE.text, 280, 6).join('\n');
}

function colorOf(theme, series) {
  return series.color === 255 ? theme.grey : theme.colors[series.color % theme.colors.length];
}

function toneOf(theme, tone) {
  return { Good: theme.good, Caution: theme.caution, Bad: theme.bad, Neutral: theme.muted }[tone];
}

/** Shapes without interaction; everything except the series is made of them. */
class Canvas {
  constructor(theme) {
    this.theme = theme;
    this.items = [];
    this.taken = [];
  }

  push(type, z, geometry, style) {
    const item = { type, z, silent: true, style };
    if (type === 'text') Object.assign(item, geometry);
    else item.shape = geometry;
    this.items.push(item);
  }

  line(z, x1, y1, x2, y2, style) {
    this.push('line', z, { x1, y1, x2, y2 }, style);
  }

  rect(z, x, y, width, height, style) {
    this.push('rect', z, { x, y, width: Math.max(0, width), height: Math.max(0, height) }, style);
  }

  path(z, points, style) {
    this.push('polyline', z, { points }, { fill: 'none', ...style });
  }

  area(z, points, style) {
    this.push('polygon', z, { points }, { stroke: 'none', ...style });
  }

  /** Words; `align` is left, center or right, the place is the middle of their height. */
  text(x, y, text, options) {
    const { size = SIZE.text, weight = 400, fill = this.theme.ink, align = 'left', halo = false,
      z = Z.label, rotation = 0 } = options || {};
    const style = { text, fill, fontSize: size, fontWeight: weight, fontFamily: FONT, align, verticalAlign: 'middle' };
    if (halo) Object.assign(style, { stroke: this.theme.paper, lineWidth: 3 });
    this.push('text', z, { x, y, rotation }, style);
  }

  /** A shape of a custom series; a component cannot hold paths, so a hatch becomes its strokes. */
  add(shape, z) {
    if (shape.strokes) for (const [a, b] of shape.strokes) this.line(z, a[0], a[1], b[0], b[1], shape.style);
    else this.items.push({ ...shape, z, silent: true });
  }

  /** Whether a box hits something that was kept free. */
  isFree(box) {
    return this.taken.every((other) => box.x + box.width <= other.x || other.x + other.width <= box.x
      || box.y + box.height <= other.y || other.y + other.height <= box.y);
  }

  keep(box) {
    this.taken.push(box);
  }

  /** Words at the first of several places where they hit nothing; whether one was found. */
  placed(places, text, options) {
    const size = (options && options.size) || SIZE.text;
    const width = widthOf(text, size, options && options.weight);
    for (const { x, y, align } of places) {
      const left = align === 'right' ? x - width : align === 'center' ? x - width / 2 : x;
      const box = { x: left - 1, y: y - size * 0.6, width: width + 2, height: size * 1.2 };
      if (options.inside && !isWithin(box, options.inside)) continue;
      if (!this.isFree(box)) continue;
      this.keep(box);
      this.text(x, y, text, { ...options, align });
      return true;
    }
    return false;
  }
}

function isWithin(box, outer) {
  return box.x >= outer.x && box.y >= outer.y && box.x + box.width <= outer.x + outer.width
    && box.y + box.height <= outer.y + outer.height;
}

/** Strokes of a hatch inside a rectangle: pairs of ends. */
function hatch(x, y, width, height, dash, gap) {
  const strokes = [];
  const along = (isRising) => {
    for (let offset = gap / 2; offset < width + height; offset += gap) {
      const low = Math.max(0, offset - height);
      const high = Math.min(offset, width);
      if (high - low < 0.5) continue;
      strokes.push(isRising
        ? [[x + low, y + offset - low], [x + high, y + offset - high]]
        : [[x + low, y + height - offset + low], [x + high, y + height - offset + high]]);
    }
  };
  if (dash === 'Dashed' || dash === 'DashDot') along(true);
  if (dash === 'Dotted' || dash === 'DashDot') along(false);
  return strokes;
}

/** A hatch as one path. */
function hatchShape(strokes, style) {
  const px = (value) => Math.round(value * 100) / 100;
  const pathData = strokes.map(([a, b]) => `M${px(a[0])} ${px(a[1])}L${px(b[0])} ${px(b[1])}`).join('');
  return { type: 'path', shape: { pathData }, strokes, style: { fill: 'none', ...style } };
}

/** What was measured, under the title; none on a page. */
function subjectLines(d, width, pad) {
  return d.subject ? wrap(d.subject, SIZE.text, width - 2 * pad, 2) : [];
}

/** Height of title and subject. */
function headHeight(d, width) {
  if (!d.hasTitle) return 0;
  return wrap(d.title, SIZE.title, width - 2 * d.pad, 2, 600).length * 20 + subjectLines(d, width, d.pad).length * 16 + 6;
}

/** Title, subject and legend; gives the first free pixel row below them. */
function drawHead(canvas, d, items, width, pad) {
  let top = pad;
  if (d.hasTitle) {
    for (const line of wrap(d.title, SIZE.title, width - 2 * pad, 2, 600)) {
      canvas.text(pad, top + SIZE.title * 0.6, line, { size: SIZE.title, weight: 600 });
      top += 20;
    }
    for (const line of subjectLines(d, width, pad)) {
      canvas.text(pad, top + SIZE.text * 0.6, line, { fill: canvas.theme.muted });
      top += 16;
    }
    top += 6;
  }
  if (items.length > 0) top = drawLegend(canvas, items, width, pad, top);
  return top;
}

/** Legend in rows; what does not fit into six of them is counted. */
function drawLegend(canvas, items, width, pad, top) {
  const [sample, gap, row, most] = [24, 18, 18, 6];
  let x = pad;
  let line = 0;
  for (let i = 0; i < items.length; i++) {
    const name = cut(items[i].short, SIZE.text, width - 2 * pad - sample - 8);
    const need = sample + 7 + widthOf(name, SIZE.text);
    if (x > pad && x + need > width - pad) {
      x = pad;
      line += 1;
      if (line === most - 1 && i + 1 < items.length) {
        canvas.text(pad, top + line * row + 9, `and ${items.length - i} more, in the table`, { fill: canvas.theme.muted });
        break;
      }
    }
    const y = top + line * row + 9;
    drawSample(canvas, items[i], x, y, sample);
    canvas.text(x + sample + 7, y, name);
    x += need + gap;
  }
  return top + (line + 1) * row + 6;
}

/** What a series looks like, in a legend. */
function drawSample(canvas, series, x, y, width) {
  const color = colorOf(canvas.theme, series);
  const isFaint = series.weight === 'Faint';
  const lineStyle = { stroke: color, lineWidth: isFaint ? 1 : series.weight === 'Strong' ? 3.25 : 2, lineDash: DASHES[series.dash] };
  if (series.form === 'Bar') {
    drawBar(canvas, { x: x + 2, y: y - 6, width: width - 4, height: 12 }, color, series.dash, true, Z.label);
  } else if (series.form === 'Band') {
    canvas.rect(Z.label, x, y - 6, width, 12, { fill: color, opacity: 0.3 });
  } else if (series.form === 'Tick') {
    canvas.line(Z.label, x + width / 2, y - 6, x + width / 2, y + 6, { stroke: color, lineWidth: 3 });
  } else {
    if (series.form !== 'Dots') canvas.line(Z.label, x, y, x + width, y, lineStyle);
    if (series.form !== 'Step') drawMark(canvas, series.mark, x + width / 2, y, color, isFull(series), Z.label);
  }
}

/** Whether the mark of a series is filled: in a chart of dots, hollow is a condition too. */
function isFull(series) {
  return !(series.form === 'Dots' && series.dash !== 'Solid');
}

function drawMark(canvas, mark, x, y, color, isFilled, z) {
  if (mark === 'None') return;
  const style = { fill: isFilled ? color : canvas.theme.paper, stroke: color, lineWidth: 1.75 };
  const r = 3.75;
  if (mark === 'Circle') canvas.push('circle', z, { cx: x, cy: y, r }, style);
  else if (mark === 'Square') canvas.rect(z, x - r + 0.4, y - r + 0.4, 2 * r - 0.8, 2 * r - 0.8, style);
  else {
    const points = mark === 'Triangle'
      ? [[x, y - r - 0.5], [x + r + 0.5, y + r - 0.5], [x - r - 0.5, y + r - 0.5]]
      : [[x, y - r - 1], [x + r + 1, y], [x, y + r + 1], [x - r - 1, y]];
    canvas.push('polygon', z, { points }, style);
  }
}

/** A bar: filled, or pale with a hatch; hollow if not trusted. */
function drawBar(canvas, box, color, dash, isTrusted, z) {
  for (const shape of barShapes(canvas.theme, box, color, dash, isTrusted)) {
    canvas.add(shape, z);
  }
}

function barShapes(theme, { x, y, width, height }, color, dash, isTrusted) {
  const shape = { x, y, width: Math.max(0, width), height: Math.max(0, height) };
  if (dash === 'Solid' && isTrusted) {
    return [{ type: 'rect', shape, style: { fill: color } }];
  }
  const inner = { x: x + 0.75, y: y + 0.75, width: Math.max(0, width - 1.5), height: Math.max(0, height - 1.5) };
  const shapes = [{ type: 'rect', shape: inner, style: { fill: theme.paper } },
    { type: 'rect', shape: inner, style: { fill: color, opacity: isTrusted ? 0.16 : 0 } }];
  const strokes = hatch(inner.x, inner.y, inner.width, inner.height, dash, 6);
  if (strokes.length > 0) {
    shapes.push(hatchShape(strokes, { stroke: color, lineWidth: 1.5 }));
  }
  const edge = { fill: 'none', stroke: color, lineWidth: 1.5, lineDash: isTrusted ? null : [4, 3] };
  shapes.push({ type: 'rect', shape: inner, style: edge });
  return shapes;
}

/** The content of a tooltip: lines of text, with a bullet where a line has a color. Text is never read as markup. */
function tooltipBox(lines) {
  const box = document.createElement('div');
  for (const { text, color, isHollow } of lines.filter((line) => line.text !== '')) {
    const line = document.createElement('div');
    if (color) {
      const bullet = document.createElement('span');
      bullet.textContent = isHollow ? '○ ' : '● ';
      bullet.style.color = color;
      line.append(bullet);
    }
    line.append(text);
    box.append(line);
  }
  return box;
}

/** What all options have in common; `series` are echarts series. */
function optionOf(canvas, d, series, rest) {
  const theme = canvas.theme;
  return {
    animation: false,
    backgroundColor: theme.isPage ? 'transparent' : theme.paper,
    textStyle: { fontFamily: FONT, fontSize: SIZE.text, color: theme.ink },
    tooltip: {
      show: true,
      // As elements: text on the canvas would ignore the font of the page and the colors of hollow points.
      renderMode: 'html',
      confine: true,
      transitionDuration: 0,
      backgroundColor: theme.paper,
      borderColor: theme.axis,
      borderWidth: 1,
      padding: [7, 10],
      textStyle: { color: theme.ink, fontSize: SIZE.text, fontFamily: FONT, lineHeight: 18 },
      ...((rest && rest.tooltip) || {}),
    },
    ...((rest && rest.axes) || {}),
    series,
    graphic: canvas.items,
  };
}
