import { lexer, type MarkedToken, type Token, type Tokens } from "marked";
import type { DocumentBlock, SourceDocument } from "../../../text/chunk_document.ts";
import { createDocumentBuilder, type DocumentBuilder } from "./document_builder.ts";
import { htmlText } from "./read_html.ts";
import { tableText } from "./document_builder.ts";

/** Markdown (CommonMark and GitHub's tables) as a document; of its front matter only the title is kept. */
export function readMarkdown(text: string, fallbackTitle: string): SourceDocument {
  const { title, body } = splitFrontMatter(text);
  const builder = createDocumentBuilder();
  addBlocks(lexer(body), builder);
  return builder.build(title, fallbackTitle);
}

function splitFrontMatter(text: string): { title: string | undefined; body: string } {
  const found = /^(---|\+\+\+)[^\S\n]*\r?\n([\s\S]*?)\r?\n(?:\1|\.\.\.)[^\S\n]*(?:\r?\n|$)/.exec(text);
  // a rule at a document's beginning is no front matter
  if (found === null || !/^[\w"'-]+\s*[:=]/m.test(found[2] ?? "")) return { title: undefined, body: text };
  const line = /^title\s*[:=][^\S\n]*(.*)$/m.exec(found[2] ?? "")?.[1]?.trim() ?? "";
  const quoted = /^"(.*)"$|^'(.*)'$/.exec(line);
  const title = quoted?.[1]?.replaceAll('\\"', '"') ?? quoted?.[2]?.replaceAll("''", "'") ?? line;
  return { title: title || undefined, body: text.slice(found[0].length) };
}

const blockKinds = new Map<string, DocumentBlock["kind"]>([
  ["code", "code"],
  ["table", "table"],
  ["list", "list"],
  ["blockquote", "quote"],
]);

function addBlocks(tokens: readonly Token[], builder: DocumentBuilder): void {
  for (const token of tokens.map(marked)) {
    if (token.type === "heading") builder.heading(token.depth, inlineText(token.tokens));
    else builder.block(blockKinds.get(token.type) ?? "paragraph", blockText(token, ""));
  }
}

/** marked's union has a member that is any token of an extension; there are none here. */
function marked(token: Token): MarkedToken {
  return token as MarkedToken;
}

function tableOf(table: Tokens.Table): string {
  const cells = (row: readonly Tokens.TableCell[]) => row.map((cell) => inlineText(cell.tokens));
  return tableText(cells(table.header), table.rows.map(cells));
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
    case "del":
      return inlineHtml(token.tokens);
    case "text":
      return token.tokens === undefined ? token.text.replaceAll("<", "&lt;") : inlineHtml(token.tokens);
    default:
      return escapeHtml(token.raw);
  }
}

/** Authors of Markdown link on purpose, so absolute addresses are kept. */
function linkHtml({ href, text, tokens }: Tokens.Link): string {
  const label = inlineHtml(tokens);
  const isAddress = /^(?:https?:\/\/|mailto:)/i.test(href);
  const isShown = text === href || `mailto:${text}` === href;
  return isAddress && !isShown ? `${label} (${escapeHtml(href)})` : label;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
