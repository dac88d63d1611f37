import { CustomChart, type CustomSeriesOption } from "echarts/charts";
import { GraphicComponent, GridComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { judge, type Bar, type Race, type Section } from "../race.js";
import { markOf } from "./tables.js";
import { limitOf, measuredOf, promised, subjectOf } from "./words.js";

use([CustomChart, GraphicComponent, GridComponent, SVGRenderer]);

const width = 1_000;
const rowHeight = 42;
const grid = { left: 390, right: 304, top: 100, bottom: 40 };
/** Where a text begins, and where figures end. */
const column = { what: 24, mark: 718, measured: 842, bar: 914, aim: 976 };

// Two that people with any kind of colour vision tell apart (Okabe and Ito, 2008), and greys.
const kept = "#0072b2";
const missed = "#d55e00";
const ink = "#1f2328";
const pale = "#59636e";
const rule = "#e3e6ea";
const fontFamily = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

/** Twice as good, or half: what is further off is drawn here, with an arrow. */
const edge = Math.log2(2);
const ticks = [1 / 2, 2 / 3, 1, 3 / 2, 2].map(Math.log2);

interface Point {
  readonly x: number;
  readonly y: number;
}

type Drawing = NonNullable<ReturnType<NonNullable<CustomSeriesOption["renderItem"]>>>;
type Shape = Extract<Drawing, { readonly type: "group" }>["children"][number];

/**
 * Every promise as a bar that begins where the promise is just kept: to the right is what is better
 * than that, to the left what is worse, whichever direction is the good one. Twice as good is as far
 * off as half as good.
 */
export function plot(sections: readonly Section[]): string {
  const rows = sections.flatMap(rowsOf);
  const height = grid.top + rows.length * rowHeight + grid.bottom;
  // It belongs to no page and has no theme.
  const chart = init(null, null, { renderer: "svg", ssr: true, width, height });
  chart.setOption({
    animation: false,
    backgroundColor: "#ffffff",
    textStyle: { fontFamily },
    grid,
    graphic: key(),
    xAxis: {
      type: "value",
      min: -edge,
      max: edge,
      axisLabel: { customValues: ticks, formatter: tickLabel, color: pale },
      axisTick: { show: false, customValues: ticks },
      splitLine: { lineStyle: { color: rule } },
    },
    yAxis: { type: "category", data: rows.map((_, row) => row), inverse: true, show: false },
    series: {
      type: "custom",
      data: rows.map((_, row) => [0, row]),
      renderItem({ dataIndex }, api) {
        const draw = rows[dataIndex];
        const at = (place: number): Point => {
          const [x = NaN, y = NaN] = api.coord([place, dataIndex]);
          return { x, y };
        };
        return draw && { type: "group", children: draw(at) };
      },
    } satisfies CustomSeriesOption,
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return still(svg);
}

/** Draws a row of the picture, told where things are: 0 is the bar, to the right of it is better. */
type Row = (at: (place: number) => Point) => Shape[];

/** A title, and the promises under it. */
function rowsOf({ title, races }: Section): Row[] {
  const promises = races.flatMap((race) => race.bars.map((bar) => promiseRow(race, bar)));
  return promises.length > 0 ? [titleRow(title), ...promises] : [];
}

const titleRow =
  (title: string): Row =>
  (at) => [
    text(title, column.what, at(0).y + 6, { fontSize: 14, fontWeight: 600 }),
    barLine(at(0)),
  ];

const promiseRow =
  (race: Race, bar: Bar): Row =>
  (at) => {
    const verdict = judge(race, bar);
    const { x: start, y } = at(0);
    const xOf = (value: number) => at(placeOf(value, bar)).x;
    const end = xOf(verdict.median);
    const fill = verdict.isMet ? kept : missed;
    return [
      text(race.title, column.what, y - 8, inColumn),
      text(subjectOf(race, bar), column.what, y + 9, { ...inColumn, fontSize: 11, fill: pale }),
      block(start, y, end - start, fill),
      ...whiskers(xOf(verdict.low), xOf(verdict.high), y),
      ...arrow(verdict.median, bar, end, y, fill),
      line(xOf(bar.aim), y - 13, xOf(bar.aim), y + 13, 3),
      barLine({ x: start, y }),
      text(markOf(verdict), column.mark, y, { fill }),
      text(measuredOf(race, bar, verdict.median), column.measured, y, { align: "right" }),
      text(limitOf(bar), column.bar, y, { align: "right", fill: pale }),
      text(promised(bar.aim), column.aim, y, { align: "right", fill: pale }),
    ];
  };

/** How many times as good as promised a figure is. */
const timesAsGood = (value: number, { atLeast, atMost = NaN }: Bar) =>
  atLeast === undefined ? atMost / value : value / atLeast;

const placeOf = (value: number, bar: Bar) =>
  Math.min(Math.max(Math.log2(timesAsGood(value, bar)), -edge), edge);

/** What the marks mean, and the heads of the columns. */
function key(): Shape[] {
  const middle = (grid.left + width - grid.right) / 2;
  const [y, headY] = [36, grid.top - 14];
  return [
    block(column.what, y, 22, kept),
    text("bar kept", 54, y),
    block(132, y, 22, missed),
    text("bar missed", 162, y),
    ...whiskers(262, 288, y),
    text("quartiles of the rounds", 298, y),
    line(484, y - 9, 484, y + 9, 3),
    text("aim", 494, y),
    text("← worse than promised", middle - 10, headY, { align: "right", fill: pale }),
    text("better →", middle + 10, headY, { fill: pale }),
    text("measured", column.measured, headY, { align: "right", fill: pale }),
    text("bar", column.bar, headY, { align: "right", fill: pale }),
    text("aim", column.aim, headY, { align: "right", fill: pale }),
  ];
}

const tickLabel = (place: number) =>
  place === 0 ? "bar" : `× ${(2 ** place).toLocaleString("en", { maximumFractionDigits: 2 })}`;

/** From quartile to quartile; nothing where there was one round. */
function whiskers(low: number, high: number, y: number): Shape[] {
  if (low === high) return [];
  return [line(low, y, high, y), line(low, y - 4, low, y + 4), line(high, y - 4, high, y + 4)];
}

/** Says that a bar goes on beyond the edge. */
function arrow(value: number, bar: Bar, x: number, y: number, fill: string): Shape[] {
  const times = timesAsGood(value, bar);
  if (Math.abs(Math.log2(times)) <= edge) return [];
  const tip = x + 10 * Math.sign(times - 1);
  const points = [
    [x, y - 12],
    [x, y + 12],
    [tip, y],
  ];
  return [{ type: "polygon", shape: { points }, style: { fill } }];
}

/** Of one row: the line that all bars begin at. */
const barLine = ({ x, y }: Point) => line(x, y - rowHeight / 2, x, y + rowHeight / 2);

const block = (x: number, y: number, length: number, fill: string): Shape => ({
  type: "rect",
  shape: { x, y: y - 8, width: length, height: 16 },
  style: { fill },
});

const line = (x1: number, y1: number, x2: number, y2: number, lineWidth = 1): Shape => ({
  type: "line",
  shape: { x1, y1, x2, y2 },
  style: { stroke: ink, lineWidth },
});

/** What is longer is cut, not drawn over the bars. */
const inColumn = { width: grid.left - column.what - 12, overflow: "truncate" } as const;

type TextStyle = NonNullable<Extract<Shape, { readonly type: "text" }>["style"]>;

const text = (content: string, x: number, y: number, style: TextStyle = {}): Shape => ({
  type: "text",
  style: {
    text: content,
    x,
    y,
    fontSize: 13,
    fontFamily,
    fill: ink,
    verticalAlign: "middle",
    ...style,
  },
});

/**
 * Without what is for a mouse over it, which is also counted on from picture to picture; and with
 * texts raised in the way that programs beside browsers know as well.
 */
const still = (svg: string) =>
  svg
    .replace(/<style[^]*<\/style>\s*/, "")
    .replace(/ (?:class|pointer-events|ecmeta_\w+)="[^"]*"/g, "")
    .replaceAll('dominant-baseline="central"', 'dy="0.35em"');
