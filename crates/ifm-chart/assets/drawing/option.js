// The one way from a drawing to an option of Apache ECharts, in a page and without a browser.
'use strict';
const KINDS = {
  cartesian: { height: cartesianHeight, option: cartesianOption },
  heatmap: { height: heatmapHeight, option: heatmapOption },
  mask: { height: maskHeight, option: maskOption },
};

/** A page writes title and margins around its charts itself; a file of its own needs them. */
function dressed(d, theme) {
  return { ...d, hasTitle: !theme.isPage, pad: theme.isPage ? 2 : 18 };
}

/** Height in pixels that a drawing takes at a width. */
function heightOf(d, theme, width) {
  return Math.round(KINDS[d.kind].height(dressed(d, theme), width));
}

/** The ECharts option of a drawing for a size in pixels. */
function chartOption(d, theme, width, height) {
  return KINDS[d.kind].option(dressed(d, theme), theme, width, height);
}
