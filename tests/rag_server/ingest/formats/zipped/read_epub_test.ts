import assert from "node:assert/strict";
import { readEpub } from "../../../../../src/rag_server/ingest/formats/zipped/read_epub.ts";
import { exampleZip } from "../example_zip.ts";
import { shown } from "../shown_document.ts";

const page = (body: string) => `<?xml version="1.0"?><html><head><title/></head><body>${body}</body></html>`;

/** A book of pages by their names, in this order; `nav` is the table of contents. */
function book(
  pages: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>> = {},
): Uint8Array {
  const names = Object.keys(pages);
  return exampleZip({
    "META-INF/container.xml":
      `<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>`,
    "OPS/book.opf": `<package><metadata><dc:title>The Book</dc:title></metadata><manifest>` +
      names.map((name) =>
        `<item id="${name}" href="text/${name}.xhtml"${name === "nav" ? ` properties="nav"` : ""}/>`
      ).join("") +
      `<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest><spine>` +
      [...names, ...names].map((name) => `<itemref idref="${name}"/>`).join("") + `</spine></package>`,
    ...Object.fromEntries(names.map((name) => [`OPS/text/${name}.xhtml`, page(pages[name] ?? "")])),
    ...more,
  });
}

Deno.test("readEpub() reads chapters once, in order, without tables of contents", () => {
  const nav =
    `<nav epub:type="toc"><ol><li><a href="b.xhtml">Second</a></li><li><a href="a.xhtml#x">Part</a></li></ol></nav>` +
    `<nav epub:type="landmarks"><a href="a.xhtml">Start</a></nav>`;
  assert.deepEqual(
    shown(readEpub(
      book({
        nav,
        contents:
          `<h1>Contents</h1><p><a href="b.xhtml">One</a> .. 3</p><p><a href="a.xhtml">Two</a> .. 9</p>`,
        b: "<p>Text of b.</p><p>More.</p>",
        a: `<h2>Third<a id="x"/></h2><p>Text<br/> of a.</p><aside epub:type="footnote"><p>A note.</p></aside>`,
      }),
      "file",
    )),
    ["The Book", ["Second", "Text of b.", "More."], ["Third", "Text\nof a.", "A note."]],
  );
});

Deno.test("readEpub() takes names of chapters from older books' tables of contents", () => {
  const ncx = `<ncx><navMap><navPoint><navLabel><text>Outer</text></navLabel><content src="text/a.xhtml"/>` +
    `<navPoint><navLabel><text>Inner</text></navLabel><content src="text/b.xhtml"/></navPoint></navPoint></navMap></ncx>`;
  assert.deepEqual(shown(readEpub(book({ a: "<p>x</p>", b: "<p>y</p>" }, { "OPS/toc.ncx": ncx }), "file")), [
    "The Book",
    ["Outer", "x"],
    ["Inner", "y"],
  ]);
});

Deno.test("readEpub() refuses encrypted chapters and what is no book", () => {
  const lock = (uri: string) => ({
    "META-INF/encryption.xml": `<encryption><enc:CipherReference URI="${uri}"/></encryption>`,
  });
  assert.throws(() => readEpub(book({ a: "<p>x</p>" }, lock("OPS/text/a.xhtml")), "file"), {
    message: "its chapters are encrypted",
  });
  assert.equal(readEpub(book({ a: "<p>x</p>" }, lock("OPS/font.otf")), "file").title, "The Book");
  assert.throws(() => readEpub(exampleZip({ "a.xhtml": "x" }), "file"), { message: "it is no EPUB" });
});
