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

/** Headings, and the texts of blocks with their kinds, as they follow each other. */
function shown(html: string): string[] {
  return readHtml(html, "x").sections.flatMap(({ headings, blocks }) => [
    ...headings.slice(-1).map((heading) => `# ${heading}`),
    ...blocks.map(({ kind, text }) => `${kind}: ${text}`),
  ]);
}

Deno.test("readHtml() keeps the lines of code in a table, and takes a table of numbered lines for its code", () => {
  assert.deepEqual(
    shown(`<table class="table"><thead><tr><th>Form</th><th>Example</th></tr></thead>
      <tr><td>create</td><td><p>say</p><pre class="programlisting">
CREATE TABLE t (
    id int
);</pre></td></tr><tr><td>two</td><td><p>one</p><p>more</p> <pre>x</pre></td></tr></table>`),
    [
      "table: | Form | Example |\n| --- | --- |\n| create | say |\n|  | CREATE TABLE t ( |\n|  |     id int |\n|  | ); |\n" +
      "| two | one more x |",
    ],
  );
  // of Sphinx, MkDocs and Rouge
  assert.deepEqual(
    shown(`<table class="highlighttable"><tr><td class="linenos"><div class="linenodiv"><pre>
<span class="normal">1</span>
<span class="normal">2</span></pre></div></td><td class="code"><div><pre><span></span><span class="k">def</span> f():
    <span class="k">return</span> 1
</pre></div></td></tr></table>`),
    ["code: def f():\n    return 1"],
  );
});

Deno.test("readHtml() leaves out the links beside headings, of every generator, and no others", () => {
  const headings = {
    PostgreSQL: '<h2 class="title">8.1. Types <a href="#X" class="id_link">#</a></h2>',
    Sphinx: '<h2>8.1. Types<a class="headerlink" href="#x" title="Link to this heading">¶</a></h2>',
    "Read the Docs": '<h2>8.1. Types<a class="headerlink" href="#x"></a></h2>',
    MkDocs: '<h2>8.1. Types<a class="headerlink" href="#x" title="Permanent link">#</a></h2>',
    Docusaurus:
      '<h2 class="anchor">8.1. Types<a href="#x" class="hash-link" title="Direct link to it">&#8203;</a></h2>',
    GitHub:
      '<h2>8.1. Types</h2><a class="anchor" aria-label="Permalink" href="#x"><svg><path></path></svg></a>',
    Starlight:
      '<div><h2>8.1. Types</h2><a href="#x"><span class="sr-only">Section titled “8.1. Types”</span></a></div>',
    rustdoc: '<h2><a class="doc-anchor" href="#x">§</a>8.1. Types</h2>',
    mdBook: '<h2><a class="header" href="#x">8.1. Types</a></h2>',
    Zola: '<h2>8.1. Types <a class="zola-anchor" href="/page/#x">🔗︎</a></h2>',
    "with text": '<h2>8.1. Types<a href="#x">Permalink to this heading</a></h2>',
  };
  for (const [generator, html] of Object.entries(headings)) {
    assert.deepEqual(shown(html), ["# 8.1. Types"], generator);
  }
  assert.deepEqual(
    shown(
      `<p>The operator <code>#</code> is <a href="#xor">XOR</a>, <a href="math.html#le"><code>&lt;=</code></a> too.</p>
      <dl><dt>f(x)<a class="headerlink" href="#f">¶</a></dt><dd>Doc of f.</dd></dl>`,
    ),
    ["paragraph: The operator # is XOR, <= too.", "paragraph: f(x)", "paragraph: Doc of f."],
  );
});

