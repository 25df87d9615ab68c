import assert from "node:assert/strict";
import fc from "fast-check";
import {
  chunkDocument,
  type ChunkOptions,
  type DocumentBlock,
  type DocumentSection,
  type SourceDocument,
} from "../../src/text/chunk_document.ts";
import { countTokens } from "../../src/text/token_count.ts";
import { anyText } from "../support/any_text.ts";

const paragraph = (text: string): DocumentBlock => ({ kind: "paragraph", text });
const section = (
  headings: readonly string[],
  ...blocks: readonly (DocumentBlock | string)[]
): DocumentSection => ({
  headings,
  blocks: blocks.map((block) => typeof block === "string" ? paragraph(block) : block),
});
const documentOf = (title: string, ...sections: readonly DocumentSection[]): SourceDocument => ({
  title,
  sections,
});
const chunk = (document: SourceDocument, options: Partial<ChunkOptions> = {}) =>
  chunkDocument(document, { maxTokens: 400, overlapTokens: 60, ...options }).map(({ text }) => text);

/** A sentence of exactly the tokens that `countTokens` finds in words of three letters and a full stop. */
const sentence = (number: number, words: number) =>
  `Number ${number} says ${Array.from({ length: words - 3 }, () => "and").join(" ")}.`;
const sentences = (from: number, to: number, words = 15) =>
  Array.from({ length: to - from + 1 }, (_, at) => sentence(from + at, words)).join(" ");

Deno.test("chunkDocument() puts the path of headings on a chunk's first line, the title once", () => {
  const text = sentences(1, 4);
  const document = documentOf(
    "Handbook",
    section(["Handbook"], text),
    section(["Handbook", "Leave"], text),
    section(["Handbook", "Leave", "Parental leave"], text, text),
  );
  assert.deepEqual(chunk(document), [
    `Handbook\n\n${text}`,
    `Handbook > Leave\n\n${text}`,
    `Handbook > Leave > Parental leave\n\n${text}\n\n${text}`,
  ]);
});

Deno.test("chunkDocument() keeps paragraphs whole where they fit, and repeats the sentences before a cut", () => {
  const [first, second, third] = [sentences(1, 6), sentences(7, 12), sentences(13, 16)];
  assert.deepEqual(
    chunk(documentOf("T", section([], first, second, third)), { maxTokens: 130, overlapTokens: 20 }),
    [
      `T\n\n${first}`,
      `T\n\n${sentence(6, 15)}\n\n${second}`,
      `T\n\n${sentence(12, 15)}\n\n${third}`,
    ],
  );
});

Deno.test("chunkDocument() cuts a paragraph that does not fit between sentences", () => {
  const chunks = chunk(documentOf("T", section([], sentences(1, 12))), { maxTokens: 110, overlapTokens: 20 });
  assert.deepEqual(chunks, [
    `T\n\n${sentences(1, 6)}`,
    `T\n\n${sentences(6, 11)}`,
    `T\n\n${sentences(11, 12)}`,
  ]);
  const without = chunk(documentOf("T", section([], sentences(1, 12))), { maxTokens: 110, overlapTokens: 0 });
  assert.deepEqual(without, [`T\n\n${sentences(1, 6)}`, `T\n\n${sentences(7, 12)}`]);
});

Deno.test("chunkDocument() cuts a table between its rows and repeats its header, without an overlap", () => {
  const row = (number: number) => `| Country ${number} | ${number} days |`;
  const rows = Array.from({ length: 20 }, (_, at) => row(at + 1));
  const table: DocumentBlock = {
    kind: "table",
    text: ["| Country | Leave |", "| --- | --- |", ...rows].join("\n"),
  };
  const chunks = chunk(documentOf("T", section([], "Before.", table, "After it. And more.")), {
    maxTokens: 80,
    overlapTokens: 20,
  });
  assert.equal(chunks.length, 3);
  assert.ok(
    chunks[0]?.startsWith("T\n\nBefore.\n\n| Country | Leave |\n| --- | --- |\n| Country 1 | 1 days |\n"),
  );
  assert.ok(chunks[1]?.startsWith("T\n\n| Country | Leave |\n| --- | --- |\n| Country "));
  assert.ok(chunks[2]?.endsWith("| Country 20 | 20 days |\n\nAfter it. And more."));
  for (const line of rows) {
    assert.equal(chunks.filter((text) => text.split("\n").includes(line)).length, 1, line);
  }
});

