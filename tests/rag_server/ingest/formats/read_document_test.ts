import assert from "node:assert/strict";
import { decodeText } from "../../../../src/rag_server/ingest/formats/decode_text.ts";
import { readDocument } from "../../../../src/rag_server/ingest/formats/read_document.ts";
import { examplePdf } from "./example_pdf.ts";
import { exampleDocx } from "./example_zip.ts";
import { shown } from "./shown_document.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);
const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));

async function read(path: string, bytes: Uint8Array): Promise<unknown> {
  const reading = await readDocument(path, bytes);
  if (reading.kind === "pages") return reading.pages;
  return reading.kind === "skipped" ? reading.reason : shown(reading.document);
}

Deno.test("readDocument() goes by the suffix of the name, and by the bytes for a PDF", async () => {
  assert.deepEqual(await read("a/Leave_policy.md", utf8("# A\n\ntext")), ["A", ["A", "text"]]);
  assert.deepEqual(await read("a/Leave_policy.TXT", utf8("one\ntwo\r\n\r\n  \nthree")), ["Leave policy", [
    "",
    "one\ntwo",
    "three",
  ]]);
  assert.deepEqual(await read("README", utf8("text")), ["README", ["", "text"]]);
  assert.deepEqual(await read("a.b/data.log", utf8('{\n\n"a": 1 }')), ["data", ["", '{\n\n"a": 1 }']]);
  assert.deepEqual(await read("x.htm", utf8("<title>T</title><p>a")), ["T", ["", "a"]]);
  assert.deepEqual(await read("a/Plan.DOCX", exampleDocx("<w:p><w:r><w:t>In Word.</w:t></w:r></w:p>")), [
    "Plan",
    [
      "",
      "In Word.",
    ],
  ]);
  assert.deepEqual(await read("x.tsv", utf8("a\tb\nc\td")), ["x", [
    "",
    "| a | b |\n| --- | --- |\n| c | d |",
  ]]);
  assert.deepEqual(await read("src/a.ts", utf8("let a;")), ["src/a.ts", ["", "let a;"]]);
  assert.deepEqual(await read("a.eml", utf8("Subject: S\n\ntext")), ["S", ["", "text"]]);
  assert.deepEqual(await read("a.jsonl", utf8('{"name": "A", "b": 1}')), ["a", ["A", "b: 1"]]);
  assert.equal(
    await read("a.json", utf8("7")),
    "it is JSON, but neither a list of objects nor an object a line",
  );
  assert.equal(await read("a.js", utf8("x".repeat(500))), "it holds no text that a person wrote");
  assert.equal(await read("a.docx", exampleDocx("")), "it holds no text");
  assert.deepEqual(await read("download", examplePdf([[{ text: "In a PDF.", y: 700 }]])), ["download", [
    "",
    "In a PDF.",
  ]]);
});

Deno.test("readDocument() knows headings of reStructuredText and AsciiDoc", async () => {
  const rst = "=====\nTitle\n=====\n\ntext\n\nOne\n---\nright below\n\nTwo\n---\n\n- item\n\n  --\n";
  assert.deepEqual(await read("x.rst", utf8(rst)), [
    "Title",
    ["Title", "text"],
    ["Title > One", "right below"],
    ["Title > Two", "- item", "  --"],
  ]);
  assert.deepEqual(await read("x.adoc", utf8("= Title\nAuthor\n\n== One\n\ntext")), [
    "Title",
    ["Title", "Author"],
    ["Title > One", "text"],
  ]);
});

