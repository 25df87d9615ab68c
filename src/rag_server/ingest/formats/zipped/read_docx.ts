import type { DocumentBlock, SourceDocument } from "../../../../text/chunk_document.ts";
import { createDocumentBuilder, tableText } from "../document_builder.ts";
import { createDocxStyles } from "./docx_styles.ts";
import { openOffice, runText, shownOf } from "./office_package.ts";
import {
  childOf,
  childrenOf,
  descendantsOf,
  eachElement,
  firstElement,
  textOf,
  type XmlElement,
} from "./xml.ts";

/** A longer one is a paragraph in a heading's style. */
const longestHeading = 300;
/** A cell with more lays out a page. */
const longestCell = 2000;
/** A longer text of cells that are one is not said again in each row. */
const longestRepeated = 200;

/**
 * A Word document's text: headings by their styles or outline levels, lists with their numbers, notes behind the
 * paragraphs that name them. Comments, deletions, hidden text, headers and footers are left out.
 *
 * @throws {Error} where it is encrypted, damaged or too large
 */
export function readDocx(bytes: Uint8Array, fallbackTitle: string): SourceDocument {
  const office = openOffice(bytes, "document");
  const styleOf = createDocxStyles(office.part("styles"), office.part("numbering"));
  const notes = new Map<string, XmlElement>();
  for (const kind of ["footnote", "endnote"]) {
    eachElement(office.part(`${kind}s`), [kind], (note) => {
      notes.set(`${kind}Reference ${note.attributes["id"]}`, note);
    });
  }
  const builder = createDocumentBuilder();
  let title: string | undefined;
  let noteCount = 0;
  let hasEmbedded = false;
  /** What paragraphs have beside their own text: boxes, notes with their marks, and points of diagrams. */
  let asides: { readonly mark: string; readonly content: XmlElement | undefined }[] = [];
  /** Paragraphs that are one block. */
  let run: { kind: DocumentBlock["kind"]; lines: string[] } = { kind: "paragraph", lines: [] };

  function endRun(kind: DocumentBlock["kind"] = "paragraph"): void {
    builder.block(run.kind, run.lines.join("\n"));
    run = { kind, lines: [] };
  }

  function add(kind: DocumentBlock["kind"], text: string): void {
    if (run.kind !== kind || kind === "paragraph") endRun(kind);
    run.lines.push(text);
  }

  /** What stands for an element in a paragraph, where that is not its text. */
  function inline(element: XmlElement): string | undefined {
    const { name, attributes } = element;
    const within = (child: string) =>
      descendantsOf(element, child).slice(0, 1).map((part) => runText(part, inline)).join();
    if (isHidden(element)) return "";
    if (name === "f") return `${within("num")}/${within("den")}`;
    if (name === "sSup") return `${within("e")}^${within("sup")}`;
    if (name === "txbxContent") {
      asides.push({ mark: "", content: element });
      return "";
    }
    if (name === "relIds") {
      const path = office.parts.find(({ id }) => id === attributes["r:dm"])?.path ?? "";
      // SmartArt, each of whose points is a text
      const points = descendantsOf(firstElement(office.read(path), "ptLst"), "t").map((point) =>
        textOf(point).trim()
      );
      asides.push(...points.filter(Boolean).map((text) => ({ mark: `- ${text}`, content: undefined })));
      return "";
    }
    const key = `${name} ${attributes["id"]}`;
    const content = notes.get(key);
    if (content === undefined) return undefined;
    notes.delete(key);
    const mark = `[${++noteCount}]`;
    asides.push({ mark: `${mark} `, content });
    return mark;
  }

  function addAsides(): void {
    const own = asides;
    asides = [];
    for (const { mark, content } of own) {
      if (mark === "") childrenOf(content).forEach(addBlocks);
      else if (content === undefined) add("list", mark);
      else add("paragraph", mark + flatText(content));
    }
  }

  function addParagraph(element: XmlElement): void {
    const { level, isTitle, isContents, kind, mark, depth } = styleOf(childOf(element, "pPr"));
    const text = isContents ? "" : runText(element, inline);
    if (isTitle && text.trim() !== "") title ??= text;
    if (text.trim() !== "" && level < 10 && text.length <= longestHeading) {
      endRun();
      builder.heading(level, (mark === "- " ? "" : mark) + text);
    } else if (kind === "list" && text.trim() !== "") {
      add(kind, "  ".repeat(depth) + mark + text.trim().replace(/\s*\n\s*/g, " "));
    } else if (kind === "code" || text.trim() !== "") add(kind, text);
    addAsides();
  }

  /** All paragraphs within on one line, for a cell. */
  function flatText(element: XmlElement): string {
    const texts = paragraphsOf(element).map((inner) => {
      const { mark } = styleOf(childOf(inner, "pPr"));
      const text = runText(inner, inline).trim();
      return text === "" ? "" : mark + text;
    });
    return texts.join(" ").replace(/\s+/g, " ").trim();
  }

  function addTable(table: XmlElement): void {
    const rows = descendantsOf(table, "tr").filter((row) => childOf(row, "trPr", "del") === undefined);
    const cells = rows.map((row) => descendantsOf(row, "tc"));
    const isLayout = cells.every(({ length }) => length <= 1) ||
      cells.flat().some((cell) => textOf(cell).length > longestCell);
    if (isLayout) return cells.flat().forEach(addBlocks);
    const texts: string[][] = [];
    for (const [at, row] of rows.entries()) {
      const line = new Array<string>(spanOf(row, "trPr", "gridBefore", 0)).fill("");
      for (const cell of cells[at] ?? []) {
        const merge = childOf(cell, "tcPr", "vMerge");
        const above = merge === undefined || merge.attributes["val"] === "restart"
          ? ""
          : texts.at(-1)?.[line.length];
        const text = flatText(cell) || (above ?? "");
        line.push(text.length > longestRepeated && text === above ? "" : text);
        line.push(...new Array<string>(spanOf(cell, "tcPr", "gridSpan", 1) - 1).fill(""));
      }
      texts.push(line);
    }
    endRun();
    builder.block("table", tableText(texts, hasHeader(table, rows)));
    addAsides();
  }

  /** The blocks of the body, a box, or a cell. */
  function addBlocks(element: XmlElement): void {
    if (element.name === "p") addParagraph(element);
    else if (element.name === "tbl") addTable(element);
    else if (!isHidden(element)) childrenOf(shownOf(element)).forEach(addBlocks);
  }

  eachElement(office.main, ["p", "tbl", "sdt", "altChunk"], (element) => {
    if (element.name === "altChunk") hasEmbedded = true;
    else addBlocks(element);
  });
  endRun();
  const document = builder.build(title ?? office.title, fallbackTitle);
  if (hasEmbedded && document.sections.every(({ blocks }) => blocks.length === 0)) {
    throw new Error(
      "its text stands in a document that is embedded, which is not read; save it anew in Word",
    );
  }
  return document;
}