Deno.test("chunkDocument() repeats a table's header below its caption too", () => {
  const rows = Array.from({ length: 20 }, (_, at) => `| Country ${at} | ${at} days |`);
  const text = ["Leave, as of May", "| Country | Leave |", "| --- | --- |", ...rows].join("\n");
  const table: DocumentBlock = { kind: "table", text };
  const [first, ...others] = chunk(documentOf("T", section([], table)), { maxTokens: 80, overlapTokens: 0 });
  assert.match(
    first ?? "",
    /^T\n\nLeave, as of May\s+\| Country \| Leave \|\n\| --- \| --- \|\n\| Country 0 /,
  );
  assert.ok(others.length > 0);
  for (const other of others) {
    assert.match(other, /^T\n\n\| Country \| Leave \|\n\| --- \| --- \|\n\| Country \d/);
  }
});

Deno.test("chunkDocument() cuts code between its lines and keeps their indentation", () => {
  const lines = Array.from({ length: 30 }, (_, at) => `  if (value === ${at}) return ${at};`);
  const chunks = chunk(documentOf("T", section([], { kind: "code", text: lines.join("\n") })), {
    maxTokens: 120,
  });
  assert.ok(chunks.length > 2);
  assert.equal(chunks.map((text) => text.replace("T\n\n", "")).join("\n"), lines.join("\n"));
});

Deno.test("chunkDocument() joins tiny sections, across top-level ones only where both are tiny", () => {
  const long = sentences(1, 5);
  const document = documentOf(
    "T",
    section(["A", "One"], "Short one."),
    section(["A", "Two"], long),
    section(["B"], "Tiny b."),
    section(["C"], "Tiny c."),
    section(["D"], long),
  );
  assert.deepEqual(chunk(document), [
    `T > A\n\nOne\n\nShort one.\n\nTwo\n\n${long}`,
    "T\n\nB\n\nTiny b.\n\nC\n\nTiny c.",
    `T > D\n\n${long}`,
  ]);
});

Deno.test("chunkDocument() loses neither a heading over nothing nor one that is too long for a line", () => {
  const long = Array.from({ length: 60 }, (_, at) => `word${at}`).join(" ");
  const document = documentOf("T", section(["A"]), section(["A", "Alone"]), section(["B", long], "Text."));
  const text = chunk(document, { maxTokens: 200 }).join("\n");
  for (const word of ["Alone", "Text.", ...long.split(" ")]) {
    assert.ok(text.split(/\s+/).includes(word), word);
  }
});

Deno.test("chunkDocument() keeps a heading that is the title and all of the text, once", () => {
  const both = documentOf("Opening hours: 9 to 17", {
    headings: ["Opening  hours: 9 to 17"],
    page: 3,
    blocks: [],
  });
  const text = "Opening hours: 9 to 17";
  assert.deepEqual(chunkDocument(both, { maxTokens: 400, overlapTokens: 0 }), [
    { text, heading: text, start: 0, end: text.length, page: 3 },
  ]);
  const twice = documentOf("Plan", section(["Plan"]), section(["Plan"]));
  assert.deepEqual(chunk(twice), ["Plan"]);
  assert.deepEqual(chunk(documentOf("Plan", section(["Plan"]), section([], "Text."))), ["Plan\n\nText."]);
});

Deno.test("chunkDocument() names the page of headings over nothing, and of each part of a table", () => {
  const long = sentences(1, 5);
  const slides: readonly DocumentSection[] = [
    { headings: ["One"], page: 1, blocks: [{ ...paragraph(long), pages: [{ at: 0, page: 1 }] }] },
    { headings: ["Two"], page: 2, blocks: [] },
    { headings: ["Three"], page: 3, blocks: [] },
    { headings: ["Four"], page: 4, blocks: [{ ...paragraph(long), pages: [{ at: 0, page: 4 }] }] },
  ];
  const options = { maxTokens: 100, overlapTokens: 0 };
  assert.deepEqual(
    chunkDocument(documentOf("T", ...slides), options).map(({ text, start, end, page }) => [
      text.slice(0, 11),
      end - start,
      page,
    ]),
    [["T > One\n\nNu", long.length, 1], ["T\n\nTwo\n\nThr", 10, 2], ["T > Four\n\nN", long.length, 4]],
  );
  const rows = Array.from({ length: 30 }, (_, at) => `| row ${at} | some words |`).join("\n");
  for (const kind of ["table", "code"] as const) {
    const block = { kind, text: `| a | b |\n| --- | --- |\n${rows}`, pages: [{ at: 0, page: 7 }] };
    const pages = chunkDocument(documentOf("T", section([], block)), options).map(({ page }) => page);
    assert.ok(pages.length > 2);
    assert.deepEqual(pages, pages.map(() => 7));
  }
});

