import assert from "node:assert/strict";
import { readXlsx } from "../../../../../src/rag_server/ingest/formats/zipped/read_xlsx.ts";
import { exampleZip, relationships } from "../example_zip.ts";
import { shown } from "../shown_document.ts";

/** A workbook of one sheet, or of several by their names and attributes. */
function read(
  sheets: string | Readonly<Record<string, string>>,
  { strings = "", formats = "", properties = "" } = {},
): unknown[] {
  const all = Object.entries(typeof sheets === "string" ? { Sheet1: sheets } : sheets);
  return shown(readXlsx(
    exampleZip({
      "_rels/.rels": relationships({ r1: ["officeDocument", "xl/workbook.xml"] }),
      "xl/workbook.xml": `<workbook>${properties}<sheets>` +
        all.map(([name], at) =>
          `<sheet name="${name.split("?")[0]}" r:id="s${at}" ${name.split("?")[1] ?? ""}/>`
        ).join("") +
        `</sheets></workbook>`,
      "xl/_rels/workbook.xml.rels": relationships({
        ...Object.fromEntries(all.map((_, at) => [`s${at}`, ["worksheet", `sheet${at}.xml`] as const])),
        strings: ["sharedStrings", "strings.xml"],
        styles: ["styles", "styles.xml"],
        chart: ["chartsheet", "chart.xml"],
      }),
      "xl/strings.xml": `<sst>${strings}</sst>`,
      "xl/styles.xml": `<styleSheet>${formats}</styleSheet>`,
      ...Object.fromEntries(all.map(([, xml], at) => [`xl/sheet${at}.xml`, `<worksheet>${xml}</worksheet>`])),
    }),
    "file",
  ));
}

const text = (place: string, value: string) => `<c r="${place}" t="inlineStr"><is><t>${value}</t></is></c>`;
const number = (place: string, value: string, style = 0) =>
  `<c r="${place}" s="${style}"><v>${value}</v></c>`;
const row = (at: number, cells: string) => `<row r="${at}">${cells}</row>`;

Deno.test("readXlsx() makes a section of each sheet that is shown, a table with its header of its rows", () => {
  const sheet = row(1, text("A1", "Prices of 2024")) + row(2, text("A2", "Item") + text("C2", "Price")) +
    row(3, text("A3", "Shelf") + number("C3", "12.5")) +
    // behind an empty row it goes on
    row(5, text("A5", "Desk") + number("C5", "99")) +
    // another table, and a text
    row(8, text("A8", "x") + text("F8", "y") + text("G8", "z")) +
    row(9, number("A9", "1") + number("G9", "3")) +
    row(11, text("A11", "A remark."));
  assert.deepEqual(read({ Prices: sheet, 'Old?state="hidden"': row(1, text("A1", "secret")), Empty: "" }), [
    "file",
    [
      "Prices",
      "Prices of 2024",
      "| Item | Price |\n| --- | --- |\n| Shelf | 12.5 |",
      "| Item | Price |\n| --- | --- |\n| Desk | 99 |",
      "| x | y | z |\n| --- | --- | --- |\n| 1 |  | 3 |",
      "A remark.",
    ],
  ]);
  assert.deepEqual(read({ 'Gone?state="veryHidden"': row(1, text("A1", "secret")) }), ["file"]);
  assert.deepEqual(read(row(1, number("A1", "1") + number("B1", "2")) + row(2, number("A2", "3"))), ["file", [
    "Sheet1",
    "| 1 | 2 |\n| 3 |  |",
  ]]);
});

Deno.test("readXlsx() has a table go on behind one empty row, not behind two", () => {
  const table = row(1, text("A1", "Item") + text("B1", "Price")) +
    row(2, text("A2", "Desk") + number("B2", "9"));
  const stray = (at: number) => read(table + row(at, text(`A${at}`, "Total of") + number(`B${at}`, "7")));
  const head = "| Item | Price |\n| --- | --- |\n";
  assert.deepEqual(stray(4), ["file", ["Sheet1", `${head}| Desk | 9 |`, `${head}| Total of | 7 |`]]);
  assert.deepEqual(stray(5), ["file", ["Sheet1", `${head}| Desk | 9 |`, "| Total of | 7 |"]]);
});

