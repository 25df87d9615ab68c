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

Deno.test("readPdf() says of a PDF with a password what is to do", async () => {
  const pdf = examplePdf([[{ text: "Secret.", y: 700 }]], { isLocked: true });
  await assert.rejects(readPdf(pdf, "file"), { message: "it is encrypted; save it without a password" });
});

Deno.test("readPdf() names the character map without which it finds no words, and reads on where there are others", async () => {
  const chinese = [{ text: "N-eW", y: 700 }];
  const number = { text: "- 1 -", y: 30, isBold: true };
  await assert.rejects(readPdf(examplePdf([[...chinese, number]], { isChinese: true }), "file"), {
    message: "it needs the character map UniGB-UCS2-H; save it with its fonts embedded",
  });
  const words = { text: "Some words.", y: 600, isBold: true };
  const { sections } = await readPdf(examplePdf([[...chinese, words]], { isChinese: true }), "file");
  assert.deepEqual(sections.flatMap(({ blocks }) => blocks.map(({ text }) => text)), ["Some words."]);
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

Deno.test("readPdf() knows columns of few lines by the pages before", async () => {
  const column = (name: string, count: number, x: number) =>
    lines(Array.from({ length: count }, (_, at) => `in the ${name} column line ${at}`), { x });
  const page = (name: string, left: number, right: number) => {
    const [one, two] = [column(`${name} left`, left, 72), column(`${name} right`, right, 320)];
    return one.flatMap((line, at) => [line, ...two.slice(at, at + 1)]);
  };
  const shown = (await shownPdf(page("first", 5, 5), page("last", 5, 2))).flat().join(" ");
  assert.deepEqual(
    shown.match(/last (?:left|right)/g)?.join(),
    "last left,".repeat(5) + "last right,last right",
  );
  // alone, it may be a table
  const alone = (await shownPdf(page("last", 5, 2))).flat().join(" ");
  assert.match(alone, /^ in the last left column line 0 in the last right column line 0/);
});

Deno.test("readPdf() reads columns one after another below or above tables and lists, and leaves tables of texts alone", async () => {
  const side = (name: string, x: number, top: number) =>
    lines([1, 2, 3, 4, 5].map((at) => `The ${name} column has line ${at}`), { x, top });
  const inOrder = [side("left", 72, 0), side("right", 320, 0)].flat().map(({ text }) => text).join(" ");
  const table = (top: number) =>
    Array.from(
      { length: 9 },
      (_, at) =>
        [`A${at}`, `${at} per hour`, "two years"].map((text, column) => ({
          text,
          x: 72 + column * 150,
          y: top - at * 22,
        })),
    ).flat();
  const list = (top: number) => lines([..."abcdefgh"].map((letter) => `Take ${letter}.`), { top });
  for (const other of [table, list]) {
    for (const [top, above] of [[400, other(700)], [700, other(600)]] as const) {
      const text = (await shownPdf([...side("right", 320, top), ...side("left", 72, top - 1), ...above]))
        .flat();
      assert.ok(text.includes(inOrder), text.join("\n"));
    }
  }
  const texts = [
    "Where the pump is kept",
    "A place that is dry and warm, and clean",
    "Who may use it at all",
  ];
  const rows = [...texts, ...texts].flatMap((text, at) =>
    [text, texts.at(at % 3 - 1) ?? ""].map((text, column) => ({
      text,
      x: 72 + column * 250,
      y: 480 - at * 14,
    }))
  );
  const wide = lines(
    Array.from(
      { length: 14 },
      () => "A line that is as wide as the page, and that goes on over both of them",
    ),
  );
  assert.match(
    (await shownPdf([...wide, ...rows])).flat().join(" "),
    /Where the pump is kept \| Who may use it at all/,
  );
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

Deno.test("readPdf() gives the lines of a cell to its row, be it centred or the last one", async () => {
  const row = (y: number, ...cells: string[]) =>
    cells.flatMap((text, at) => text === "" ? [] : [{ text, x: 72 + at * 100, y }]);
  const head = [...row(700, "Pump", "Note", "", "Price"), ...row(677, "P-1", "Small", "", "1")];
  const end = "is old, and that stood in the cellar for long";
  const centred = [
    ...row(654, "", "One that is"),
    ...row(641, "P-2", "large and", "", "2"),
    ...row(628, "", "heavy"),
    ...row(605, "", "One that"),
    ...row(593, "", end),
    ...row(599, "", "", "", "3"),
    ...row(599, "P-3"),
  ];
  const above = [
    ...row(654, "P-2", "One that is", "", "2"),
    ...row(641, "", "large and"),
    ...row(628, "", "heavy"),
    ...row(605, "P-3", "One that", "", "3"),
    ...row(592, "", end),
  ];
  for (const rows of [centred, above]) {
    assert.deepEqual(await shownPdf([...head, ...rows, ...row(560, "And no more.")]), [[
      "",
      "| Pump | Note | Price |\n| --- | --- | --- |\n| P-1 | Small | 1 |\n" +
      `| P-2 | One that is large and heavy | 2 |\n| P-3 | One that ${end} | 3 |`,
      "And no more.",
    ]]);
  }
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

const letters = [..."abcdef"];

/** A page of two columns with their words in order, by a letter: `a0 … a11`. */
const columns = (letter: string) =>
  [72, 320].flatMap((x, side) =>
    [0, 1, 2, 3, 4, 5].map((at) => ({
      text: `The line ${letter}${side * 6 + at} goes on for a while`,
      x,
      y: 690 - at * 14,
      size: 10,
    }))
  );
const inOrder = (letter: string) => Array.from({ length: 12 }, (_, at) => `${letter}${at}`).join(" ");

for (
  const [name, running] of Object.entries<
    (at: number) => { text: string; x: number; y: number; size: number }[]
  >({
    "a foot in the middle": (at) => [{ text: `Page ${at + 1} of 6`, x: 286, y: 40, size: 8 }],
    "a larger foot in the middle": (at) => [{ text: `Page ${at + 1} of 6`, x: 280, y: 40, size: 12 }],
    "a larger number at the right of the head": (at) => [{ text: `${at + 1}`, x: 520, y: 760, size: 14 }],
    "how many pages there are": (at) => [{ text: `${at + 1} / 6`, x: 290, y: 40, size: 10 }],
    "a larger head with a page's number": (
      at,
    ) => [{ text: `Manual - page ${at + 1}`, x: 260, y: 760, size: 14 }],
    "a larger foot without a word for a page": (
      at,
    ) => [{ text: `Manual ${at + 1}`, x: 280, y: 40, size: 14 }],
    "larger heads of left and right pages": (at) =>
      at % 2 === 0
        ? [{ text: `${at + 1}`, x: 72, y: 760, size: 12 }, { text: "The manual", x: 280, y: 760, size: 12 }]
        : [{ text: "Of pumps", x: 280, y: 760, size: 12 }, { text: `${at + 1}`, x: 500, y: 760, size: 12 }],
    "numbers by chapters, of two of them": (
      at,
    ) => [{ text: `${at < 3 ? 1 : 2}-${at % 3 + 1}`, x: 300, y: 40, size: 10 }],
    "numbers with gaps between them": (at) => [{ text: `Of pumps ${at * 3 + 1}`, x: 72, y: 40, size: 8 }],
    "a larger title with a number apart": (
      at,
    ) => [{ text: `Annual report 2024 | ${at + 1}`, x: 250, y: 760, size: 14 }],
    "two lines at the head": (at) => [
      { text: "Acme Inc.", x: 72, y: 770, size: 10 },
      { text: `12 May 2024, sheet ${at + 1}`, x: 72, y: 755, size: 10 },
    ],
  })
) {
  Deno.test(`readPdf() leaves out ${name}, and reads the columns`, async () => {
    const shown = await shownPdf(...letters.map((letter, at) => [...running(at), ...columns(letter)]));
    assert.equal(shown.length, 1);
    const text = shown.flat().join(" ").trim();
    assert.equal(text.match(/[a-f]\d+/g)?.join(" "), letters.map(inOrder).join(" "));
    assert.equal(text.replace(/The line [a-f]\d+ goes on for a while/g, "").trim(), "");
  });
}

Deno.test("readPdf() leaves out the numbers of two pages, of a page that has nothing else, and beside a text that changes", async () => {
  const foot = (at: number) => ({ text: `Page ${at + 1}`, x: 290, y: 40, size: 12 });
  const two = ["a", "b"].map((letter, at) => [...columns(letter), foot(at)]);
  assert.deepEqual(
    (await shownPdf(...two)).flat().join(" ").match(/[ab]\d+|Page/g)?.join(" "),
    `${inOrder("a")} ${inOrder("b")}`,
  );
  const bare = two.map((page, at) => [...page.slice(0, -1), { ...foot(at), text: `- ${at + 1} -` }]);
  assert.doesNotMatch((await shownPdf(...bare)).flat().join(" "), /-/);
  const blank = [...two, [foot(2)], [...columns("d"), foot(3)]];
  assert.doesNotMatch((await shownPdf(...blank)).flat().join(" "), /Page/);
  const sections = letters.map((letter, at) => [
    { text: `About ${letter}`, y: 760, size: 10 },
    { text: `${at + 7}`, x: 500, y: 760, size: 10 },
    { text: `It is ${letter}.`, y: 600, size: 10 },
  ]);
  assert.deepEqual(
    (await shownPdf(...sections)).flat().join(" ").trim(),
    letters.map((one) => `About ${one} It is ${one}.`).join(" "),
  );
});

Deno.test("readPdf() leaves out what a browser prints at the head and foot of two pages, and keeps other times", async () => {
  const page = (at: number, time: string, text: string) => [
    { text: time, x: 24, y: 770, size: 8 },
    { text: "The manual", x: 300, y: 770, size: 8 },
    { text, y: 600 },
    { text: "file:///tmp/manual.html", x: 24, y: 17, size: 8 },
    { text: `${at}/2`, x: 558, y: 17, size: 8 },
  ];
  for (const time of ["11/29/26, 5:01 AM", "29.11.2026, 05:01", "2026-11-29 05:01"]) {
    assert.deepEqual(await shownPdf(page(1, time, "It is green."), page(2, time, "It is red.")), [
      ["", "It is green.", "It is red."],
    ]);
  }
  const [one, two] = [page(1, "2026-11-29 05:01", "On."), page(1, "2026-11-29 05:02", "Off.")];
  assert.match((await shownPdf(one, two)).flat().join(" "), /05:01 .*1\/2.*05:02 .*1\/2/);
});

Deno.test("readPdf() finds columns above what stands alone below them, wherever that begins, on one page too", async () => {
  for (let x = 100; x < 330; x += 2) {
    const foot = { text: "Printed in Bonn by people who can print", x, y: 40, size: 8 };
    const text = (await shownPdf([...columns("a"), foot])).flat().join(" ");
    assert.equal(text.match(/a\d+/g)?.join(" "), inOrder("a"), `at ${x}`);
  }
});

Deno.test("readPdf() keeps headings with numbers, rows of tables at the edges of pages, and pages that are alike", async () => {
  const row = (cells: readonly string[], y: number) =>
    cells.map((text, at) => ({ text, x: 72 + at * 120, y }));
  // rows of four cells that differ by numbers, or of three with names of their own
  for (const [name, number] of [["Bolt", "4.50"], ["", ""]] as const) {
    const table = (letter: string, at: number) =>
      ["Nut", "Ring", "Screw"].map((part, row) =>
        [name || `${part} ${letter}`, "EUR", `${(at * 7 + row * 5) % 9}`, number].filter((cell) =>
          cell !== ""
        )
      );
    const pages = letters.map((letter, at) => [
      { text: `Step ${at + 1}`, y: 760, size: 16 },
      { text: `Do ${letter} now, and then do it once more.`, y: 700 },
      ...table(letter, at).flatMap((cells, at) => row(cells, 80 - at * 20)),
    ]);
    const shown = await shownPdf(...pages);
    assert.deepEqual(shown.map(([heading]) => heading), letters.map((_, at) => `Step ${at + 1}`));
    const rows = letters.map((letter, at) =>
      table(letter, at).map((cells) => `| ${cells.join(" | ")} |`).join("\n")
    );
    assert.deepEqual(shown.map(([, , table]) => table), rows);
  }
  const alike = letters.map((
    letter,
    at,
  ) => [{ text: `It is ${letter}.`, y: 600 }, { text: `Take ${at * 9} of them.`, y: 40 }]);
  assert.match(
    (await shownPdf(...alike)).flat().join(" "),
    /It is c. Take 18 of them. It is d. Take 27 of them./,
  );
  const numbered = letters.map((letter, at) => [
    ...row([`${at === 3 ? 4 : 9 - at}`, `About ${letter}`], 760),
    { text: `It is ${letter}.`, y: 600 },
    { text: `${at + 1}`, x: 300, y: 40 },
  ]);
  assert.match((await shownPdf(...numbered)).flat().join(" "), /It is c. 4 About d It is d. 5 About e/);
  assert.deepEqual(await shownPdf(...letters.map(() => [{ text: "A form.", y: 700 }])), [[
    "",
    ...letters.map(() => "A form."),
  ]]);
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
