import { deepEqual, equal } from "node:assert/strict";
import { rowsText } from "../../../console/ask/rows_text.ts";

const text = (name: string) => ({ name, type: "text" });
const bodyOf = (
  rows: readonly (readonly unknown[])[],
  format: "csv" | "tsv" = "csv",
) =>
  rowsText(rows[0]?.map((_, at) => text(`c${at}`)) ?? [], rows, format).text
    .split(/(?<=\n)/).slice(1).join(
      "",
    );

Deno.test("rowsText() ends lines of CSV as RFC 4180 has it, and writes names first", () => {
  const columns = [{ name: "id", type: "integer" }, text("a,b")];
  equal(rowsText(columns, [[1, "x"]], "csv").text, 'id,"a,b"\r\n1,x\r\n');
  equal(rowsText(columns, [[1, "x"]], "tsv").text, 'id\t"a,b"\n1\tx\n');
});

Deno.test("rowsText() quotes what holds a separator, a quote or a line's end", () => {
  equal(
    bodyOf([['say "a"', "x\ty", "z\r", "x;=1"]]),
    '"say ""a""","x\ty","z\r","x;=1"\r\n',
  );
});

Deno.test("rowsText() tells NULL from an empty text", () => {
  equal(bodyOf([[null, "", null]]), ',"",\r\n');
});

Deno.test("rowsText() writes JSON as text", () => {
  equal(bodyOf([[{ a: [1] }, true]]), '"{""a"":[1]}",true\r\n');
});

Deno.test("rowsText() puts an apostrophe before a text that is a formula, and counts it", () => {
  for (const begin of ["=", "+", "-", "@", "\t", "\n=", " =", "\u00a0=", "\ufeff=", "＝", "＋"]) {
    const { text: written, guarded } = rowsText(
      [text("c")],
      [[`${begin}A1`]],
      "csv",
    );
    deepEqual([written.includes(`'${begin}A1`), guarded], [true, 1], begin);
  }
  // a column's name is a text of others too
  equal(rowsText([text("=A1")], [], "csv").text, "'=A1\r\n");
});

Deno.test("rowsText() leaves times and money as they are", () => {
  const columns = ["interval", "money", "timestamp without time zone"].map((type) => ({ name: "c", type }));
  equal(rowsText(columns, [["-3 days", "-$12.50", "-infinity"]], "csv").guarded, 0);
});

Deno.test("rowsText() leaves numbers as they are, in columns of texts too", () => {
  const columns = [{ name: "n", type: "numeric" }, text("t")];
  deepEqual(
    rowsText(columns, [["-1.50", "-7"], ["-Infinity", "+4.5"]], "csv"),
    {
      text: "n,t\r\n-1.50,-7\r\n-Infinity,+4.5\r\n",
      guarded: 0,
    },
  );
});