Deno.test("chunkDocument() says a column's name with each value where the header is too long to be repeated", () => {
  const columns = Array.from({ length: 100 }, (_, at) => at);
  const lineOf = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const tableOf = (header: readonly string[]) => ({
    kind: "table" as const,
    text: [
      header,
      columns.map(() => "---"),
      columns.map((at) => at === 5 ? "" : at === 6 ? "word ".repeat(300).trim() : `v${at}`),
      columns.map((at) => `w${at}`),
    ].map(lineOf).join("\n"),
  });
  const wide = tableOf(columns.map((at) => `column${at}`));
  const chunks = chunkDocument(documentOf("T", section([], wide)), { maxTokens: 200, overlapTokens: 0 });
  const texts = chunks.map(({ text }) => text).join("\n");
  for (const at of columns) {
    for (const value of at === 5 || at === 6 ? [`w${at}`] : [`v${at}`, `w${at}`]) {
      assert.equal(texts.split("\n").filter((line) => line === `column${at}: ${value}`).length, 1, value);
    }
  }
  assert.ok(
    !texts.includes("---") && !texts.includes("column5: \n") && texts.includes("v99\n\ncolumn0: w0\n"),
  );
  // its place is that of its values, to a few characters
  for (const { text, start, end } of chunks.slice(1)) {
    const place = wide.text.slice(start, end);
    const lines = text.split("\n").filter((line) => /: [vw]\d+$/.test(line));
    for (const line of lines) assert.ok(place.includes(line.split(": ")[1] ?? ""), line);
  }
  const prose = chunk(
    documentOf("T", section([], tableOf(columns.map((at) => `${"much ".repeat(50)}${at}`)))),
  );
  assert.ok(prose.every((text) => !text.includes("---") && !text.includes(": v")));
  const bare = {
    kind: "table" as const,
    text: [columns.map((at) => `c${at}`), columns.map(() => "---")].map(lineOf).join("\n"),
  };
  assert.ok(chunk(documentOf("T", section([], bare))).join().includes("c99"));
});

Deno.test("chunkDocument() makes nothing of a document without text", () => {
  assert.deepEqual(chunk(documentOf("T")), []);
  assert.deepEqual(chunk(documentOf("T", section([], "  \n "))), []);
});

Deno.test("chunkDocument() refuses bounds that leave no room", () => {
  for (const options of [{ maxTokens: 39, overlapTokens: 0 }, { maxTokens: 100, overlapTokens: 51 }]) {
    assert.throws(() => chunkDocument(documentOf("T"), options), RangeError);
  }
});

const anyWords = fc.array(
  fc.constantFrom(
    "and",
    "Leave.",
    "days",
    "25",
    "e.g.",
    "naïve",
    "漢字。",
    "\n",
    "\n\n",
    "- item",
    "Ende!",
    "Urlaubsanspruch",
  ),
  { maxLength: 150 },
).map((words) => words.join(" "));

const anyDocument = (text: fc.Arbitrary<string>): fc.Arbitrary<SourceDocument> =>
  fc.record({
    title: fc.oneof(fc.constantFrom("", "A", "Handbook"), text),
    sections: fc.array(
      fc.record({
        headings: fc.array(fc.oneof(fc.constantFrom("A", "B", "C"), text), { maxLength: 4 }),
        blocks: fc.array(
          fc.record({ kind: fc.constantFrom("paragraph", "list", "code", "table", "quote"), text }),
          { maxLength: 4 },
        ),
      }),
      { maxLength: 6 },
    ),
  });

const anyOptions = fc.integer({ min: 40, max: 150 }).chain((maxTokens) =>
  fc.record({
    maxTokens: fc.constant(maxTokens),
    overlapTokens: fc.integer({ min: 0, max: maxTokens / 2 | 0 }),
  })
);

Deno.test("chunkDocument() loses no word of text or headings", () => {
  fc.assert(
    fc.property(anyDocument(anyWords), anyOptions, (document, options) => {
      const found = new Set(chunk(document, options).join("\n").split(/\s+/));
      for (const { headings, blocks } of document.sections) {
        const texts = [...blocks.map(({ text }) => text), ...headings];
        for (const word of texts.join("\n").split(/\s+/)) assert.ok(word === "" || found.has(word), word);
      }
    }),
    { numRuns: 300 },
  );
});

Deno.test("chunkDocument() keeps within its bound, whatever the text, and gives the same again", () => {
  fc.assert(
    fc.property(anyDocument(anyText(400)), anyOptions, (document, options) => {
      const chunks = chunk(document, options);
      for (const text of chunks) assert.ok(countTokens(text) <= options.maxTokens, JSON.stringify(text));
      assert.deepEqual(chunk(document, options), chunks);
    }),
    { numRuns: 300 },
  );
});