Deno.test("readXlsx() leaves out hidden columns, not those of closed groups, nor hidden rows", () => {
  const columns =
    `<cols><col min="2" max="3" hidden="1"/><col min="4" max="4" hidden="1" outlineLevel="1"/>` +
    `<col min="5" max="5" hidden="0"/></cols>`;
  const places = ["A", "B", "C", "D", "E", "F"];
  const sheet = row(1, places.map((place) => text(`${place}1`, `name ${place}`)).join("")) +
    `<row r="2" hidden="1">${places.map((place) => text(`${place}2`, place)).join("")}</row>`;
  assert.deepEqual(read(columns + sheet), ["file", [
    "Sheet1",
    "| name A | name D | name E | name F |\n| --- | --- | --- | --- |\n| A | D | E | F |",
  ]]);
});

Deno.test("readXlsx() shows values as they are meant", () => {
  const strings =
    "<si><t>plain</t></si><si><r><t>rich </t></r><r><t>text</t></r><rPh><t>spoken</t></rPh></si>";
  const formats =
    `<numFmts><numFmt numFmtId="164" formatCode="dd\\.mm\\.yyyy"/><numFmt numFmtId="165" formatCode="[h]:mm"/>` +
    `<numFmt numFmtId="166" formatCode="#,##0&quot; days&quot;"/><numFmt numFmtId="167" formatCode="[Red]0.0"/>` +
    `<numFmt numFmtId="168" formatCode="00000"/></numFmts>` +
    `<cellXfs>${
      [0, 14, 164, 165, 10, 166, 167, 22, 20, 168, 168, 168].map((id) => `<xf numFmtId="${id}"/>`).join("")
    }</cellXfs>`;
  const cells = [
    `<c r="A1" t="s"><v>1</v></c><c t="s"><v>0</v></c><c t="b"><v>1</v></c><c t="e"><v>#N/A</v></c>`,
    `<c t="str"><f>A1&amp;"!"</f><v>cached</v></c><c><f>1+1</f><v>2</v></c><c><v>0.30000000000000004</v></c>`,
    `<c t="d"><v>2024-05-17</v></c>`,
    ["45429", "45429", "1.5", "0.125", "30", "7.5", "45429.75", "0.5", "7", "123456", "-7"]
      .map((value, at) => `<c s="${at + 1}"><v>${value}</v></c>`).join(""),
  ].join("");
  assert.deepEqual(read(row(1, cells), { strings, formats }), ["file", [
    "Sheet1",
    "| rich text | plain | TRUE | #N/A | cached | 2 | 0.3 | 2024-05-17 | 2024-05-17 | 2024-05-17 | 36:00 | 12.5% | 30 | 7.5 " +
    "| 2024-05-17 18:00 | 12:00 | 00007 | 123456 | -7 |",
  ]]);
  const dates = row(1, number("A1", "1", 1) + number("B1", "59", 1) + number("C1", "61", 1));
  assert.deepEqual(read(dates, { formats }), ["file", [
    "Sheet1",
    "| 1900-01-01 | 1900-02-28 | 1900-03-01 |",
  ]]);
  assert.deepEqual(read(dates, { formats, properties: `<workbookPr date1904="1"/>` }), ["file", [
    "Sheet1",
    "| 1904-01-02 | 1904-02-29 | 1904-03-02 |",
  ]]);
});

Deno.test("readXlsx() says merged cells in each row that they are in", () => {
  const sheet = row(1, text("A1", "Region") + text("B1", "City")) +
    row(2, text("A2", "North") + text("B2", "a")) +
    row(3, text("B3", "b")) + row(4, text("B4", "c"));
  const merged = (area: string) => `<mergeCells><mergeCell ref="${area}"/></mergeCells>`;
  const head = "| Region | City |\n| --- | --- |\n| North | a |\n";
  assert.deepEqual(read(sheet + merged("A2:A3")), ["file", ["Sheet1", `${head}| North | b |\n|  | c |`]]);
  assert.deepEqual(read(sheet + merged("A2:A1048576")), ["file", [
    "Sheet1",
    `${head}| North | b |\n| North | c |`,
  ]]);
  const long = sheet.replace("North", "N".repeat(201)) + merged("A2:A3");
  assert.ok(!JSON.stringify(read(long)).includes("NNN | b"));
});

Deno.test("readXlsx() refuses a text that is in too many cells", () => {
  const cells = Array.from({ length: 700 }, () => `<c t="s"><v>0</v></c>`).join("");
  assert.throws(() => read(row(1, cells), { strings: `<si><t>${"x".repeat(100_000)}</t></si>` }), {
    message: "its cells have too much text",
  });
});
