// The page loads uPlot by a script, which defines one name.
import uPlotClass from "uplot";

declare global {
  const uPlot: typeof uPlotClass;
  type uPlot = uPlotClass;
  namespace uPlot {
    type Options = uPlotClass.Options;
    type Axis = uPlotClass.Axis;
    type Scale = uPlotClass.Scale;
    type Series = uPlotClass.Series;
    type AlignedData = uPlotClass.AlignedData;
  }
}
