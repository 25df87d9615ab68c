import assert from "node:assert/strict";
import { htmlText, readHtml } from "../../../../src/rag_server/ingest/formats/read_html.ts";

Deno.test("readHtml() reads the main content alone, with headings, lists, tables, code and quotes", () => {
  const html =
    `<!doctype html><html><head><title>Leave policy – Acme intranet</title><style>p { color: red }</style></head>
<body><header>Acme</header><nav><ul><li>Home</li></ul></nav>
<main><h1>Leave   policy</h1><p>Everyone gets <b>25</b>&nbsp;days &amp; more.<br>Really
 so.</p><script>track("x")</script>
<h2>Steps</h2><ol><li>Ask<ul><li>early</li><li><p>in writing</p><p>always</p></li></ul></li><li>Wait</ol>
<table><caption>By country</caption><thead><tr><th>Country</th><th>Days</th></tr></thead>
<tr><td>France</td><td>25 <table><tr><td>or</td><td>30</td></tr></table></td></tr><tr><td>Italy<td>20</table>
<pre><code>if (a &lt; b) {
  go();
}</code></pre><blockquote><p>So it is.</p></blockquote><div>Loose <span>text</span></div>
<aside>Related</aside><div hidden>Secret</div></main><footer>Imprint</footer></body></html>`;
  assert.deepEqual(readHtml(html, "leave"), {
    title: "Leave policy",
    sections: [
      {
        headings: ["Leave policy"],
        blocks: [{ kind: "paragraph", text: "Everyone gets 25 days & more.\nReally so." }],
      },
      {
        headings: ["Leave policy", "Steps"],
        blocks: [
          { kind: "list", text: "1. Ask\n  - early\n  - in writing\n    always\n2. Wait" },
          {
            kind: "table",
            text: "By country\n| Country | Days |\n| --- | --- |\n| France | 25 or 30 |\n| Italy | 20 |",
          },
          { kind: "code", text: "if (a < b) {\n  go();\n}" },
          { kind: "quote", text: "So it is." },
          { kind: "paragraph", text: "Loose text" },
        ],
      },
    ],
  });
});

Deno.test("readHtml() reads the whole page where nothing in it is called main", () => {
  const { title, sections } = readHtml("<p>One<p>Two<footer>no</footer><h2>H</h2>Three", "page");
  assert.equal(title, "page");
  assert.deepEqual(sections, [
    { headings: [], blocks: [{ kind: "paragraph", text: "One" }, { kind: "paragraph", text: "Two" }] },
    { headings: ["H"], blocks: [{ kind: "paragraph", text: "Three" }] },
  ]);
});

Deno.test("readHtml() takes HTML as it comes: unclosed, wrongly nested, deep", () => {
  const blocks = (html: string) =>
    readHtml(html, "x").sections.flatMap((section) => section.blocks.map(({ text }) => text));
  assert.deepEqual(blocks("<div><p>a</div></p></main></ul></table>b"), ["a", "b"]);
  assert.deepEqual(blocks("<ul><li>a<table><tr><td>b"), ["- a\n  | b |"]);
  assert.deepEqual(blocks("<td>loose</td><li>item"), ["loose", "- item"]);
  assert.deepEqual(blocks("<nav>never closed <p>a</p>"), []);
  assert.deepEqual(blocks("<b>".repeat(20_000) + "deep"), ["deep"]);
});

Deno.test("readHtml() takes neither a picture's title nor what is left out of main", () => {
  const html =
    "<head><title>Page</title></head><p>before<div role=main><svg><title>Icon</title></svg>a<nav>x</nav>b</div>after";
  assert.deepEqual(readHtml(html, "x"), {
    title: "Page",
    sections: [{
      headings: [],
      blocks: [{ kind: "paragraph", text: "a" }, { kind: "paragraph", text: "b" }],
    }],
  });
});

Deno.test("htmlText() is the text as it shows", () => {
  assert.equal(htmlText("a  <b>b</b>\n c<br>d<p>e</p>f &lt;g&gt;"), "a b c\nd\ne\nf <g>");
  assert.equal(htmlText("plain \n text"), "plain text");
});
