import type { SourceDocument } from "../../../text/chunk_document.ts";
import { createDocumentBuilder, type DocumentBuilder, tableText } from "./document_builder.ts";
import { Parser } from "htmlparser2";

const names = (list: string): ReadonlySet<string> => new Set(list.split(" "));

/** What is around a page's text, or no text at all. */
const leftOut = names(
  "script style noscript template nav footer aside svg math iframe object canvas audio video select button textarea head " +
    "dialog",
);
const leftOutRoles = names("navigation contentinfo complementary search menu dialog");
const inline = names(
  "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark meter output q rp rt ruby s samp " +
    "small span strike strong sub sup time tt u var wbr br",
);

/**
 * A page's own text as a document: of `main` where there is one, without navigation, footers and the like. The page's
 * title is the first `h1` where `title` has it among other words.
 */
export function readHtml(html: string, fallbackTitle: string): SourceDocument {
  const page = createDocumentBuilder();
  const main = createDocumentBuilder();
  let mainHasText = false;
  const title = walk(html, (isMain, add) => {
    add(page);
    if (!isMain) return;
    add(main);
    mainHasText = true;
  });
  return (mainHasText ? main : page).build(title, fallbackTitle);
}

/** The text of a piece of HTML, each of its blocks on a line of its own. */
export function htmlText(html: string): string {
  if (!/[<&]/.test(html)) return tidy(html.replace(/[^\S\n]+|(?<!\n)\n(?!\n)/g, " "));
  let text = "";
  let skipped = 0;
  const parser = new Parser({
    onopentag(name) {
      if (leftOut.has(name)) skipped++;
      else if (name === "br" || !inline.has(name)) text += "\n";
    },
    ontext: (piece) => void (text += skipped > 0 ? "" : piece.replace(/\s+/g, " ")),
    onclosetag(name) {
      if (leftOut.has(name)) skipped--;
      else if (!inline.has(name)) text += "\n";
    },
  });
  parser.end(html);
  return tidy(text);
}

/** Blanks and line ends as they show. */
function tidy(text: string): string {
  return text.replace(/[^\S\n]+/g, " ").replace(/ ?\n[ \n]*/g, "\n").trim();
}

type Emit = (isMain: boolean, add: (builder: DocumentBuilder) => void) => void;

/** Hands the page's headings and blocks on, and returns its title. */
function walk(html: string, emit: Emit): string | undefined {
  let title: string | undefined;
  let text = "";
  /** How many elements of a kind are open. */
  const open = { leftOut: 0, main: 0, pre: 0, quote: 0 };
  const stack: { readonly isLeftOut: boolean; readonly isMain: boolean }[] = [];
  let isTitle = false;
  let heading: number | undefined;
  let list: ReturnType<typeof createListText> | undefined;
  let table: ReturnType<typeof createTableRows> | undefined;

  /** Ends a run of text and puts it where it belongs. */
  function flush(): void {
    const piece = open.pre > 0 ? text : tidy(text);
    text = "";
    if (piece.trim() === "") return;
    if (table !== undefined) return table.text(piece);
    if (list !== undefined) return list.text(piece);
    const level = heading;
    if (level !== undefined) return emit(open.main > 0, (builder) => builder.heading(level, piece));
    const kind = open.pre > 0 ? "code" : open.quote > 0 ? "quote" : "paragraph";
    emit(open.main > 0, (builder) => builder.block(kind, piece));
  }

  function openElement(name: string): void {
    if (name === "br") return void (text += "\n");
    if (inline.has(name)) return;
    flush();
    if (name === "pre") open.pre++;
    else if (name === "blockquote") open.quote++;
    else if (/^h[1-6]$/.test(name)) heading = Number(name[1]);
    else if (table !== undefined) table.open(name);
    else if (name === "table") (table = createTableRows()).open(name);
    else if (name === "ul" || name === "ol" || name === "li") (list ??= createListText()).open(name);
  }

  function closeElement(name: string): void {
    if (inline.has(name)) return;
    flush();
    if (name === "pre") open.pre--;
    else if (name === "blockquote") open.quote--;
    else if (/^h[1-6]$/.test(name)) heading = undefined;
    else if (table?.close(name)) closeTable(table.build());
    else if (table === undefined && list?.close(name)) closeList(list.build());
  }

  function closeTable(text: string): void {
    table = undefined;
    if (list !== undefined) return list.text(text);
    emit(open.main > 0, (builder) => builder.block("table", text));
  }

  function closeList(text: string): void {
    list = undefined;
    emit(open.main > 0, (builder) => builder.block("list", text));
  }

  const parser = new Parser({
    onopentag(name, attributes) {
      // the first one: pictures may have titles too
      if (name === "title") isTitle = title === undefined;
      const isLeftOut = isNoText(name, attributes);
      const isMain = name === "main" || attributes["role"] === "main";
      stack.push({ isLeftOut, isMain });
      if (open.leftOut === 0) {
        if (isLeftOut) flush();
        else openElement(name);
      }
      if (isLeftOut) open.leftOut++;
      if (isMain) open.main++;
    },
    ontext(piece) {
      if (isTitle) title = (title ?? "") + piece;
      else if (open.leftOut === 0) text += open.pre > 0 ? piece : piece.replace(/\s+/g, " ");
    },
    onclosetag(name) {
      if (name === "title") isTitle = false;
      if (open.leftOut === 0) closeElement(name);
      const { isLeftOut, isMain } = stack.pop() ?? { isLeftOut: false, isMain: false };
      if (isLeftOut) open.leftOut--;
      if (isMain) open.main--;
    },
  });
  parser.end(html);
  flush();
  return title;
}