const isOn = (element: XmlElement | undefined) =>
  element !== undefined && !/^(?:0|false|off)$/.test(element.attributes["val"] ?? "");

/** Hidden text, what a form shows before it is filled in, and a table of contents. */
function isHidden(element: XmlElement): boolean {
  const gallery = childOf(element, "sdtPr", "docPartObj", "docPartGallery");
  return isOn(childOf(element, "rPr", "vanish")) || gallery?.attributes["val"] === "Table of Contents" ||
    childOf(element, "rPr", "rStyle")?.attributes["val"] === "PlaceholderText";
}

/** Paragraphs, with those of tables within. */
function paragraphsOf(element: XmlElement): XmlElement[] {
  return childrenOf(element).flatMap((child) => child.name === "p" ? [child] : paragraphsOf(child));
}

/** How many columns of the table's grid; 63 is Word's most. */
function spanOf(element: XmlElement, properties: string, name: string, usual: number): number {
  const span = Number(childOf(element, properties, name)?.attributes["val"] ?? usual);
  return Math.min(63, Math.max(usual, Math.trunc(span) || usual));
}

function hasHeader(table: XmlElement, rows: readonly XmlElement[]): boolean {
  const look = childOf(table, "tblPr", "tblLook")?.attributes;
  if (rows.length < 2) return false;
  // a bit of the older attribute
  return isOn(childOf(rows[0], "trPr", "tblHeader")) || look?.["firstRow"] === "1" ||
    (parseInt(look?.["val"] ?? "0", 16) & 0x20) > 0;
}
