import { Parser } from "htmlparser2";
import type { SourceDocument } from "../../../../text/chunk_document.ts";
import { createDocumentBuilder } from "../document_builder.ts";
import { addHtml } from "../read_html.ts";
import { pathFrom } from "./office_package.ts";
import {
  childOf,
  childrenOf,
  decodeXml,
  descendantsOf,
  eachElement,
  firstElement,
  textOf,
  type XmlElement,
} from "./xml.ts";
import { openZip, type ReadEntry } from "./zip_archive.ts";

/**
 * A book's chapters in reading order, without its tables of contents. A chapter without a heading gets the name that the
 * table of contents has for it.
 *
 * @throws {Error} where it is encrypted, damaged or too large
 */
export function readEpub(bytes: Uint8Array, fallbackTitle: string): SourceDocument {
  const read = openZip(bytes);
  const rootFile = firstElement(read("META-INF/container.xml"), "rootfile")?.attributes["full-path"];
  const book = rootFile === undefined ? undefined : firstElement(read(rootFile), "package");
  if (rootFile === undefined || book === undefined) throw new Error("it is no EPUB");
  const items = new Map(
    childrenOf(childOf(book, "manifest"), "item").map(({ attributes }) => {
      const { id, href = "", properties = "", "media-type": type } = attributes;
      const isContents = /\bnav\b/.test(properties) || type === "application/x-dtbncx+xml";
      return [id, { isContents, path: pathFrom(rootFile, href) ?? "" }];
    }),
  );
  const spine = childOf(book, "spine");
  const contents = [...items.values()].flatMap(({ isContents, path }) => isContents ? [path] : []);
  const names = namesOf(read, contents);
  const locked = lockedPaths(read);
  const builder = createDocumentBuilder();
  const title = textOf(childOf(book, "metadata", "title"));
  const paths = new Set(
    childrenOf(spine, "itemref").map(({ attributes }) => items.get(attributes["idref"])?.path),
  );
  for (const path of paths) {
    if (path === undefined || contents.includes(path)) continue;
    if (locked.has(path)) throw new Error("its chapters are encrypted");
    const html = htmlOf(read(path));
    if (!isContentsPage(html)) addChapter(html, names.get(path));
  }
  return builder.build(title, fallbackTitle);

  function addChapter(html: string, name: string | undefined): void {
    let isFirst = true;
    addHtml(html, {
      heading(level, text) {
        isFirst = false;
        builder.heading(level, text);
      },
      block(kind, text) {
        if (isFirst && name !== undefined) builder.heading(2, name);
        isFirst = false;
        builder.block(kind, text);
      },
    });
  }
}

/** Whether a page has headings and links alone. */
function isContentsPage(html: string): boolean {
  const isHeadingOrLink = (name: string) => /^(?:head|h[1-6]|a)$/.test(name);
  let [depth, links, hasText] = [0, 0, false];
  const parser = new Parser({
    onopentag(name, { href }) {
      if (isHeadingOrLink(name)) depth++;
      if (name === "a" && href !== undefined) links++;
    },
    onclosetag: (name) => void (isHeadingOrLink(name) && depth--),
    ontext: (text) => void (hasText ||= depth === 0 && /\p{L}/u.test(text)),
  });
  parser.end(html);
  return !hasText && links > 1;
}

/** What tables of contents call the files of chapters. */
function namesOf(read: ReadEntry, contents: readonly string[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const path of contents) {
    eachElement(read(path), ["nav", "navMap"], (list) => {
      if (/landmarks|page-list/.test(list.attributes["type"] ?? "")) return;
      const links = [
        ...descendantsOf(list, "a").map((link) => [link.attributes["href"], textOf(link)] as const),
        ...navPoints(list).map((point) =>
          [childOf(point, "content")?.attributes["src"], textOf(childOf(point, "navLabel", "text"))] as const
        ),
      ];
      for (const [href = "", name] of links) {
        const target = href.includes("#") ? undefined : pathFrom(path, href);
        if (target !== undefined && !names.has(target)) names.set(target, name);
      }
    });
  }
  return names;
}

function navPoints(element: XmlElement): XmlElement[] {
  return childrenOf(element, "navPoint").flatMap((point) => [point, ...navPoints(point)]);
}

/** Files that a key is needed for. Fonts are often masked, which does not matter here. */
function lockedPaths(read: ReadEntry): Set<string | undefined> {
  const paths = new Set<string | undefined>();
  eachElement(read("META-INF/encryption.xml"), ["CipherReference"], ({ attributes }) => {
    paths.add(pathFrom("", attributes["URI"] ?? ""));
  });
  return paths;
}

const voidElements = /^(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)$/i;

/** A chapter as the reader of HTML takes it: to that, `<title/>` only begins, and an `aside` is beside the page's text. */
function htmlOf(xhtml: Uint8Array | undefined): string {
  return decodeXml(xhtml).replace(
    /<([\w:-]+)((?:\s[^<>]*)?)\/>/g,
    (all, name: string, attributes: string) =>
      voidElements.test(name) ? all : `<${name}${attributes}></${name}>`,
  ).replace(/<(\/?)aside\b/g, "<$1div");
}