function isNoText(name: string, attributes: Readonly<Record<string, string>>): boolean {
  return leftOut.has(name) || leftOutRoles.has(attributes["role"] ?? "") || "hidden" in attributes ||
    attributes["aria-hidden"] === "true";
}

/** A list of HTML with those inside of it, as lines. */
function createListText() {
  const lines: string[] = [];
  /** Of each open list: the number of its last item; undefined where it has no numbers. */
  const lists: { isOrdered: boolean; items: number }[] = [];
  let openElements = 0;
  let mark: string | undefined;

  const isList = (name: string) => name === "ul" || name === "ol";
  return {
    /** @param name of any element within */
    open(name: string): void {
      if (isList(name) || name === "li") openElements++;
      if (isList(name)) lists.push({ isOrdered: name === "ol", items: 0 });
      if (name !== "li") return;
      const list = lists.at(-1) ?? { isOrdered: false, items: 0 };
      list.items++;
      mark = list.isOrdered ? `${list.items}. ` : "- ";
    },
    text(piece: string): void {
      const depth = Math.max(0, lists.length - 1);
      const [first, ...more] = piece.trim().split("\n");
      const inner = "  ".repeat(depth + 1);
      lines.push(mark === undefined ? `${inner}${first}` : `${"  ".repeat(depth)}${mark}${first}`);
      lines.push(...more.map((line) => inner + line));
      mark = undefined;
    },
    /** True where this was the outermost list's end. */
    close(name: string): boolean {
      if (isList(name)) lists.pop();
      if (isList(name) || name === "li") openElements--;
      return openElements === 0;
    },
    build: (): string => lines.join("\n"),
  };
}

/** A table of HTML; a table inside of a cell is that cell's text. */
function createTableRows() {
  const rows: { cells: string[]; isHeader: boolean }[] = [];
  const outside: string[] = [];
  let tables = 0;
  let cellDepth = 0;

  return {
    /** @param name of any element within */
    open(name: string): void {
      if (name === "table") tables++;
      if (tables !== 1) return;
      if (name === "tr") rows.push({ cells: [], isHeader: true });
      if (name !== "td" && name !== "th") return;
      cellDepth++;
      if (rows.length === 0) rows.push({ cells: [], isHeader: true });
      const row = rows.at(-1);
      row?.cells.push("");
      if (row !== undefined && name === "td") row.isHeader = false;
    },
    text(piece: string): void {
      const cells = rows.at(-1)?.cells;
      const cell = cells?.pop();
      if (cellDepth === 0 || cells === undefined || cell === undefined) {
        if (cell !== undefined) cells?.push(cell);
        outside.push(piece);
      } else cells.push(cell === "" ? piece : `${cell} ${piece}`);
    },
    /** True where this was the outermost table's end. */
    close(name: string): boolean {
      if (name === "table") tables--;
      if (tables === 1 && (name === "td" || name === "th")) cellDepth--;
      return tables === 0;
    },
    build(): string {
      const filled = rows.filter(({ cells }) => cells.some((cell) => cell.trim() !== ""));
      const [first, ...rest] = filled;
      const header = first?.isHeader && rest.length > 0 ? first.cells : undefined;
      const body = (header === undefined ? filled : rest).map(({ cells }) => cells);
      // a caption, say
      return [...outside, tableText(header, body)].filter((part) => part !== "").join("\n");
    },
  };
}
