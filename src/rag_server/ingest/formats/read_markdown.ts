import { defined } from "../../../core/defined.ts";
import { Marked, type MarkedToken, type Token, type Tokens } from "marked";
import type { DocumentBlock, SourceDocument } from "../../../text/chunk_document.ts";
import { createDocumentBuilder, type DocumentBuilder, tableText } from "./document_builder.ts";
import { addHtml, htmlText } from "./read_html.ts";

/** Markdown (CommonMark and GitHub's tables) as a document; of its front matter the title is kept, and the whole where it is YAML. */
export function readMarkdown(text: string, fallbackTitle: string): SourceDocument {
  const { title, frontMatter, body } = splitFrontMatter(text);
  const builder = createDocumentBuilder();
  const showTags = createTagReader(body);
  for (const part of partsOf(body)) {
    const tokens = parser.lexer(part);
    parser.walkTokens(tokens, (token) => {
      if (token.type === "html") token.text = showTags(token.text);
    });
    addBlocks(tokens, builder);
  }
  return { ...builder.build(title, fallbackTitle), ...defined({ frontMatter }) };
}

const parser = new Marked({
  // a footnote's text is no address; it shows
  tokenizer: { def: (source) => /^ {0,3}\[\^/.test(source) ? undefined : false },
});

const longestPart = 500_000;

/** Parts that end at empty lines outside of code: the tokens of a megabyte take 40. Each has all definitions of links. */
function* partsOf(body: string): Iterable<string> {
  const definitions = body.length < longestPart ? [] : body.match(/^ {0,3}\[[^\]\n]+\]:.*$/gm) ?? [];
  const added = `\n\n${definitions.join("\n")}`.slice(0, longestPart);
  let start = 0;
  let isCode = false;
  for (const { 0: found, index } of body.matchAll(/^ {0,3}(?:```|~~~)|\n\n(?=\S)/gm)) {
    if (found !== "\n\n") isCode = !isCode;
    else if (!isCode && index - start > longestPart) {
      yield body.slice(start, index) + added;
      start = index;
    }
  }
  yield body.slice(start) + (start === 0 ? "" : added);
}

/** Elements that need no end. */
const endless = new Set(
  ("area base br col embed hr img input link meta source track wbr p li dt dd td th tr thead tbody tfoot option " +
    "optgroup colgroup rp rt").split(" "),
);

/**
 * Has what only looks like a tag show as text: `<int>` of vector<int>, `<your-name>`. A tag is one that a document also
 * ends, ends at once, needs no end, or has attributes with values.
 */
function createTagReader(document: string): (html: string) => string {
  const named = (pattern: RegExp) =>
    new Set([...document.matchAll(pattern)].map(([, name = ""]) => name.toLowerCase()));
  const begun = named(/<([a-zA-Z][\w:.-]*)/g);
  const ended = named(/<\/([a-zA-Z][\w:.-]*)\s*>/g);
  const isTag = (tag: string, name: string) =>
    tag.startsWith("</") ? begun.has(name.toLowerCase()) : endless.has(name) || /=|\/>$/.test(tag) ||
      ended.has(name.toLowerCase());
  return (html) =>
    html.replace(
      /<\/?([a-zA-Z][\w:.-]*)(?:\s[^<>]*|\/)?>/g,
      (tag: string, name: string) => isTag(tag, name) ? tag : escapeHtml(tag),
    );
}

function splitFrontMatter(text: string) {
  const found = /^(---|\+\+\+)[^\S\n]*\r?\n([\s\S]*?)\r?\n(?:\1|\.\.\.)[^\S\n]*(?:\r?\n|$)/.exec(text);
  // a rule at a document's beginning is no front matter
  if (found === null || !/^[\w"'-]+\s*[:=]/m.test(found[2] ?? "")) return { body: text };
  const line = /^title\s*[:=][^\S\n]*(.*)$/m.exec(found[2] ?? "")?.[1]?.trim() ?? "";
  const quoted = /^"(.*)"$|^'(.*)'$/.exec(line);
  const title = quoted?.[1]?.replaceAll('\\"', '"') ?? quoted?.[2]?.replaceAll("''", "'") ?? line;
  const frontMatter = found[1] === "---" ? found[2] : undefined;
  return { title: title || undefined, frontMatter, body: text.slice(found[0].length) };
}

const blockKinds = new Map<string, DocumentBlock["kind"]>([
  ["code", "code"],
  ["table", "table"],
  ["list", "list"],
  ["blockquote", "quote"],
]);

function addBlocks(tokens: readonly Token[], builder: DocumentBuilder): void {
  for (const token of tokens.map(marked)) {
    if (token.type === "heading") builder.heading(token.depth, headingText(token));
    else if (token.type === "html") addHtml(token.text, builder);
    else if (token.type !== "list" || !isContents(token)) {
      builder.block(blockKinds.get(token.type) ?? "paragraph", blockText(token, ""));
    }
  }
}

/** Without the name that links to it have: `{#name}`. */
function headingText({ tokens }: Tokens.Heading): string {
  return inlineText(tokens).replace(/\s*\{:?\s*#[^\s{}]+\s*\}$/, "");
}

/** Whether all of a list's text is links to parts of the document. */
function isContents(list: Tokens.List): boolean {
  const isLink = (token: Token): boolean => {
    const each = marked(token);
    if (each.type === "link") return each.href.startsWith("#");
    if (each.type === "list") return isContents(each);
    if (each.type === "text" || each.type === "paragraph") {
      return each.tokens === undefined ? !/[\p{L}\p{N}]/u.test(each.text) : each.tokens.every(isLink);
    }
    return each.type === "space" || each.type === "br";
  };
  return list.items.every(({ tokens }) => tokens.every(isLink));
}

/** marked's union has a member that is any token of an extension; there are none here. */
function marked(token: Token): MarkedToken {
  return token as MarkedToken;
}

function tableOf(table: Tokens.Table): string {
  const rows = [table.header, ...table.rows];
  return tableText(rows.map((row) => row.map((cell) => inlineText(cell.tokens).replace(/\s+/g, " "))), true);
}

function listText(list: Tokens.List, indent: string): string {
  const first = typeof list.start === "number" ? list.start : 1;
  return list.items.map((item, at) => {
    const mark = list.ordered ? `${first + at}.` : "-";
    const box = item.task ? (item.checked ? "[x] " : "[ ] ") : "";
    return `${indent}${mark} ${box}${blocksText(item.tokens, `${indent}  `).trimStart()}`;
  }).join("\n");
}

/** Blocks within another block, a line or more each. */
function blocksText(tokens: readonly Token[], indent = ""): string {
  const texts = tokens.map((token) => blockText(marked(token), indent));
  return texts.filter((text) => text.trim() !== "").join("\n");
}

/** Nothing for what is no text, such as a rule. */
function blockText(token: MarkedToken, indent: string): string {
  switch (token.type) {
    case "list":
      return listText(token, indent);
    case "blockquote":
      return blocksText(token.tokens, indent);
    case "table":
      return tableOf(token);
    case "code":
      return indented(token.text, indent);
    case "html":
      return indented(htmlText(token.text), indent);
    case "heading":
    case "paragraph":
      return indented(inlineText(token.tokens), indent);
    case "text":
      return indented(inlineText(token.tokens ?? [token]), indent);
    default:
      return "";
  }
}

function indented(text: string, indent: string): string {
  return text.split("\n").map((line) => indent + line).join("\n");
}

function inlineText(tokens: readonly Token[]): string {
  return htmlText(inlineHtml(tokens));
}

/** As HTML, since inline HTML and entities may begin in one token and end in another. */
function inlineHtml(tokens: readonly Token[]): string {
  return tokens.map((token) => tokenHtml(marked(token))).join("");
}

function tokenHtml(token: MarkedToken): string {
  switch (token.type) {
    case "html":
      return token.text;
    case "br":
      return "<br>";
    case "codespan":
    case "escape":
    case "image":
      return escapeHtml(token.text);
    case "link":
      return linkHtml(token);
    case "strong":
    case "em":
      return inlineHtml(token.tokens);
    case "del":
      return token.raw.startsWith("~~") ? "" : inlineHtml(token.tokens);
    case "text":
      return token.tokens === undefined ? token.text.replaceAll("<", "&lt;") : inlineHtml(token.tokens);
    default:
      return escapeHtml(token.raw);
  }
}

/** Authors of Markdown link on purpose, so absolute addresses are kept. */
function linkHtml({ href, text, tokens, raw }: Tokens.Link): string {
  // <std::string> is no address
  if (raw.startsWith("<") && !/^<(?:[a-z.+-]+:\/\/|mailto:|tel:|[^:]*@)/i.test(raw)) return escapeHtml(raw);
  const label = inlineHtml(tokens);
  if (href.startsWith("#")) return `<a href="#">${label}</a>`;
  const isAddress = /^(?:https?:\/\/|mailto:)/i.test(href);
  const isShown = text === href || `mailto:${text}` === href;
  return isAddress && !isShown ? `${label} (${escapeHtml(href)})` : label;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
