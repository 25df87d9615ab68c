import assert from "node:assert/strict";
import { type ColumnKind, columnKind, moment } from "../../../src/tool_server/view/page/cell_values.ts";
import { labelFormats, labelled, niceTicks } from "../../../src/tool_server/view/page/draw_chart.ts";
import { sorted } from "../../../src/tool_server/view/page/rows_table.ts";

function order(
  kind: ColumnKind,
  values: readonly unknown[],
  direction: "ascending" | "descending" = "ascending",
) {
  return sorted(values.map((value) => [value]), { column: 0, direction }, kind).map(([value]) => value);
}

Deno.test("numbers are sorted as numbers, large ones exactly, and NULL goes last either way", () => {
  const values = [null, "9007199254740993", 10, "9007199254740992", "NaN", -2, "1.5", "-Infinity"];
  const upwards = ["-Infinity", -2, "1.5", 10, "9007199254740992", "9007199254740993", "NaN"];
  assert.deepEqual(order("number", values), [...upwards, null]);
  assert.deepEqual(order("number", values, "descending"), [...upwards.toReversed(), null]);
});

Deno.test("times are sorted as moments", () => {
  const values = [
    "infinity",
    "2026-03-29 03:00:00+02",
    "2026-03-29 01:30:00+01",
    "0044-03-15 BC",
    "2026-03-29 00:59:59.5+00",
  ];
  assert.deepEqual(order("time", values), [
    "0044-03-15 BC",
    "2026-03-29 01:30:00+01",
    "2026-03-29 00:59:59.5+00",
    "2026-03-29 03:00:00+02",
    "infinity",
  ]);
});

Deno.test("texts are sorted as people do, and rows without a sorting stay as they came", () => {
  assert.deepEqual(order("category", ["item 10", "Item 9", "äpfel", "banane"]), [
    "äpfel",
    "banane",
    "Item 9",
    "item 10",
  ]);
  const rows = [["b"], ["a"]];
  assert.equal(sorted(rows, undefined, "category"), rows);
});

Deno.test("moment() reads what PostgreSQL writes", () => {
  assert.deepEqual(moment("2026-01-02"), { clockMs: 1767312000000, timeMs: 1767312000000 });
  assert.deepEqual(moment("2026-01-02 03:04:05.25+05:30"), { clockMs: 1767323045250, timeMs: 1767303245250 });
  assert.deepEqual(moment("2026-01-02 00:00:00-08"), { clockMs: 1767312000000, timeMs: 1767340800000 });
  for (const text of ["infinity", "10000-01-01", "0044-03-15 BC", "now", 20260102, null]) {
    assert.equal(moment(text), undefined);
  }
});

Deno.test("columnKind() goes by PostgreSQL's types", () => {
  assert.deepEqual(
    ["bigint", "numeric", "timestamp with time zone", "other", "boolean", "jsonb", "time", "integer[]"].map(
      columnKind,
    ),
    ["number", "number", "time", "category", "category", "other", "other", "other"],
  );
});

Deno.test("niceTicks() gives round numbers around the values", () => {
  assert.deepEqual(niceTicks([3, 97]), [0, 25, 50, 75, 100]);
  assert.deepEqual(niceTicks([1000, 1010]), [1000, 1002.5, 1005, 1007.5, 1010]);
  assert.deepEqual(niceTicks([-5, 5]), [-5, -2.5, 0, 2.5, 5]);
  assert.deepEqual(niceTicks([0, 0]), [0, 0.25]);
  assert.deepEqual(niceTicks([7, 7]), [6, 8]);
});

Deno.test("times below a line are evenly apart, and say the year where it changes", () => {
  const pointAt = (text: string) => ({ timeMs: Date.parse(text), clockMs: Date.parse(text) });
  const labels = (points: ReturnType<typeof pointAt>[], room: number) => {
    const [first, last] = [points[0]?.timeMs ?? 0, points.at(-1)?.timeMs ?? 0];
    const { time } = labelFormats("en-GB", points);
    return labelled(points, room, ({ timeMs }) => room * (timeMs - first) / (last - first))
      .map(({ clockMs }, index, all) => time(clockMs, all[index - 1]?.clockMs));
  };
  const months = Array.from(
    { length: 12 },
    (_, month) => pointAt(new Date(Date.UTC(2025, 6 + month)).toISOString()),
  );
  assert.deepEqual(labels(months, 5), ["Jul 2025", "Oct 2025", "Jan 2026", "Apr 2026"]);
  const days = Array.from(
    { length: 60 },
    (_, day) => pointAt(new Date(Date.UTC(2025, 11, 12 + day)).toISOString()),
  );
  assert.deepEqual(labels(days, 4), ["12 Dec 2025", "27 Dec", "11 Jan 2026", "26 Jan"]);
  const hours = ["2026-03-01T10:00Z", "2026-03-01T20:00Z"].map(pointAt);
  assert.deepEqual(labels(hours, 4), ["1 Mar 2026, 10:00", "1 Mar, 20:00"]);
  // crowded ones are left out
  const uneven = ["2026-01-05", "2026-01-06", "2026-01-07", "2026-03-05"].map(pointAt);
  assert.deepEqual(labels(uneven, 4), ["5 Jan 2026", "5 Mar"]);
  assert.deepEqual(labels([pointAt("2026-01-05")], 4).length, 1);
});