Deno.test("readDocument() reads the encodings that files come in", async () => {
  const text = "Größe – naïve";
  const utf16 = new Uint16Array([...`\ufeff${text}`].map((char) => char.charCodeAt(0)));
  const littleEndian = new Uint8Array(utf16.buffer);
  const bigEndian = Uint8Array.from(littleEndian, (_, at) => littleEndian[at ^ 1] ?? 0);
  for (
    const bytes of [
      utf8(text),
      utf8(`\ufeff${text}`),
      littleEndian,
      bigEndian,
      littleEndian.subarray(2),
      bigEndian.subarray(2),
    ]
  ) {
    assert.deepEqual(await read("x.txt", bytes), ["x", ["", text]]);
  }
  assert.deepEqual(await read("x.txt", latin1("Gr\xf6\xdfe \x96")), ["x", ["", "Größe –"]]);
  const page = (charset: string) => `<html><head><meta charset="${charset}"><title>T</title></head><p>`;
  assert.deepEqual(await read("x.html", latin1(`${page("iso-8859-1")}Gr\xf6\xdfe`)), ["T", ["", "Größe"]]);
  assert.deepEqual(await read("x.html", latin1(`${page("windows-1251")}\xcf\xf0\xe8`)), ["T", ["", "При"]]);
  const late = `<!--${"-".repeat(5_000)}-->${page("windows-1251")}\xcf\xf0\xe8`;
  assert.deepEqual(await read("x.html", latin1(late)), ["T", ["", "При"]]);
  const xhtml =
    `<?xml version="1.0" encoding="iso-8859-2"?><html><head><title>T</title></head><p>Za\xbf\xf3\xb3\xe6`;
  assert.deepEqual(await read("x.xhtml", latin1(xhtml)), ["T", ["", "Zażółć"]]);
  const japanese = "\u001b$B$3$l$O\u001b(B";
  for (const [name, text] of [["x.html", page("iso-2022-jp") + japanese], ["T.txt", japanese]] as const) {
    assert.deepEqual(await read(name, latin1(text)), ["T", ["", "これは"]]);
  }
  assert.deepEqual(await read("x.html", latin1(`${page("no-such-thing")}Gr\xf6\xdfe`)), ["T", ["", "Größe"]]);
});

Deno.test("decodeText() tells old encodings by what is written in them", () => {
  const files = [
    ["氏名,年齢\n佐藤太郎,30\n", "\x8e\x81\x96\xbc,\x94N\x97\xee\n\x8d\xb2\x93\xa1\x91\xbe\x98Y,30\n"],
    [
      "これは日本語の文書です。",
      "\xa4\xb3\xa4\xec\xa4\xcf\xc6\xfc\xcb\xdc\xb8\xec\xa4\xce\xca\xb8\xbd\xf1\xa4\xc7\xa4\xb9\xa1\xa3",
    ],
    [
      "姓名,年龄,城市\n张伟,30,北京\n王芳,25,上海\n",
      "\xd0\xd5\xc3\xfb,\xc4\xea\xc1\xe4,\xb3\xc7\xca\xd0\n\xd5\xc5\xce\xb0,30,\xb1\xb1\xbe\xa9\n\xcd\xf5\xb7\xbc,25,\xc9\xcf\xba\xa3\n",
    ],
    [
      "Это документ на русском языке.",
      "\xdd\xf2\xee \xe4\xee\xea\xf3\xec\xe5\xed\xf2 \xed\xe0 \xf0\xf3\xf1\xf1\xea\xee\xec \xff\xe7\xfb\xea\xe5.",
    ],
    [
      "Proszę państwa, święto jest w środę, a potem wracamy do pracy.",
      "Prosz\xea pa\xf1stwa, \x9cwi\xeato jest w \x9crod\xea, a potem wracamy do pracy.",
    ],
    [
      "名前,部署\n佐藤,営業部\n鈴木,開発部\n",
      "\x96\xbc\x91O,\x95\x94\x8f\x90\n\x8d\xb2\x93\xa1,\x89c\x8b\xc6\x95\x94\n\x97\xe9\x96\xd8,\x8aJ\x94\xad\x95\x94\n",
    ],
    [
      "Οι εργαζόμενοι έχουν είκοσι πέντε ημέρες άδειας.",
      "\xcf\xe9 \xe5\xf1\xe3\xe1\xe6\xfc\xec\xe5\xed\xef\xe9 \xdd\xf7\xef\xf5\xed \xe5\xdf\xea\xef\xf3\xe9 \xf0\xdd\xed\xf4\xe5 \xe7\xec\xdd\xf1\xe5\xf2 \xdc\xe4\xe5\xe9\xe1\xf2.",
    ],
    [
      "Відпустка триває двадцять вісім днів на рік.",
      "\xc2\xb3\xe4\xef\xf3\xf1\xf2\xea\xe0 \xf2\xf0\xe8\xe2\xe0\xba \xe4\xe2\xe0\xe4\xf6\xff\xf2\xfc \xe2\xb3\xf1\xb3\xec \xe4\xed\xb3\xe2 \xed\xe0 \xf0\xb3\xea.",
    ],
    ["Les congés payés sont dus à tous", "Les cong\xe9s pay\xe9s sont dus \xe0 tous"],
  ] as const;
  for (const [text, bytes] of files) assert.equal(decodeText(latin1(bytes), undefined), text);
});

