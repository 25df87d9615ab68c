import type { SourceDocument } from "../../../../text/chunk_document.ts";
import { createDocumentBuilder, type DocumentBuilder, tableText } from "../document_builder.ts";
import { openOffice, runText } from "./office_package.ts";
import { childOf, childrenOf, eachElement, firstElement, textOf, type XmlElement } from "./xml.ts";
import { createCellFormats } from "./xlsx_formats.ts";

/** Of all cells, in characters: one text may be in many of them. */
const maxCharacters = 64 * 1024 * 1024;
/** A longer text of merged cells is not said again in each row. */
const longestRepeated = 200;

/**
 * A workbook's sheets, each a section with its rows as tables. A table ends at empty rows; its first row is its header where
 * that has texts alone. Formulas give the values that were saved. Hidden sheets and columns, comments and charts are left
 * out; hidden rows are not, as a filter hides rows too.
 *
 * @throws {Error} where it is encrypted, damaged or too large
 */
export function readXlsx(bytes: Uint8Array, fallbackTitle: string): SourceDocument {
  const office = openOffice(bytes, "workbook");
  const pathOf = new Map(
    office.parts.map(({ id, type, path }) => [id, type === "worksheet" ? path : undefined]),
  );
  const read = createSheetReader(office);
  const builder = createDocumentBuilder();
  for (const { attributes } of childrenOf(firstElement(office.main, "sheets"), "sheet")) {
    const id = attributes["r:id"] ?? "";
    const path = pathOf.get(id);
    // once, whatever the workbook says
    pathOf.delete(id);
    if (path === undefined || (attributes["state"] ?? "visible") !== "visible") continue;
    const rows = read(path);
    // below the document's title, which is never a sheet's name
    if (rows.length > 0) builder.heading(2, attributes["name"] ?? "");
    addRows(rows, builder);
  }
  return builder.build(office.title, fallbackTitle);
}

/** A row's cells that are not empty, by their columns from 0. */
interface SheetRow {
  /** From 1. */
  readonly number: number;
  readonly cells: Map<number, Cell>;
}

interface Cell {
  readonly text: string;
  readonly isText: boolean;
}

/** @returns the rows of a sheet that are not empty */
function createSheetReader(office: ReturnType<typeof openOffice>) {
  const strings: string[] = [];
  eachElement(office.part("sharedStrings"), ["si"], (item) => strings.push(runText(item)));
  const show = createCellFormats(office.part("styles"), firstElement(office.main, "workbookPr"));
  let left = maxCharacters;

  function cellOf(cell: XmlElement): Cell {
    const { t: type = "n", s: style = "0" } = cell.attributes;
    const value = textOf(childOf(cell, "v"));
    const isText = /^(?:s|inlineStr|str)$/.test(type);
    if (type === "s") return { text: strings[Number(value)] ?? "", isText };
    if (type === "inlineStr") return { text: runText(childOf(cell, "is") ?? cell), isText };
    if (type === "b") return { text: value === "1" ? "TRUE" : "FALSE", isText };
    return { text: type === "n" ? show(value, Number(style)) : value, isText };
  }

  return (path: string): SheetRow[] => {
    const xml = office.read(path);
    const rows: SheetRow[] = [];
    let number = 0;
    const hidden: XmlElement["attributes"][] = [];
    eachElement(xml, ["col"], ({ attributes: own }) => {
      // not one of a closed group
      if (/^(?:1|true)$/.test(own["hidden"] ?? "") && !own["outlineLevel"]) hidden.push(own);
    });
    eachElement(xml, ["row"], (row) => {
      number = Number(row.attributes["r"] ?? number + 1);
      const cells = new Map<number, Cell>();
      let column = -1;
      for (const child of childrenOf(row, "c")) {
        const place = child.attributes["r"];
        column = place === undefined ? column + 1 : columnOf(place);
        if (hidden.some(({ min, max }) => column >= Number(min) - 1 && column < Number(max))) continue;
        const cell = cellOf(child);
        left -= cell.text.length;
        if (left < 0) throw new Error("its cells have too much text");
        if (cell.text.trim() !== "") cells.set(column, cell);
      }
      if (cells.size > 0) rows.push({ number, cells });
    });
    const places = new Map(rows.map(({ number }, at) => [number, at]));
    let room = mostRepeats;
    eachElement(xml, ["mergeCell"], ({ attributes }) => {
      room -= repeatDown(attributes["ref"] ?? "", { rows, places, room });
    });
    return rows;
  };
}

/** Of a sheet, whose merged areas may overlap. */
const mostRepeats = 100_000;

/**
 * Says the text of merged cells in each of their rows that has other texts.
 *
 * @param places of the rows, by their numbers
 * @returns how often it was said, at most `room` times
 */
function repeatDown(area: string, { rows, places, room }: {
  readonly rows: readonly SheetRow[];
  readonly places: ReadonlyMap<number, number>;
  readonly room: number;
}): number {
  const [from = ""] = area.split(":");
  const [first = 0, last = 0] = area.split(":").map((place) => Number(place.replace(/\D/g, "")));
  const start = last > first ? places.get(first) ?? Infinity : Infinity;
  const cell = rows[start]?.cells.get(columnOf(from));
  if (cell === undefined || cell.text.length > longestRepeated) return 0;
  let count = 0;
  while (count < room && (rows[start + count + 1]?.number ?? Infinity) <= last) {
    rows[start + ++count]?.cells.set(columnOf(from), cell);
  }
  return count;
}

/** From 0, of a place such as `AB12`. */
function columnOf(place: string): number {
  const letters = place.replace(/[^A-Z]/gi, "").toUpperCase();
  return [...letters].reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

/** A table ends at an empty row, but goes on behind a single one where it has no other columns. */
function addRows(rows: readonly SheetRow[], builder: DocumentBuilder): void {
  let header: SheetRow | undefined;
  for (let start = 0, end = 1; start < rows.length; end++) {
    if (rows[end]?.number === (rows[end - 1]?.number ?? 0) + 1) continue;
    let body = rows.slice(start, end);
    if ((body[0]?.number ?? 0) > (rows[start - 1]?.number ?? 0) + 2) header = undefined;
    start = end;
    // what stands above a table
    while (body[0]?.cells.size === 1 && (body[1]?.cells.size ?? 0) > 1) {
      builder.block("paragraph", [...body[0].cells.values()].map(({ text }) => text).join());
      body = body.slice(1);
    }
    const [first, ...others] = body;
    if (first !== undefined && isHeader(first, others)) [header, body] = [first, others];
    else if (
      first?.cells.size === 1 ||
      body.some(({ cells }) => [...cells.keys()].some((column) => !header?.cells.has(column)))
    ) {
      header = undefined;
    }
    const all = header === undefined ? body : [header, ...body];
    const columns = [...new Set(all.flatMap(({ cells }) => [...cells.keys()]))].sort((one, other) =>
      one - other
    );
    const lineOf = ({ cells }: SheetRow) =>
      columns.map((column) => cells.get(column)?.text.replace(/\s+/g, " ") ?? "");
    if (columns.length === 1) builder.block("paragraph", body.flatMap(lineOf).join("\n"));
    else builder.block("table", tableText(all.map(lineOf), header !== undefined));
  }
}

/** Whether a row's texts, or years, name the columns below. */
function isHeader({ cells }: SheetRow, others: readonly SheetRow[]): boolean {
  return others.length > 0 && cells.size > 1 &&
    [...cells.values()].every(({ isText, text }) => isText || /^(?:19|20)\d\d$/.test(text));
}
