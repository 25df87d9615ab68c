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
        page: number,
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

const lines = (texts: readonly string[], { x = 72, top = 700 } = {}) =>
  texts.map((text, at) => ({ text, x, y: top - at * 14 }));

const shownPdf = async (...pages: Parameters<typeof examplePdf>[0]) => {
  const { sections } = await readPdf(examplePdf(pages), "file");
  return sections.map(({ headings, blocks }) => [headings.join(" > "), ...blocks.map(({ text }) => text)]);
};

Deno.test("readPdf() reads columns one after another, however the file has their lines, and what spans them in its place", async () => {
  const left = lines([
    "In the first column a text",
    "goes down over five lines,",
    "and it is not finished where",
    "the column ends, but goes",
    "on in the other column,",
  ], { x: 72 });
  const right = lines([
    "as a reader would expect.",
    "Then it comes to an end as",
    "well, and nothing of it is",
    "mixed with the lines that",
    "stand beside it.",
  ], { x: 320 });
  const mixed = left.flatMap((line, at) => [line, ...right.slice(at, at + 1)]);
  const title = { text: "A title that is as wide as both columns are together, and a little more", y: 740 };
  const foot = { text: "A note that is as wide as both columns are together, and a little more", y: 600 };
  assert.deepEqual(await shownPdf([foot, ...mixed, title]), [[
    "",
    title.text,
    [...left, ...right].map(({ text }) => text).join(" "),
    foot.text,
  ]]);
});

Deno.test("readPdf() reads rows of tables, cells of several lines too, and leaves columns of text alone", async () => {
  const row = (y: number, ...cells: string[]) => cells.map((text, at) => ({ text, x: 72 + at * 150, y }));
  const table = [
    ...row(700, "Pump", "Pressure", "Note"),
    ...row(670, "P-101", "16", "for water"),
    ...row(640, "P-102", "25", "for oil, and where it is"),
    ...row(628, "", "", "cold also for fat").slice(2),
    ...row(598, "P-103", "", "out of use").filter(({ text }) => text !== ""),
  ];
  assert.deepEqual(
    await shownPdf([{ text: "What there is:", y: 740 }, ...table, { text: "And no more.", y: 540 }]),
    [[
      "",
      "What there is:",
      "| Pump | Pressure | Note |\n| --- | --- | --- |\n| P-101 | 16 | for water |\n" +
      "| P-102 | 25 | for oil, and where it is cold also for fat |\n| P-103 |  | out of use |",
      "And no more.",
    ]],
  );
  const [one, two] = [row(700, "P-101", "16"), row(686, "P-102", "25")];
  assert.deepEqual(await shownPdf([...one, ...two]), [["", "P-101 16 P-102 25"]]);
});

Deno.test("readPdf() leaves out the heads of left and right pages, and keeps what only looks alike", async () => {
  const texts = [
    "The pump is green.",
    "The pump is red.",
    "The valve is old.",
    "The valve is new.",
    "Nobody knows it.",
    "It ends here.",
  ];
  const pages = texts.map((text, at) => [
    { text: at % 2 === 0 ? `${at + 1} The manual` : `Chapter one ${at + 1}`, y: 770, size: 11 },
    { text, y: 600 - at * 20 },
  ]);
  const shown = await shownPdf(...pages);
  assert.equal(shown.flat().join(" ").trim(), texts.join(" "));
});

Deno.test("readPdf() takes numbered lines of another type for headings", async () => {
  const page = [
    { text: "2 Pumps", y: 740, isBold: true },
    ...lines(["Pumps move water from here to there.", "1 Litre is what they move."]),
    { text: "2.1 Small pumps", y: 660, isBold: true },
    ...lines(["They move less."], { top: 640 }),
  ];
  assert.deepEqual(await shownPdf(page), [
    ["2 Pumps", "Pumps move water from here to there. 1 Litre is what they move."],
    ["2 Pumps > 2.1 Small pumps", "They move less."],
  ]);
});

Deno.test("readPdf() asks for the texts of pages without text, and reads them like the others", async () => {
  const pages = [[{ text: "Typed.", y: 700, size: 12 }], [], []];
  assert.deepEqual(await readPdf(examplePdf(pages), "file", new Map()), [2, 3]);
  assert.deepEqual(await readPdf(examplePdf(pages), "file", new Map([[2, ""]])), [3]);
  const texts = new Map([[2, "Of a scan, with a hy-\nphen.\n\nNext e\ufb00ect.\n\f"], [3, ""]]);
  assert.deepEqual(await readPdf(examplePdf(pages), "file", texts), {
    title: "file",
    sections: [{
      headings: [],
      blocks: [
        { kind: "paragraph", text: "Typed.", pages: [{ at: 0, page: 1 }] },
        { kind: "paragraph", text: "Of a scan, with a hyphen.", pages: [{ at: 0, page: 2 }] },
        { kind: "paragraph", text: "Next effect.", pages: [{ at: 0, page: 2 }] },
      ],
    }],
  });
});
