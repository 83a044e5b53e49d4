// The parts of Apache ECharts in the bundle: the series, components and renderer that
// `drawing/*.js` uses. More types here cost every report their bytes.
import * as core from 'echarts/core';
import { CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import { GraphicComponent, GridComponent, TooltipComponent } from 'echarts/components';
import { SVGRenderer } from 'echarts/renderers';

core.use([CustomChart, LineChart, ScatterChart, GraphicComponent, GridComponent, TooltipComponent,
  SVGRenderer]);

export const init = core.init;
export const setPlatformAPI = core.setPlatformAPI;
export const textWidth = (text, font) => core.format.getTextRect(text, font).width;
