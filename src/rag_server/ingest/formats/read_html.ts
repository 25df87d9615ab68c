import type { DocumentBlock, SourceDocument } from "../../../text/chunk_document.ts";
import { createDocumentBuilder, type DocumentBuilder, tableText } from "./document_builder.ts";
import { findArticle } from "./find_article.ts";
import { Parser } from "htmlparser2";

const names = (list: string): ReadonlySet<string> => new Set(list.split(" "));

/** What is around a page's text, or no text at all. */
const leftOut = names(
  "script style noscript template nav footer aside svg math iframe object canvas audio video select button textarea head " +
    "dialog rp rt del s strike",
);
const leftOutRoles = names("navigation contentinfo complementary search menu dialog doc-toc");
/** What generators of pages call tables of contents and links to other pages, and what only screen readers read. */
const leftOutClasses = names(
  "toc toctree-wrapper navheader navfooter sr-only visually-hidden screen-reader-text",
);
const inline = names(
  "a abbr acronym b bdi bdo big button cite code data del dfn em font g-emoji i img ins kbd label mark math meter output q rp rt ruby s samp " +
    "small span strike strong sub sup time tt u var wbr br",
);

/**
 * A page's own text as a document: of its article where it is one (`find_article.ts`), else all of it. An article that
 * lacks code or tables of the page is read as the page.
 */
export function readHtml(html: string, fallbackTitle: string): SourceDocument {
  const page = readPage(html, fallbackTitle);
  const article = findArticle(html);
  if (article === undefined) return page;
  const { sections } = readPage(article, fallbackTitle);
  const read = { title: page.title, sections };
  return setLines(read) < setLines(page) ? page : read;
}

/** Lines of code and of tables with a header. */
function setLines({ sections }: SourceDocument): number {
  const set = sections.flatMap(({ blocks }) => blocks)
    .filter(({ kind, text }) => kind === "code" || /^\| --- \|/m.test(text));
  return set.reduce((lines, { text }) => lines + text.split("\n").length, 0);
}

/**
 * The text of `main` where there is one, without navigation, footers and the like. The page's
 * title is the first `h1` where `title` has it among other words.
 */
function readPage(html: string, fallbackTitle: string): SourceDocument {
  const { title, pieces } = walk(html);
  const main = pieces.filter(({ isMain }) => isMain);
  const builder = createDocumentBuilder();
  addPieces(main.length > 0 ? main : pieces, builder);
  return builder.build(title, fallbackTitle);
}

/** A heading of a page, or a block of its text. */
interface Piece {
  /** A heading's level, or a block's kind. */
  readonly what: number | DocumentBlock["kind"];
  readonly text: string;
  readonly isMain: boolean;
}

/** What takes in headings and blocks. */
type BlockSink = Pick<DocumentBuilder, "heading" | "block">;

function addPieces(pieces: readonly Piece[], sink: BlockSink): void {
  for (const { what, text } of pieces) {
    if (typeof what === "number") sink.heading(what, text);
    else sink.block(what, text);
  }
}

/** Hands on the headings and blocks of a piece of HTML. */
export function addHtml(html: string, sink: BlockSink): void {
  addPieces(walk(html).pieces, sink);
}

/** The text of a piece of HTML, each of its blocks on a line of its own. */
export function htmlText(html: string): string {
  if (!/[<&]/.test(html)) return tidy(html.replace(/[^\S\n]+|(?<!\n)\n(?!\n)/g, " "));
  return walk(html, true).pieces.map(({ text }) => text).join("\n");
}

/** Blanks and line ends as they show. */
function tidy(text: string): string {
  return text.replace(/[^\S\n]+/g, " ").replace(/ ?\n[ \n]*/g, "\n").trim();
}

/**
 * The text of a link to a part of a page as it shows: nothing of one that is a sign alone, beside a heading or back from a
 * footnote, and the number of a footnote apart from the word before it.
 */
