import assert from "node:assert/strict";
import { readPptx } from "../../../../../src/rag_server/ingest/formats/zipped/read_pptx.ts";
import { exampleZip, relationships } from "../example_zip.ts";
import { shown } from "../shown_document.ts";

const p = (text: string, depth = 0) => `<a:p><a:pPr lvl="${depth}"/><a:r><a:t>${text}</a:t></a:r></a:p>`;
const shape = (use: string | undefined, paragraphs: string) =>
  `<p:sp><p:nvSpPr><p:nvPr>${use === undefined ? "" : `<p:ph type="${use}"/>`}</p:nvPr></p:nvSpPr>` +
  `<p:txBody>${paragraphs}</p:txBody></p:sp>`;
const slide = (shapes: string, attributes = "") =>
  `<p:sld ${attributes}><p:cSld><p:spTree>${shapes}</p:spTree></p:cSld></p:sld>`;

Deno.test("readPptx() makes a section of each slide, with its number as the page", () => {
  const cell = (text: string, attributes = "") =>
    `<a:tc ${attributes}><a:txBody>${p(text)}</a:txBody></a:tc>`;
  const table = `<p:graphicFrame><a:tbl><a:tblPr firstRow="1"/><a:tr>${cell("a")}${cell("b")}</a:tr>` +
    `<a:tr>${cell("1")}${cell("2")}</a:tr><a:tr>${cell("", `vMerge="1"`)}${
      cell("3")
    }</a:tr></a:tbl></p:graphicFrame>`;
  const document = readPptx(
    exampleZip({
      "_rels/.rels": relationships({ r1: ["officeDocument", "ppt/presentation.xml"] }),
      // in another order than their names'
      "ppt/presentation.xml":
        `<p:presentation><p:sldIdLst><p:sldId id="256" r:id="s2"/><p:sldId id="257" r:id="s3"/>` +
        `<p:sldId id="258" r:id="s1"/><p:sldId id="259" r:id="s1"/></p:sldIdLst></p:presentation>`,
      "ppt/_rels/presentation.xml.rels": relationships({
        s1: ["slide", "slides/slide1.xml"],
        s2: ["slide", "slides/slide2.xml"],
        s3: ["slide", "slides/slide3.xml"],
      }),
      "ppt/slides/slide2.xml": slide(
        shape("body", p("One") + p("Two", 1)) + shape("title", p("Plan")) + shape("sldNum", p("7")),
      ),
      "ppt/slides/slide3.xml": slide(shape("title", p("Hidden")), `show="0"`),
      "ppt/slides/slide1.xml": slide(
        `<p:grpSp>${shape(undefined, p("In a group") + p("of two lines"))}</p:grpSp>${table}` +
          `<mc:AlternateContent><mc:Choice>${shape(undefined, p("new"))}</mc:Choice><mc:Fallback>` +
          `${shape(undefined, p("old"))}</mc:Fallback></mc:AlternateContent>`,
      ),
      "ppt/slides/_rels/slide1.xml.rels": relationships({
        n: ["notesSlide", "../notesSlides/n.xml"],
        d: ["diagramData", "../diagrams/d.xml"],
        c: ["comments", "../comments/c.xml"],
      }),
      "ppt/notesSlides/n.xml": `<p:notes><p:spTree>${shape("body", p("Say it."))}${shape("sldNum", p("3"))}` +
        `</p:spTree></p:notes>`,
      "ppt/diagrams/d.xml":
        `<dgm:dataModel><dgm:ptLst><dgm:pt><dgm:t>${p("First")}</dgm:t></dgm:pt><dgm:pt><dgm:t>` +
        `<a:p/></dgm:t></dgm:pt><dgm:pt><dgm:t>${p("Then")}</dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>`,
      "ppt/comments/c.xml": `<p:cmLst><p:cm><p:text>a comment</p:text></p:cm></p:cmLst>`,
    }),
    "file",
  );
  assert.deepEqual(shown(document), [
    "Plan",
    ["Plan", "- One\n  - Two"],
    [
      "Slide 3",
      "In a group\nof two lines",
      "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 1 | 3 |",
      "new",
      "Notes: Say it.",
      "First\nThen",
    ],
  ]);
  assert.deepEqual(document.sections[1]?.blocks[0]?.pages, [{ at: 0, page: 3 }]);
  assert.deepEqual(document.sections.map(({ page }) => page), [1, 3]);
});
