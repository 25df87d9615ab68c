import { deepEqual, equal } from "node:assert/strict";
import { columnEdges, move, within } from "../../../console/rows/grid_places.ts";

const bounds = { rows: 100, columns: 5, page: 10 };
const at = { row: 50, column: 2 };
const press = (key: string, from = at, ctrlKey = false) =>
  move(from, { key, ctrlKey, metaKey: false, altKey: false }, bounds);

Deno.test("move() goes to neighbours, and far with Ctrl", () => {
  deepEqual(press("ArrowUp"), { row: 49, column: 2 });
  deepEqual(press("ArrowRight"), { row: 50, column: 3 });
  deepEqual(press("PageDown"), { row: 60, column: 2 });
  deepEqual(press("End"), { row: 50, column: 4 });
  deepEqual(press("End", at, true), { row: 100, column: 4 });
  deepEqual(press("Home", at, true), { row: 0, column: 0 });
  deepEqual(press("ArrowDown", at, true), { row: 100, column: 2 });
});

Deno.test("move() stays within the headings and the last cell", () => {
  deepEqual(press("ArrowUp", { row: 0, column: 0 }), { row: 0, column: 0 });
  deepEqual(press("ArrowLeft", { row: 0, column: 0 }), { row: 0, column: 0 });
  deepEqual(press("PageDown", { row: 95, column: 4 }), { row: 100, column: 4 });
  deepEqual(press("ArrowRight", { row: 1, column: 4 }), { row: 1, column: 4 });
});

Deno.test("move() leaves other keys, and Alt, to the browser", () => {
  equal(press("Tab"), undefined);
  equal(
    move(
      at,
      { key: "ArrowLeft", ctrlKey: false, metaKey: false, altKey: true },
      bounds,
    ),
    undefined,
  );
});

Deno.test("within() scrolls only as far as it must", () => {
  equal(within(100, 50, 110, 130), 100);
  equal(within(100, 50, 40, 60), 40);
  equal(within(100, 50, 160, 180), 130);
});

Deno.test("columnEdges() has wide columns for long values, within bounds, wherever they stand", () => {
  const columns = ["a", "b", "c"].map((name) => ({ name, type: "text" }));
  const rows = [[null, "x".repeat(20), "y".repeat(5_000)]];
  const edges = columnEdges(columns, rows);
  const [a = 0, b = 0, c = 0] = edges.slice(1).map((edge, at) => edge - (edges[at] ?? 0));
  equal(a < b && b < c && c < 400, true);
  const more = Array.from({ length: 200 }, () => rows[0] ?? []);
  deepEqual(columnEdges(columns, more), edges);
  const [, wider = 0] = columnEdges(columns, [...more, ["x".repeat(30), "", ""]]);
  equal(wider - a, b - a + Math.ceil(10 * 8.1));
});
