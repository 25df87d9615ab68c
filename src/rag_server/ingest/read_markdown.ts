import { lexer, type Token, type Tokens } from "marked";
import type { SourceDocument } from "../../text/chunk_document.ts";
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

function addBlocks(tokens: readonly Token[], builder: DocumentBuilder): void {
  for (const given of tokens) {
    // marked's union has a member that is any token of an extension; there are none here
    const token = given as MarkdownToken;
    switch (token.type) {
      case "heading":
        builder.heading(token.depth, inlineText(token.tokens));
        break;
      case "code":
        builder.block("code", token.text);
        break;
      case "table":
        builder.block("table", tableOf(token));
        break;
      case "list":
        builder.block("list", listText(token, ""));
        break;
      case "blockquote":
        builder.block("quote", blocksText(token.tokens));
        break;
      case "html":
        builder.block("paragraph", htmlText(token.text));
        break;
      case "paragraph":
      case "text":
        builder.block("paragraph", inlineText(token.tokens ?? [token]));
        break;
    }
  }
}

type MarkdownToken =
  | Tokens.Blockquote
  | Tokens.Br
  | Tokens.Code
  | Tokens.Codespan
  | Tokens.Del
  | Tokens.Em
  | Tokens.Escape
  | Tokens.Heading
  | Tokens.HTML
  | Tokens.Image
  | Tokens.Link
  | Tokens.List
  | Tokens.Paragraph
  | Tokens.Strong
  | Tokens.Table
  | Tokens.Tag
  | Tokens.Text;

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
  const texts = tokens.map((given) => {
    const token = given as MarkdownToken;
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
  });
  return texts.filter((text) => text.trim() !== "").join("\n");
}

function indented(text: string, indent: string): string {
  return text.split("\n").map((line) => indent + line).join("\n");
}

function inlineText(tokens: readonly Token[]): string {
  return htmlText(tokens.map((given) => inlineHtml(given as MarkdownToken)).join(""));
}

/** As HTML, since inline HTML and entities may begin in one token and end in another. */
function inlineHtml(token: MarkdownToken): string {
  switch (token.type) {
    case "html":
      return token.text;
    case "br":
      return "<br>";
    case "codespan":
      return escapeHtml(token.text);
    case "escape":
      return escapeHtml(token.text);
    case "image":
      return escapeHtml(token.text);
    case "link":
      return linkHtml(token);
    case "strong":
    case "em":
    case "del":
      return token.tokens.map((inner) => inlineHtml(inner as MarkdownToken)).join("");
    case "text":
      return token.tokens?.map((inner) => inlineHtml(inner as MarkdownToken)).join("") ??
        token.text.replaceAll("<", "&lt;");
    default:
      return "raw" in token ? escapeHtml(token.raw) : "";
  }
}

/** Whoever writes Markdown links on purpose, so an address that leads somewhere from anywhere is kept. */
function linkHtml({ href, text, tokens }: Tokens.Link): string {
  const label = tokens.map((inner) => inlineHtml(inner as MarkdownToken)).join("");
  const isAddress = /^(?:https?:\/\/|mailto:)/i.test(href);
  const isShown = text === href || `mailto:${text}` === href;
  return isAddress && !isShown ? `${label} (${escapeHtml(href)})` : label;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
