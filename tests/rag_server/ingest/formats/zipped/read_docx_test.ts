import assert from "node:assert/strict";
import { readDocx } from "../../../../../src/rag_server/ingest/formats/zipped/read_docx.ts";
import { exampleDocx, exampleZip, relationships } from "../example_zip.ts";
import { shown } from "../shown_document.ts";

const p = (text: string, properties = "") =>
  `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;
const styled = (style: string, text: string) => p(text, `<w:pStyle w:val="${style}"/>`);
const item = (list: number, depth: number, text: string) =>
  p(text, `<w:numPr><w:ilvl w:val="${depth}"/><w:numId w:val="${list}"/></w:numPr>`);
const style = (id: string, name: string, more = "") =>
  `<w:style w:type="paragraph" w:styleId="${id}"><w:name w:val="${name}"/>${more}</w:style>`;
const read = (body: string, parts: Readonly<Record<string, string>> = {}) =>
  shown(readDocx(exampleDocx(body, parts), "file"));

Deno.test("readDocx() finds headings by style, in any language, and by outline level", () => {
  const styles = `<w:styles>${style("berschrift1", "heading 1")}${style("Titel", "Title")}` +
    style("Own", "Our chapter", `<w:basedOn w:val="berschrift1"/>`) +
    style("Clause", "Clause", `<w:pPr><w:outlineLvl w:val="1"/></w:pPr>`) +
    style("Plain", "Plain", `<w:basedOn w:val="berschrift1"/><w:pPr><w:outlineLvl w:val="9"/></w:pPr>`) +
    `${style("Round", "Round", `<w:basedOn w:val="Round"/>`)}</w:styles>`;
  assert.deepEqual(
    read(
      styled("Titel", "Rules") + styled("berschrift1", "One") + p("a") + styled("Clause", "Two") + p("b") +
        styled("Own", "Three") + styled("Plain", "c") + styled("Round", "d") +
        p("Four", `<w:outlineLvl w:val="2"/>`) + p("e") + styled("berschrift1", "long ".repeat(80)),
      { styles },
    ),
    ["Rules", ["Rules"], ["One", "a"], ["One > Two", "b"], ["Three", "c", "d"], [
      "Three > Four",
      "e",
      "long ".repeat(80),
    ]],
  );
});

Deno.test("readDocx() numbers lists and headings", () => {
  const level = (depth: number, format: string, text: string) =>
    `<w:lvl w:ilvl="${depth}"><w:start w:val="1"/><w:numFmt w:val="${format}"/><w:lvlText w:val="${text}"/></w:lvl>`;
  const numbering = `<w:numbering><w:abstractNum w:abstractNumId="0">${level(0, "decimal", "%1.")}` +
    `${level(1, "lowerLetter", "%1%2)")}${level(2, "upperRoman", "%3")}${
      level(3, "none", "")
    }</w:abstractNum>` +
    `<w:abstractNum w:abstractNumId="1">${level(0, "bullet", "*")}</w:abstractNum>` +
    `<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>` +
    `<w:num w:numId="3"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/>` +
    `</w:lvlOverride></w:num></w:numbering>`;
  const heading = p(
    "Scope",
    `<w:outlineLvl w:val="0"/><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>`,
  );
  const roman = [1, 2, 3, 4].map((number) => item(1, 2, `r${number}`)).join("");
  assert.deepEqual(
    read(
      item(1, 0, "a") + item(1, 1, "b") + item(1, 1, "c") + roman + item(1, 3, "d") + heading +
        item(2, 0, "e") +
        item(3, 0, "f") + item(1, 0, "g") + item(0, 0, "h"),
      { numbering },
    ),
    [
      "2. Scope",
      ["", "1. a\n  1a) b\n  1b) c\n    I r1\n    II r2\n    III r3\n    IV r4\n      d"],
      ["2. Scope", "- e\n1. f\n3. g", "h"],
    ],
  );
});

Deno.test("readDocx() reads tables as rows, and cells that are one in each of their rows", () => {
  const cell = (text: string, properties = "") => `<w:tc><w:tcPr>${properties}</w:tcPr>${p(text)}</w:tc>`;
  const row = (cells: string, properties = "") => `<w:tr><w:trPr>${properties}</w:trPr>${cells}</w:tr>`;
  const table = (rows: string, look = "") => `<w:tbl><w:tblPr>${look}</w:tblPr>${rows}</w:tbl>`;
  const rows = row(cell("a") + cell("b")) + row(cell("North", `<w:vMerge w:val="restart"/>`) + cell("1")) +
    row(cell("", "<w:vMerge/>") + cell("2")) + row(cell("wide", `<w:gridSpan w:val="2"/>`)) +
    row(cell("gone") + cell("gone"), "<w:del/>") + row(cell("late"), `<w:gridBefore w:val="1"/>`);
  const body = "| North | 1 |\n| North | 2 |\n| wide |  |\n|  | late |";
  assert.deepEqual(read(table(rows, `<w:tblLook w:firstRow="1"/>`)), ["file", [
    "",
    `| a | b |\n| --- | --- |\n${body}`,
  ]]);
  assert.deepEqual(read(table(rows, `<w:tblLook w:val="0400"/>`)), ["file", ["", `| a | b |\n${body}`]]);
  assert.deepEqual(read(table(rows, `<w:tblLook w:val="04A0"/>`)), ["file", [
    "",
    `| a | b |\n| --- | --- |\n${body}`,
  ]]);
  // tables that lay out a page
  assert.deepEqual(read(table(row(cell("boxed")) + row(cell("text")))), ["file", ["", "boxed", "text"]]);
  const long = "x".repeat(2001);
  assert.deepEqual(read(table(row(cell("side") + cell(long)))), ["file", ["", "side", long]]);
});

Deno.test("readDocx() puts notes and boxes behind the paragraph that they belong to", () => {
  const note =
    `<w:p><w:r><w:t>Leave</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:t>!</w:t></w:r></w:p>`;
  const footnotes = `<w:footnotes><w:footnote w:id="2">${p("Since 2020.")}</w:footnote>` +
    `<w:footnote w:id="3">${p("Never named.")}</w:footnote></w:footnotes>`;
  const box = `<w:p><w:r><w:t>Beside</w:t><mc:AlternateContent><mc:Choice><w:txbxContent>${p("In a box.")}` +
    `</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>${
      p("In a box.")
    }</w:txbxContent></mc:Fallback>` +
    `</mc:AlternateContent></w:r></w:p>`;
  assert.deepEqual(read(note + box, { footnotes }), ["file", [
    "",
    "Leave[1]!",
    "[1] Since 2020.",
    "Beside",
    "In a box.",
  ]]);
});

Deno.test("readDocx() reads a diagram's points where it stands", () => {
  const point = (text: string) => `<dgm:pt><dgm:t><a:p><a:r><a:t>${text}</a:t></a:r></a:p></dgm:t></dgm:pt>`;
  const diagramData = `<dgm:dataModel><dgm:ptLst>${point("Plan")}${point(" ")}${
    point("Build")
  }</dgm:ptLst></dgm:dataModel>`;
  const drawing = `<w:p><w:r><w:drawing><dgm:relIds r:dm="diagramData"/></w:drawing></w:r></w:p>`;
  assert.deepEqual(read(p("Before") + drawing + p("After"), { diagramData }), ["file", [
    "",
    "Before",
    "- Plan\n- Build",
    "After",
  ]]);
});

Deno.test("readDocx() says where all of the text is in an embedded document", () => {
  assert.throws(() => read(`<w:altChunk r:id="r1"/>`), { message: /in a document that is embedded/ });
  assert.deepEqual(read(`<w:altChunk r:id="r1"/>${p("Own")}`), ["file", ["", "Own"]]);
});

Deno.test("readDocx() leaves out what is deleted, hidden, a field's code, a comment or a table of contents", () => {
  const styles = `<w:styles>${style("TOC1", "toc 1")}</w:styles>`;
  const run = (text: string, properties = "") => `<w:r><w:rPr>${properties}</w:rPr><w:t>${text}</w:t></w:r>`;
  const paragraph = `<w:p>${run("kept ")}<w:ins>${run("new")}</w:ins><w:del>${run("old")}</w:del>` +
    `<w:moveFrom>${run("moved")}</w:moveFrom>${run("hidden", "<w:vanish/>")}${
      run("!", `<w:vanish w:val="0"/>`)
    }` +
    `${run("Click here", `<w:rStyle w:val="PlaceholderText"/>`)}<w:r><w:instrText>PAGE</w:instrText></w:r>` +
    `<w:r><w:commentReference w:id="0"/></w:r></w:p>`;
  const contents =
    `<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj></w:sdtPr>` +
    `<w:sdtContent>${p("Contents")}</w:sdtContent></w:sdt>`;
  const control = `<w:sdt><w:sdtContent>${p("control")}</w:sdtContent></w:sdt>`;
  assert.deepEqual(
    read(contents + styled("TOC1", "Chapter 1") + paragraph + control, {
      styles,
      comments: `<w:comments><w:comment w:id="0">${p("a comment")}</w:comment></w:comments>`,
      header1: `<w:hdr>${p("a header")}</w:hdr>`,
    }),
    ["file", ["", "kept new!", "control"]],
  );
});

Deno.test("readDocx() reads code, quotes, tabs, breaks and formulas", () => {
  const styles = `<w:styles>${style("Code", "Source Code")}${style("Q", "Quote")}</w:styles>`;
  const formula =
    `<w:p><m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f>` +
    `<m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath></w:p>`;
  const marks = `<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:noBreakHyphen/><w:br/><w:t>c</w:t></w:r></w:p>`;
  const document = readDocx(
    exampleDocx(styled("Code", "if x:") + styled("Code", "  y") + styled("Q", "said") + marks + formula, {
      styles,
    }),
    "file",
  );
  assert.deepEqual(document.sections.flatMap(({ blocks }) => blocks), [
    { kind: "code", text: "if x:\n  y" },
    { kind: "quote", text: "said" },
    { kind: "paragraph", text: "a b-\nc" },
    { kind: "paragraph", text: "a/bx^2" },
  ]);
});

Deno.test("readDocx() takes the author's title, but not a program's", () => {
  const titled = (title: string) =>
    readDocx(
      exampleZip({
        "_rels/.rels": relationships({
          r1: ["officeDocument", "d.xml"],
          r2: ["metadata/core-properties", "c.xml"],
        }),
        "d.xml": `<w:document>${p("text")}</w:document>`,
        "c.xml": `<cp:coreProperties><dc:title>${title}</dc:title></cp:coreProperties>`,
      }),
      "file",
    ).title;
  assert.equal(titled("Leave policy"), "Leave policy");
  for (const title of ["", "Document1", "Microsoft Word - draft.doc", "Untitled"]) {
    assert.equal(titled(title), "file");
  }
});
