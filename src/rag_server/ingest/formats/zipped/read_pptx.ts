import type { SourceDocument } from "../../../../text/chunk_document.ts";
import { createDocumentBuilder, tableText } from "../document_builder.ts";
import { openOffice, runText, shownOf } from "./office_package.ts";
import { childOf, childrenOf, descendantsOf, firstElement, type XmlElement } from "./xml.ts";

/** Placeholders that are the same on each slide. */
const running = new Set(["sldNum", "dt", "ftr", "hdr", "sldImg"]);

/**
 * A presentation's slides, each a section with its title, texts, tables, diagrams and notes; its number is the page.
 * Hidden slides, comments and masters are left out.
 *
 * @throws {Error} where it is encrypted, damaged or too large
 */
export function readPptx(bytes: Uint8Array, fallbackTitle: string): SourceDocument {
  const office = openOffice(bytes, "presentation");
  const pathOf = new Map(office.parts.map(({ id, path }) => [id, path]));
  const list = childrenOf(firstElement(office.main, "sldIdLst"), "sldId");
  const builder = createDocumentBuilder();
  let title = office.title;
  let page = 0;
  for (const path of new Set(list.map(({ attributes }) => pathOf.get(attributes["r:id"] ?? "") ?? ""))) {
    page++;
    const pages = [{ at: 0, page }];
    const slide = firstElement(office.read(path), "sld");
    if (slide === undefined || slide.attributes["show"] === "0") continue;
    const shapes = shapesOf(childOf(slide, "cSld", "spTree"));
    const head = shapes.find(({ use, text }) => /^(?:title|ctrTitle)$/.test(use) && text !== "");
    if (page === 1) title ||= head?.text;
    // below the title of all of it
    builder.heading(2, head?.text ?? `Slide ${page}`, page);
    for (const shape of shapes) {
      if (shape === head || running.has(shape.use)) continue;
      shape.tables.forEach((table) => builder.block("table", slideTable(table), pages));
      builder.block(shape.isList ? "list" : "paragraph", shape.text, pages);
    }
    for (const related of office.relationships(path)) {
      if (related.type === "diagramData") {
        const points = descendantsOf(firstElement(office.read(related.path), "ptLst"), "t");
        builder.block("list", points.map((point) => linesOf(point, false)).filter(Boolean).join("\n"), pages);
      } else if (related.type === "notesSlide") {
        const notes = shapesOf(firstElement(office.read(related.path), "spTree"));
        const text = notes.filter(({ use }) => use === "body").map(({ text }) => text).join("\n");
        if (text !== "") builder.block("paragraph", `Notes: ${text}`, pages);
      }
    }
  }
  return builder.build(title, fallbackTitle);
}

interface Shape {
  /** What the layout has it for; empty for a shape of the slide's own. */
  readonly use: string;
  readonly text: string;
  readonly isList: boolean;
  readonly tables: readonly XmlElement[];
}

/** Shapes in their order, those of groups too. */
function shapesOf(tree: XmlElement | undefined): Shape[] {
  return childrenOf(tree && shownOf(tree)).flatMap((child) => {
    if (child.name === "AlternateContent" || child.name === "grpSp") return shapesOf(child);
    const placeholder = childOf(child, "nvSpPr", "nvPr", "ph");
    const use = placeholder === undefined ? "" : placeholder.attributes["type"] ?? "body";
    const isList = use === "body" && childrenOf(childOf(child, "txBody"), "p").length > 1;
    return [{
      use,
      isList,
      text: linesOf(childOf(child, "txBody"), isList),
      tables: descendantsOf(child, "tbl"),
    }];
  });
}

/** Paragraphs as lines, or as a list's items. */
function linesOf(body: XmlElement | undefined, isList: boolean): string {
  return childrenOf(body, "p").flatMap((paragraph) => {
    const depth = Number(childOf(paragraph, "pPr")?.attributes["lvl"] ?? 0);
    const text = runText(paragraph).replace(/\s+/g, " ").trim();
    return text === "" ? [] : [(isList ? `${"  ".repeat(Math.min(depth, 8))}- ` : "") + text];
  }).join("\n");
}

function slideTable(table: XmlElement): string {
  const rows: string[][] = [];
  for (const row of childrenOf(table, "tr")) {
    const above = rows.at(-1);
    rows.push(
      childrenOf(row, "tc").map((cell, at) => {
        const isGoingOn = cell.attributes["vMerge"] === "1";
        return isGoingOn ? above?.[at] ?? "" : linesOf(childOf(cell, "txBody"), false).replaceAll("\n", " ");
      }),
    );
  }
  return tableText(rows, childOf(table, "tblPr")?.attributes["firstRow"] === "1" && rows.length > 1);
}
