import assert from "node:assert/strict";
import { readPdf } from "../../../../src/rag_server/ingest/formats/read_pdf.ts";
import { examplePdf } from "./example_pdf.ts";

const page = (number: number) => [
  { text: "Acme Inc. - confidential", y: 770, size: 9 },
  { text: `Chapter ${number}`, y: 700, size: 16 },
  { text: `On page ${number} there is a long para-`, y: 670 },
  { text: "graph (over lines) that ends here.", y: 656 },
  { text: "Another one follows", y: 620 },
  { text: `after gap ${"abc".charAt(number - 1)}.`, y: 606 },
  { text: `${number}`, x: 300, y: 30, size: 9 },
];

for (const isCompressed of [false, true]) {
  Deno.test(`readPdf() joins lines to paragraphs and knows headings, ${isCompressed ? "" : "not "}compressed`, async () => {
    const pdf = examplePdf([page(1), page(2), page(3)], { title: "The handbook", isCompressed });
    assert.deepEqual(await readPdf(pdf, "file"), {
      title: "The handbook",
      sections: [1, 2, 3].map((number) => ({
        headings: [`Chapter ${number}`],
        blocks: [
          {
            kind: "paragraph",
            text: `On page ${number} there is a long paragraph (over lines) that ends here.`,
            pages: [{ at: 0, page: number }],
          },
          {
            kind: "paragraph",
            text: `Another one follows after gap ${"abc".charAt(number - 1)}.`,
            pages: [{ at: 0, page: number }],
          },
        ],
      })),
    });
  });
}

Deno.test("readPdf() carries a paragraph over a page's end, and a program's title is none", async () => {
  const pdf = examplePdf(
    [[{ text: "It goes on", y: 100 }], [{ text: "on the next page.", y: 700 }]],
    { title: "Microsoft Word - draft.docx" },
  );
  assert.deepEqual(await readPdf(pdf, "file"), {
    title: "file",
    sections: [{
      headings: [],
      blocks: [{
        kind: "paragraph",
        text: "It goes on on the next page.",
        pages: [{ at: 0, page: 1 }, { at: "It goes on ".length, page: 2 }],
      }],
    }],
  });
});

Deno.test("readPdf() fails for what is no PDF", async () => {
  await assert.rejects(readPdf(new TextEncoder().encode("%PDF-1.4\nnothing of the kind"), "file"), Error);
});