function partLinkText(text: string, href: string): string {
  const shown = text.replace(/[\s\u2060\u200b\ufe0e\ufe0f]/g, "");
  if (/^(?:[#¶§🔗⚓↩↑^\ue000-\uf8ff]|)$/u.test(shown)) return "";
  if (/^\s*(?:perma(?:nent )?link|(?:direct )?link to|section titled)\b/i.test(text)) return "";
  return /^\d{1,3}$/.test(shown) && /(?:fn|ft\d|note|cite)/i.test(href) ? `[${shown}]` : text;
}

/**
 * A page's title, headings and blocks.
 *
 * @param isPart whether it is a part of a line: then all text counts, and lists have no marks
 */
function walk(html: string, isPart = false): { title: string | undefined; pieces: readonly Piece[] } {
  const pieces: Piece[] = [];
  let title: string | undefined;
  let text = "";
  /** How many elements of a kind are open. */
  const open = { leftOut: 0, main: 0, pre: 0, quote: 0 };
  const stack: { readonly isLeftOut: boolean; readonly isMain: boolean }[] = [];
  let isTitle = false;
  let heading: number | undefined;
  let list: ReturnType<typeof createListText> | undefined;
  let table: ReturnType<typeof createTableRows> | undefined;
  /** A link to a part of a page, and where its text begins. */
  let link: { readonly href: string; readonly from: number } | undefined;
  /** Whether a list has such links, and whether it has other text. */
  let listHas = { links: false, text: false };

  /** Ends a run of text and puts it where it belongs. */
  function flush(): void {
    // a sign that is no letter: 10³ is not 103
    const piece = (open.pre > 0 ? text : tidy(text)).replace(/(?<=\d)\u2060(?=[-−+]?\d)/g, "^");
    text = "";
    if (link !== undefined) link = { ...link, from: 0 };
    if (piece.trim() === "") return;
    if (table !== undefined) return open.pre > 0 ? table.code(piece) : table.text(piece);
    if (list !== undefined) return list.text(piece);
    add(heading ?? (open.pre > 0 ? "code" : open.quote > 0 ? "quote" : "paragraph"), piece);
  }

  function add(what: Piece["what"], text: string): void {
    pieces.push({ what, text, isMain: open.main > 0 });
  }

  function openElement(name: string, attributes: Attributes): void {
    const { href = "" } = attributes;
    if (name === "br") return void (text += "\n");
    if (name === "sup") text += "\u2060";
    if (name === "a") link = href.includes("#") ? { href, from: text.length } : undefined;
    if (inline.has(name)) return;
    flush();
    if (name === "pre") open.pre++;
    else if (name === "blockquote") open.quote++;
    else if (/^h[1-6]$/.test(name)) heading = Number(name[1]);
    else if (table !== undefined) table.open(name, attributes);
    else if (name === "table") (table = createTableRows()).open(name, attributes);
    else if (!isPart && /^(?:[uo]l|li)$/.test(name)) (list ??= createListText()).open(name, attributes);
  }

  function closeLink(): void {
    if (link !== undefined) text = text.slice(0, link.from) + partLinkText(text.slice(link.from), link.href);
    link = undefined;
  }

  function closeElement(name: string): void {
    if (name === "a") closeLink();
    if (inline.has(name)) return;
    flush();
    if (name === "pre") open.pre--;
    else if (name === "blockquote") open.quote--;
    else if (/^h[1-6]$/.test(name)) heading = undefined;
    else if (table?.close(name)) closeTable(table.build());
    else if (table === undefined && list?.close(name)) closeList(list.build());
  }

  function closeTable({ kind, text }: BuiltTable): void {
    table = undefined;
    if (list !== undefined) return list.text(text);
    add(kind, text);
  }

  function closeList(text: string): void {
    list = undefined;
    const isContents = listHas.links && !listHas.text;
    listHas = { links: false, text: false };
    if (!isContents) add("list", text);
  }

  const parser = new Parser({
    onopentag(name, attributes) {
      // the first one: pictures may have titles too
      if (name === "title") isTitle = title === undefined;
      const isLeftOut = isPart ? leftOut.has(name) : isNoText(name, attributes);
      const isMain = name === "main" || attributes["role"] === "main";
      stack.push({ isLeftOut, isMain });
      if (open.leftOut === 0) {
        if (!isLeftOut) openElement(name, attributes);
        else if (!inline.has(name)) flush();
        else if (!/^r[pt]$/.test(name)) text += ` ${attributes["alttext"] ?? ""} `;
      }
      if (isLeftOut) open.leftOut++;
      if (isMain) open.main++;
    },
    ontext(piece) {
      if (isTitle) title = (title ?? "") + piece;
      else if (open.leftOut === 0) {
        text += open.pre > 0 ? piece : piece.replace(/\s+/g, " ");
        if (list !== undefined && link !== undefined) listHas.links = true;
        else if (list !== undefined && /\p{L}/u.test(piece)) listHas.text = true;
      }
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
  return { title, pieces };
}

type Attributes = Readonly<Record<string, string>>;

function isNoText(name: string, attributes: Attributes): boolean {
  const { role = "", class: classes = "" } = attributes;
  if ("hidden" in attributes || attributes["aria-hidden"] === "true" || leftOutRoles.has(role)) return true;
  if (name === "aside") {
    return !/^(?:doc-|note$)/.test(role) && !/footnote|admonition|callout|-aside/.test(classes);
  }
  if (leftOut.has(name)) return true;
  return !wholes.has(name) && classes.split(/\s+/).some((word) => leftOutClasses.has(word));
}

/** Their classes tell of the page. */
const wholes = names("html body main article");

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
    open(name: string, { start = "1" }: Attributes): void {
      if (isList(name) || name === "li") openElements++;
      if (isList(name)) lists.push({ isOrdered: name === "ol", items: (parseInt(start) || 1) - 1 });
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

/** Of cells that go over several rows or columns: a page may say anything. */
const [longestRepeated, mostRepeated, mostColumns] = [200, 100_000, 50];

interface BuiltTable {
  readonly kind: "table" | "code";
  readonly text: string;
}

/**
 * A table of HTML; a table inside of a cell is that cell's text. A cell's code keeps its lines. A table that only lays out
 * code, beside the numbers of its lines as a rule, is that code.
 */
function createTableRows() {
  const rows: { cells: string[]; isHeader: boolean }[] = [];
  /** By column, into how many further rows its cell goes on; and the cell that is open. */
  const goingOn: number[] = [];
  let [at, spare] = [0, mostRepeated];
  const outside: string[] = [];
  const codes: string[] = [];
  let hasText = false;
  let tables = 0;
  let cellDepth = 0;

  function add(piece: string, separator: string): void {
    const cells = rows.at(-1)?.cells;
    const cell = cells?.[at];
    if (cellDepth === 0 || cells === undefined || cell === undefined) outside.push(piece);
    else cells[at] = cell === "" ? piece : `${cell}${separator}${piece}`;
  }

  /** Repeats what goes on from the row above; of a long text, or a page's many, nothing. */
  function goOn(): void {
    const [above, row] = [rows.at(-2)?.cells ?? [], rows.at(-1)?.cells ?? []];
    for (let left; (left = goingOn[row.length] ?? 0) > 0 && spare-- > 0;) {
      goingOn[row.length] = left - 1;
      const cell = above[row.length] ?? "";
      row.push(cell.length > longestRepeated ? "" : cell);
    }
  }

  function openRow() {
    goOn();
    const row = { cells: [] as string[], isHeader: true };
    rows.push(row);
    return row;
  }

  return {
    /** @param name of any element within */
    open(name: string, { colspan = "", rowspan = "" }: Attributes): void {
      if (name === "table") tables++;
      if (tables !== 1) return;
      if (name === "tr") openRow();
      if (name !== "td" && name !== "th") return;
      cellDepth++;
      const row = rows.at(-1) ?? openRow();
      goOn();
      at = row.cells.length;
      for (let width = Math.min(parseInt(colspan) || 1, mostColumns); width > 0; width--) {
        goingOn[row.cells.length] = (parseInt(rowspan) || 1) - 1;
        row.cells.push("");
      }
      if (name === "td") row.isHeader = false;
    },
    text(piece: string): void {
      hasText = true;
      add(piece.replace(/\s+/g, " "), " ");
    },
    code(piece: string): void {
      const lines = piece.replace(/^\n|\s+$/g, "");
      if (!/^[\d\s]*$/.test(lines)) codes.push(lines);
      add(lines, lines.includes("\n") ? "\n" : " ");
    },
    /** True where this was the outermost table's end. */
    close(name: string): boolean {
      if (name === "table") tables--;
      if (tables === 1 && (name === "td" || name === "th")) cellDepth--;
      return tables === 0;
    },
    build(): BuiltTable {
      goOn();
      const filled = rows.filter(({ cells }) => cells.some((cell) => cell.trim() !== ""));
      if (!hasText && codes.length === 1) return { kind: "code", text: codes[0] ?? "" };
      const hasHeader = filled[0]?.isHeader === true && filled.length > 1;
      const text = tableText(filled.map(({ cells }) => cells), hasHeader);
      // a caption, say
      return { kind: "table", text: [...outside, text].filter((part) => part !== "").join("\n") };
    },
  };
}
