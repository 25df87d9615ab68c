import type { SourceDocument } from "../../text/chunk_document.ts";
import { declaredCharset, decodeText } from "./decode_text.ts";
import { readHtml } from "./read_html.ts";
import { readMarkdown } from "./read_markdown.ts";
import { readPdf } from "./read_pdf.ts";
import { readLines, readProse } from "./read_plain_text.ts";

/** What became of a file; `reason` is for people. */
export type SourceReading =
  | { readonly kind: "document"; readonly document: SourceDocument }
  | { readonly kind: "skipped"; readonly reason: string };

/** Changes with what `readSource` makes of a file. */
export const readerVersion = 1;

/**
 * A file as a document, by its name's ending and its first bytes; any other UTF-8 text is read line by line.
 *
 * @param path with `/`; its last part without the ending is the title of a document that has none
 * @throws {Error} of a parser, for a file that is broken
 */
export async function readSource(path: string, bytes: Uint8Array): Promise<SourceReading> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const ending = /[^.]\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  const title = (ending === "" ? name : name.slice(0, -ending.length - 1)).replaceAll("_", " ");
  if (ending === "pdf" || startsWith(bytes, "%PDF-")) {
    return found(await readPdf(bytes, title), "it holds no text; perhaps its pages are pictures");
  }
  const isHtml = ending === "html" || ending === "htm" || ending === "xhtml";
  const text = decodeText(bytes, {
    declared: isHtml ? declaredCharset(bytes) : undefined,
    ...(isHtml || proseEndings.has(ending) ? { fallback: "windows-1252" } : {}),
  });
  if (text === undefined) return { kind: "skipped", reason: "it is not text" };
  return found(isHtml ? readHtml(text, title) : readText(text, ending, title), "it holds no text");
}

const proseEndings = new Set(["md", "markdown", "txt", "text", "rst", "adoc", "asciidoc", "log", ""]);

function readText(text: string, ending: string, title: string): SourceDocument {
  switch (ending) {
    case "md":
    case "markdown":
      return readMarkdown(text, title);
    case "rst":
      return readProse(text, "underlined", title);
    case "adoc":
    case "asciidoc":
      return readProse(text, "equals", title);
    case "txt":
    case "text":
    case "":
      return readProse(text, "none", title);
    default:
      return readLines(text, title);
  }
}

function found(document: SourceDocument, reasonIfEmpty: string): SourceReading {
  const hasText = document.sections.some(({ headings, blocks }) => headings.length > 0 || blocks.length > 0);
  return hasText ? { kind: "document", document } : { kind: "skipped", reason: reasonIfEmpty };
}

function startsWith(bytes: Uint8Array, text: string): boolean {
  return [...text].every((char, at) => bytes[at] === char.charCodeAt(0));
}
