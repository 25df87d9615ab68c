import assert from "node:assert/strict";
import { chooseChart } from "../../../src/tool_server/view/page/draw_chart.ts";

const city = { name: "city", type: "text" };
const day = { name: "day", type: "date" };
const total = { name: "total", type: "numeric" };
const count = { name: "count", type: "bigint" };
const id = { name: "customer_id", type: "integer" };

Deno.test("a column of categories and one of numbers are bars, and keys are no numbers to draw", () => {
  const rows = [["Bern", "12.50", 7, 1], ["Basel", null, 8, 2], [null, "3", 9, 3]];
  assert.deepEqual(chooseChart([city, total, id, count], rows), { kind: "bars", label: 0, measures: [1, 3] });
});

Deno.test("a column of dates and one of numbers are a line", () => {
  const rows = [[1, "2026-01-01"], [null, "2026-01-02"], [3, "2026-01-03"]];
  assert.deepEqual(chooseChart([count, day], rows), { kind: "line", label: 1, measures: [0] });
});

for (
  const [name, columns, rows] of [
    ["without a number", [city, city], [["a", "b"], ["c", "d"]]],
    ["without anything beside the numbers", [count, total], [[1, 2], [3, 4]]],
    ["with two columns beside the number", [city, day, count], [["a", "2026-01-01", 1], [
      "b",
      "2026-01-02",
      2,
    ]]],
    ["with one row", [city, count], [["a", 1]]],
    ["with a category twice", [city, count], [["a", 1], ["a", 2]]],
    ["with a day twice", [day, count], [["2026-01-01", 1], ["2026-01-01", 2], ["2026-01-02", 3]]],
    ["with a day that has no place", [day, count], [["infinity", 1], ["2026-01-01", 2], ["2026-01-02", 3]]],
    ["with categories that are texts", [city, count], [["a".repeat(61), 1], ["b", 2]]],
    ["with more than 30 categories", [city, count], Array.from({ length: 31 }, (_, n) => [`${n}`, n])],
    ["with numbers of which one can be drawn", [city, total], [["a", "NaN"], ["b", "1"], ["c", null]]],
    ["with JSON", [{ name: "data", type: "jsonb" }, count], [[{}, 1], [[], 2]]],
    ["with nothing in them", [], []],
  ] as const
) {
  Deno.test(`rows ${name} are no chart`, () => assert.equal(chooseChart(columns, rows), undefined));
}