Deno.test("readHtml() leaves out tables of contents, and keeps notes, footnotes and what is folded", () => {
  assert.deepEqual(
    shown(`<div class="navheader"><table><tr><th>Up</th></tr></table></div><h1>Types</h1>
      <div class="toc"><dl class="toc"><dt><a href="a.html#b">8.1.1. Integers</a></dt></dl></div>
      <div class="toctree-wrapper compound"><ul><li><a href="a.html">A</a></li></ul></div>
      <ul><li>1. <a href="#one">One</a><ul><li><a href="#two">Two</a></li></ul></li></ul>
      <ul><li><a href="#one">One</a>: the first</li></ul><ol><li><a href="https://a.example">A</a></li></ol><ul><li>42</li></ul>
      <p>Text<sup><a href="#fn:1">1</a></sup>, book<a href="#ft12f">12</a>, note<a href="#id2">[2]</a>, step <a href="#step-2">2</a>.</p>
      <aside class="footnote brackets" role="doc-footnote"><span>[<a role="doc-backlink" href="#id1">2</a>]</span>
        <p>Of Sphinx.</p></aside>
      <aside aria-label="Note" class="starlight-aside starlight-aside--note"><p>Mind it.</p></aside><aside>Related</aside>
      <section class="footnotes"><h2 class="sr-only">Footnotes</h2><ol><li><p>Of GitHub.
        <a href="#fnref-1"><g-emoji alias="leftwards_arrow_with_hook">↩</g-emoji></a></p></li></ol></section>
      <details><summary>More</summary><p>Folded.</p></details>`),
    [
      "# Types",
      "list: - One: the first",
      "list: 1. A",
      "list: - 42",
      "paragraph: Text[1], book[12], note[2], step 2.",
      "paragraph: [2]",
      "paragraph: Of Sphinx.",
      "paragraph: Mind it.",
      "list: 1. Of GitHub.",
      "paragraph: More",
      "paragraph: Folded.",
    ],
  );
  assert.deepEqual(shown('<body class="toc"><p>All</p></body>'), ["paragraph: All"]);
});

Deno.test("readHtml() gives each row of a table what its cells go on with, and each column its place", () => {
  const table =
    `<table><tr><th rowspan=2>Type<th colspan=2>Pressure<th rowspan="2">Note</tr><tr><th>min<th>max</tr>
    <tr><td>A<td>1<td rowspan=2>5<td>x</tr><tr><td>B<td>2<td>y</tr><tr><td colspan=3>C is not known</table>`;
  assert.deepEqual(shown(table), [
    "table: | Type | Pressure |  | Note |\n| --- | --- | --- | --- |\n| Type | min | max | Note |\n| A | 1 | 5 | x |\n" +
    "| B | 2 | 5 | y |\n| C is not known |  |  |",
  ]);
  // what a page says is no reason to run out of memory
  const wide = `<table><tr>${"<td colspan=50 rowspan=9999>a".repeat(200)}${"<tr><td>b".repeat(1000)}</table>`;
  assert.ok(shown(wide).join().length < 1_000_000);
});

Deno.test("readHtml() keeps powers, readings and numbers of lists apart from what they stand beside", () => {
  assert.deepEqual(shown("<p>10<sup>-3</sup> m<sup>2</sup>, the 1<sup>st</sup></p>"), [
    "paragraph: 10^-3 m2, the 1st",
  ]);
  assert.deepEqual(
    shown('<p>In 2024<sup><a href="n.xhtml#note1">1</a></sup> it<a href="#fn2"><sup>2</sup></a>.</p>'),
    [
      "paragraph: In 2024[1] it[2].",
    ],
  );
  assert.deepEqual(shown("<p><ruby>東<rp>(</rp><rt>とう</rt><rp>)</rp>京<rt>きょう</rt></ruby>です</p>"), [
    "paragraph: 東京です",
  ]);
  assert.deepEqual(shown("<p>Costs <del>100</del> <s>95</s> <strike>92</strike> 90 euros</p>"), [
    "paragraph: Costs 90 euros",
  ]);
  const math = "<math alttext='x^2'><mi>x</mi><mn>2</mn></math>";
  assert.deepEqual(shown(`<p>With ${math} and <math><mi>y</mi></math> it is</p>`), [
    "paragraph: With x^2 and it is",
  ]);
  assert.deepEqual(shown("<ol start=3><li>c<li>d</ol>"), ["list: 3. c\n4. d"]);
  assert.deepEqual(shown('<p>a<span class="sr-only">hidden</span>b</p>'), ["paragraph: a b"]);
});