Deno.test("chunkDocument() repeats nothing but headings where there is no overlap", () => {
  let next = 0;
  const distinct = fc.array(fc.constantFrom(" ", ". ", "\n", "\n\n"), { maxLength: 120 })
    .map((gaps) => gaps.map((gap) => `w${next++}${gap}`).join(""));
  const document = fc.array(fc.record({ kind: fc.constantFrom("paragraph", "list", "code"), text: distinct }))
    .map((blocks): SourceDocument => documentOf("T", { headings: ["H"], blocks }));
  fc.assert(fc.property(document, (given) => {
    const words = chunk(given, { maxTokens: 60, overlapTokens: 0 }).flatMap((text) =>
      text.match(/w\d+/g) ?? []
    );
    assert.equal(new Set(words).size, words.length);
    assert.deepEqual(
      words,
      given.sections.flatMap(({ blocks }) => blocks.flatMap(({ text }) => text.match(/w\d+/g) ?? [])),
    );
  }));
});

Deno.test("chunkDocument() takes a long text in its stride, be it one word", () => {
  for (
    const text of [
      "x".repeat(1_000_000),
      " ".repeat(1_000_000) + "x",
      "1".repeat(300_000),
      "a. ".repeat(100_000),
    ]
  ) {
    const chunks = chunk(documentOf("T", section([], text)), { overlapTokens: 0 });
    assert.equal(chunks.map((part) => part.slice(3).replace(/\s/g, "")).join(""), text.replace(/\s/g, ""));
  }
});

Deno.test("chunkDocument() loses nothing of a text that costs more below a heading in another language", () => {
  for (const length of [5, 8, 12, 15]) {
    for (const maxTokens of [40, 50, 61, 75, 90]) {
      const words = Array.from(
        { length: 90 },
        (_, at) => String.fromCharCode(97 + at % 26).repeat(2) + "ration".repeat(3).slice(0, length),
      );
      const document = documentOf(
        "Größe",
        section(["Çé à ü"], words.join(" "), { kind: "code", text: words.join(" ") }),
      );
      const found = chunk(document, { maxTokens, overlapTokens: 0 }).flatMap((text) =>
        text.split("\n\n").slice(1).join(" ").split(" ")
      );
      assert.deepEqual(found, [...words, ...words]);
    }
  }
});

Deno.test("chunkDocument() says where a chunk is in the text of the document", () => {
  const bare = (text: string) => text.replace(/\s/g, "");
  const inOne = fc.array(
    fc.record({
      kind: fc.constantFrom("paragraph", "list", "code", "quote"),
      text: fc.oneof(anyWords, anyText(400)),
    }),
    { maxLength: 5 },
  );
  fc.assert(
    fc.property(inOne, anyOptions, (blocks, options) => {
      const texts = blocks.map(({ text }) => text.replace(/^(?:[^\S\n]*\n)+/, "").trimEnd());
      const whole = [...["H", ...texts.filter((text) => text !== "")].join("\n\n")];
      const chunks = chunkDocument(documentOf("T", { headings: ["H"], blocks }), options);
      for (const { text, start, end } of chunks) {
        if (blocks.every((block) => block.text.trim() === "")) continue;
        assert.equal(bare(whole.slice(start, end).join("")), bare(text.slice("T > H\n\n".length)));
      }
    }),
    { numRuns: 300 },
  );
  const document = documentOf(
    "T",
    section(["A"], `${sentences(1, 4)} 😀`),
    section(["B", "C"], "Few."),
    section(["B", "D"], "\n  Little.\n"),
    section(["E"], { kind: "table", text: `| a |\n| --- |\n\n${sentences(1, 9).replaceAll(". ", ".\n")}` }),
  );
  const first = 3 + sentences(1, 4).length + 2;
  const rest = [..."C\n\nFew.\n\nD\n\n  Little."].length;
  const places = chunkDocument(document, { maxTokens: 90, overlapTokens: 0 })
    .map(({ heading, start, end }) => [heading, start, end]);
  assert.deepEqual(places.slice(0, 2), [["T > A", 3, first], ["T > B", first + 5, first + 2 + rest]]);
  const headed = places.slice(2);
  assert.ok(headed.length > 1);
  assert.deepEqual(headed.map(([heading]) => heading), headed.map(() => "T > E"));
  // rows that follow each other, without the repeated header
  for (const [at, [, start]] of headed.slice(1).entries()) assert.equal(start, Number(headed[at]?.[2]) + 1);
});