Deno.test("decodeText() reads UTF-8 in which few bytes are wrong", () => {
  const text = "Größere Änderungen müssen schriftlich erfolgen.";
  const late = "a".repeat(100_000) + text;
  for (
    const [bytes, expected] of [
      [[...utf8(text), 0xff, ...utf8(text)], `${text}\ufffd${text}`],
      [[...utf8(late), 0xff], `${late}\ufffd`],
      [utf8(`${text} Schlußpunkt, gefä`).subarray(0, -1), `${text} Schlußpunkt, gef\ufffd`],
      [[...utf8(`${text}\n`), ...latin1("F\xfcr")], `${text}\nF\ufffdr`],
      [[...utf8("これは日本語の文書です。"), 0xe3, 0x81], "これは日本語の文書です。\ufffd"],
    ] as const
  ) assert.equal(decodeText(Uint8Array.from(bytes), "windows-1252"), expected);
  // words in other encodings that have the most letters of UTF-8: "разработке", "“CAFÉ”", "ТАТАРЧА", "該頁碼小於"
  for (
    const [encoding, bytes] of [
      ["ibm866", "\xe0\xa0\xa7\xe0\xa0\xa1\xae\xe2\xaa\xa5"],
      ["windows-1252", "\x93CAF\xc9\x94"],
      ["iso-8859-5", "\xc2\xb0\xc2\xb0\xc0\xc7\xb0"],
      ["gb18030", "\xd4\x93\xed\x93\xb4a\xd0\xa1\xec\xb6"],
    ] as const
  ) {
    const text = new TextDecoder(encoding).decode(latin1(bytes));
    assert.equal(decodeText(latin1(bytes), encoding), text, text);
  }
});

Deno.test("readDocument() skips what holds no text", async () => {
  assert.equal(await read("x", latin1("\x89PNG\r\n\x1a\n\0\0\0\rIHDR")), "it is not text");
  for (const name of ["x.png", "data.xml", "notes.md~", "page.mdx", "x.tar.gz"]) {
    assert.equal(await read(name, utf8("text")), "its format is not read");
  }
  assert.equal(await read("x.txt", latin1("a\0b")), "it is not text");
  assert.equal(await read("x.md", utf8(" \n\n")), "it holds no text");
  assert.equal(await read("x.html", utf8("<script>1</script>")), "it holds no text");
  assert.equal(await read("x.pdf", examplePdf([[]])), "it holds no text; perhaps its pages are pictures");
});

Deno.test("readDocument() leaves out tables of contents with dots, and keeps lists of prices", async () => {
  const text = `Table of Contents

   1.  Introduction . . . . . . . . . . . . . . . . . . .   iii
   1.1.  Requirements of a rather long title that goes on
         in another line  . . . . . . . . . . . . . . . .   4
   2.  Overview ..................................... 12

1.  Introduction

Coffee ........ 3
Tea ........... 2
Water ......... 1

Wait .... and see. Section ...... 7
`;
  assert.deepEqual(await read("rfc.txt", utf8(text)), [
    "rfc",
    [
      "",
      "Table of Contents",
      "1.  Introduction",
      "Coffee ........ 3\nTea ........... 2\nWater ......... 1",
      "Wait .... and see. Section ...... 7",
    ],
  ]);
  const line = (text: string, at: number) => ({ text, y: 700 - at * 14 });
  const pdf = examplePdf([
    ["1 Start . . . . . . . . 1", "2 A title that is long and", "goes on ........ 3", "3 End ...... 9"].map(
      line,
    ),
    ["Here it begins."].map(line),
  ]);
  assert.deepEqual(await read("book.pdf", pdf), ["book", ["", "Here it begins."]]);
});

Deno.test("a pointer of Git LFS is not taken for its file", async () => {
  const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
  for (const name of ["a.md", "b.pdf", "c.docx"]) {
    await assert.rejects(readDocument(name, new TextEncoder().encode(pointer)), /pointer of Git LFS/);
  }
});
