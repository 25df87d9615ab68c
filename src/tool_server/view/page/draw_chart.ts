import { columnKind, moment, valueText } from "./cell_values.ts";
import { browser, element, type PageElement, shape } from "./page_dom.ts";
import { shortName } from "./rows_table.ts";
import { shownText } from "./shown_text.ts";
import type { Column, Row } from "./tool_result.ts";

/** A chart that rows suit: what stands beside each value, and the columns whose values can be drawn. */
export interface Chart {
  readonly kind: "bars" | "line";
  readonly label: number;
  readonly measures: readonly number[];
}

/** More bars than these are a table. */
const mostBars = 30;
const longestLabel = 60;

/**
 * The chart that rows suit: bars for one column of categories and numbers, a line for one of dates or times and numbers.
 * Undefined where that is not plain: a wrong chart is worse than none.
 */
export function chooseChart(columns: readonly Column[], rows: readonly Row[]): Chart | undefined {
  const kinds = columns.map(({ type }) => columnKind(type));
  const labels = kinds.flatMap((kind, index) => kind === "number" ? [] : [index]);
  const [label] = labels;
  if (label === undefined || labels.length > 1) return undefined;
  const measures = columns.flatMap(({ name }, index) =>
    kinds[index] === "number" && !isKey(name) && isMeasured(rows, index) ? [index] : []
  );
  if (measures.length === 0) return undefined;
  const isTime = kinds[label] === "time";
  if (!isTime && kinds[label] !== "category") return undefined;
  return (isTime ? suitsLine(rows, label) : suitsBars(rows, label))
    ? { kind: isTime ? "line" : "bars", label, measures }
    : undefined;
}

// a number that names something measures nothing
function isKey(name: string): boolean {
  return /^(?:id|.+_id)$/i.test(name);
}

function isMeasured(rows: readonly Row[], column: number): boolean {
  return rows.filter((row) => drawnNumber(row[column]) !== undefined).length >= 2;
}

/** Undefined for NULL, NaN and infinity. */
export function drawnNumber(value: unknown): number | undefined {
  if (value === null || value === "") return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

function suitsBars(rows: readonly Row[], label: number): boolean {
  const texts = rows.map((row) => row[label] === null ? null : valueText(row[label]));
  return rows.length <= mostBars && new Set(texts).size === texts.length &&
    texts.every((text) => text === null || text.length <= longestLabel);
}

function suitsLine(rows: readonly Row[], label: number): boolean {
  const times = rows.flatMap((row) => moment(row[label])?.timeMs ?? []);
  return times.length >= 3 && times.length === rows.length && new Set(times).size === times.length;
}

/** A figure of the rows, with a choice of the column where several can be drawn. */
export function drawChart(
  chart: Chart,
  columns: readonly Column[],
  rows: readonly Row[],
  locale: string | undefined,
): PageElement {
  const [first = 0] = chart.measures;
  const nameOf = (column: number) => shortName(columns[column]?.name ?? "");
  const place = element("div", { class: "plot" });
  const caption = element("span", { class: "title" });
  const readout = element("span", { class: "readout", "aria-hidden": "true" });
  const draw = (measure: number) => {
    caption.replaceChildren(shownText(nameOf(measure)), " by ", shownText(nameOf(chart.label)));
    readout.textContent = "";
    const drawing = chart.kind === "bars"
      ? bars(rows, chart.label, measure)
      : line(rows, { ...chart, measure, locale, readout });
    drawing.setAttribute(
      "aria-label",
      `${chart.kind === "bars" ? "Bar" : "Line"} chart of ${nameOf(measure)} by ${nameOf(chart.label)}, ` +
        `${rows.length} values, which the table has`,
    );
    place.replaceChildren(drawing);
  };
  const choice = chart.measures.length > 1 ? choose(chart.measures, nameOf, draw) : "";
  draw(first);
  return element("figure", {}, element("figcaption", {}, caption, readout, choice), place);
}

function choose(
  measures: readonly number[],
  nameOf: (column: number) => string,
  draw: (measure: number) => void,
): PageElement {
  const options = measures.map((column) => element("option", { value: column }, nameOf(column)));
  const select = element("select", { "aria-label": "Column to draw" }, ...options);
  select.addEventListener("change", () => {
    const column = Number(select.value);
    if (measures.includes(column)) draw(column);
  });
  return select;
}

function bars(rows: readonly Row[], label: number, measure: number): PageElement {
  const values = rows.map((row) => drawnNumber(row[measure]));
  const known = values.filter((value) => value !== undefined);
  const [low, high] = [Math.min(0, ...known), Math.max(0, ...known)];
  const percent = (value: number) => `${(value / (high - low || 1)) * 100}%`;
  return element(
    "div",
    { class: "bars", role: "img" },
    ...rows.flatMap((row, index) => {
      const value = values[index];
      const bar = element("span", { class: "bar" });
      bar.style.left = percent(Math.min(0, value ?? 0) - low);
      bar.style.width = percent(Math.abs(value ?? 0));
      return [
        element("span", { class: "label" }, row[label] === null ? "NULL" : shownText(valueText(row[label]))),
        element("span", { class: "track" }, value === undefined ? "" : bar),
        element(
          "span",
          { class: "value" },
          row[measure] === null ? "NULL" : shownText(valueText(row[measure])),
        ),
      ];
    }),
  );
}

interface LineOptions {
  readonly label: number;
  readonly measure: number;
  readonly locale: string | undefined;
  readonly readout: PageElement;
}

const height = 200;
const margin = { top: 10, right: 14, bottom: 26, left: 56 };

function line(rows: readonly Row[], options: LineOptions): PageElement {
  const points = rows.flatMap((row) => {
    const at = moment(row[options.label]);
    return at === undefined ? [] : [{ ...at, row, value: drawnNumber(row[options.measure]) }];
  }).sort((a, b) => a.timeMs - b.timeMs);
  const known = points.flatMap(({ value }) => value ?? []);
  const ticks = niceTicks(known);
  const [low, high] = [ticks[0] ?? 0, ticks.at(-1) ?? 1];
  const [start, end] = [points[0]?.timeMs ?? 0, points.at(-1)?.timeMs ?? 1];
  const holder = element("div", { class: "line", role: "img" });
  const formats = labelFormats(options.locale, points);
  let x = (_timeMs: number) => 0;

  function draw(width: number): void {
    const inner = Math.max(1, width - margin.left - margin.right);
    x = (timeMs) => margin.left + ((timeMs - start) / (end - start || 1)) * inner;
    const y = (value: number) =>
      margin.top + (1 - (value - low) / (high - low || 1)) * (height - margin.top - margin.bottom);
    const place = ({ timeMs, value }: typeof points[number]) =>
      value === undefined ? undefined : `${x(timeMs).toFixed(1)} ${y(value).toFixed(1)}`;
    // a value that is missing is a gap, not a line through nothing
    const path = points.map((point, index) => {
      const [at, before] = [place(point), points[index - 1]];
      return at === undefined ? "" : `${before?.value === undefined ? "M" : "L"}${at}`;
    }).join("");
    const alone = points.filter(({ value }, index) =>
      value !== undefined && points[index - 1]?.value === undefined && points[index + 1]?.value === undefined
    );
    const dots = points.length <= 40 ? points : alone;
    holder.replaceChildren(
      shape(
        "svg",
        { width, height, viewBox: `0 0 ${width} ${height}` },
        ...ticks.flatMap((tick) => [
          shape("line", {
            class: "grid",
            x1: margin.left,
            x2: width - margin.right,
            y1: y(tick),
            y2: y(tick),
          }),
          shape("text", { x: margin.left - 8, y: y(tick) + 4, "text-anchor": "end" }, formats.number(tick)),
        ]),
        ...labelled(points, inner / formats.timeWidth, (point) => x(point.timeMs) / formats.timeWidth).map(
          (point, index, all) =>
            shape("text", {
              x: x(point.timeMs),
              y: height - 8,
              "text-anchor": point === points[0] ? "start" : point === points.at(-1) ? "end" : "middle",
            }, formats.time(point.clockMs, all[index - 1]?.clockMs)),
        ),
        shape("path", { class: "curve", d: path }),
        ...dots.flatMap((point) =>
          point.value === undefined
            ? []
            : [shape("circle", { cx: x(point.timeMs), cy: y(point.value), r: 2.5 })]
        ),
      ),
    );
  }

  holder.addEventListener("pointermove", ({ clientX }) => {
    const at = clientX - holder.getBoundingClientRect().left;
    const [nearest] = points.toSorted((a, b) => Math.abs(x(a.timeMs) - at) - Math.abs(x(b.timeMs) - at));
    if (nearest === undefined) return;
    const [time, value] = [nearest.row[options.label], nearest.row[options.measure]];
    options.readout.replaceChildren(
      shownText(valueText(time)),
      ": ",
      value === null ? "NULL" : shownText(valueText(value)),
    );
  });
  holder.addEventListener("pointerleave", () => options.readout.replaceChildren());
  new browser.ResizeObserver(() => draw(holder.clientWidth)).observe(holder);
  return holder;
}

/** Round numbers around the values: 0 among them where they are not all far from it. */
export function niceTicks(values: readonly number[]): number[] {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const isFar = least > 0 ? (most - least) < most / 3 : most < 0 && (most - least) < -least / 3;
  const [from, to] = isFar ? [least, most] : [Math.min(0, least), Math.max(0, most)];
  const rough = (to - from || Math.abs(to) || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const first = Math.floor(from / step);
  const last = Math.max(first + 1, Math.ceil(to / step));
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
}

/**
 * Points whose times are written below the line: every so many, so that months are evenly apart; less where points crowd.
 * @param room how many labels fit beside each other
 * @param placeOf where a point is, in widths of a label
 */
export function labelled<P>(points: readonly P[], room: number, placeOf: (point: P) => number): P[] {
  const step = Math.ceil(points.length / Math.max(1, Math.floor(room)));
  const chosen: P[] = [];
  for (let at = 0; at < points.length; at += step) {
    const [point, before] = [points[at], chosen.at(-1)];
    if (point !== undefined && (before === undefined || placeOf(point) - placeOf(before) >= 0.7)) {
      chosen.push(point);
    }
  }
  return chosen;
}

const dayMs = 86_400_000;

/** How times are written: as months where all are a month's first day, and with a year where it is another than before. */
export function labelFormats(
  locale: string | undefined,
  points: readonly { readonly timeMs: number; readonly clockMs: number }[],
) {
  const number = new Intl.NumberFormat(locale, { notation: "compact", maximumSignificantDigits: 4 });
  const spanMs = (points.at(-1)?.timeMs ?? 0) - (points[0]?.timeMs ?? 0);
  const yearOf = (clockMs: number) => new Date(clockMs).getUTCFullYear();
  const isMonthly = points.every(({ clockMs }) =>
    clockMs % dayMs === 0 && new Date(clockMs).getUTCDate() === 1
  );
  const showsMonths = spanMs > 500 * dayMs || (isMonthly && spanMs >= 28 * dayMs);
  const showsHours = !showsMonths && spanMs < 3 * dayMs;
  const parts: Intl.DateTimeFormatOptions = {
    timeZone: "UTC",
    month: "short",
    ...(showsMonths ? {} : { day: "numeric" }),
    ...(showsHours ? { hour: "2-digit", minute: "2-digit" } : {}),
  };
  const time = new Intl.DateTimeFormat(locale, parts);
  const timeWithYear = new Intl.DateTimeFormat(locale, { ...parts, year: "numeric" });
  return {
    number: (value: number) => number.format(value),
    /** @param beforeMs of the label before; absent for the first */
    time(clockMs: number, beforeMs?: number): string {
      const isSameYear = !showsMonths && beforeMs !== undefined && yearOf(clockMs) === yearOf(beforeMs);
      return (isSameYear ? time : timeWithYear).format(clockMs);
    },
    /** What a label takes, in pixels. */
    timeWidth: showsHours ? 170 : 110,
  };
}
