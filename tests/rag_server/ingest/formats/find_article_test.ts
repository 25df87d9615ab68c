import assert from "node:assert/strict";
import { findArticle } from "../../../../src/rag_server/ingest/formats/find_article.ts";
import { readHtml } from "../../../../src/rag_server/ingest/formats/read_html.ts";

const sentence =
  "The council has decided to close the old bridge for repairs until the end of March next year. ";
const paragraph = (mark: string) => `<p>${mark}: ${sentence.repeat(2)}</p>`;
const shared = `<meta property="og:type" content="article"><meta property="og:title" content="Bridge">`;

const page = (within: string, head = shared) =>
  `<!doctype html><html><head><title>Bridge closed | The Gazette</title>${head}</head><body>
<div class="cookie-banner"><p>We and our 812 partners keep cookies on your device. Accept?</p></div>
<div class="mainMenu"><ul><li><a href="/">Home</a></li><li><a href="/sport">Sport</a></li></ul></div>
<div class="page"><h1>Bridge closed</h1>
<div class="byline">By Ann Lee</div>
<p>Lead: drivers have to take the long way round through the valley of the river from Monday.</p>
${within}</div>
<div class="comments"><p>Reader: ${sentence.repeat(9)}</p></div>
<div class="site-footer"><p>Imprint and terms of use of the publishing house</p></div></body></html>`;

const body = `<div class="entry-content">${paragraph("One")}
<figure><img src="b.jpg"><figcaption>The bridge at dawn, seen from the tower</figcaption></figure>
<div class="teaser"><a href="/x">A dog that plays chess: read the whole story here</a></div>
<h2>What comes next</h2>${paragraph("Two")}
<ul><li>Buses stop at the mill.</li><li>Cyclists may cross.</li></ul>
<div class="share-buttons"><p>Tell your friends about it</p></div>
<table><tr><th>Day</th><th>Hours</th></tr><tr><td>Monday</td><td>9 to 5</td></tr></table>${paragraph("Three")}
<h3>Read more</h3><p>A week without cars</p><h3>More from us</h3></div>`;

const lines = (html: string) => {
  const { title, sections } = readHtml(html, "x");
  return [
    title,
    ...sections.flatMap(({ headings, blocks }) => [
      `# ${headings.join(" > ")}`,
      ...blocks.map(({ kind, text }) => `${kind}: ${text.slice(0, 60)}`),
    ]),
  ];
};

Deno.test("readHtml() reads of an article its heading, lead and text, without what is around and between", () => {
  assert.deepEqual(lines(page(body)), [
    "Bridge closed",
    "# Bridge closed",
    "paragraph: Lead: drivers have to take the long way round through the va",
    "paragraph: One: The council has decided to close the old bridge for rep",
    "# Bridge closed > What comes next",
    "paragraph: Two: The council has decided to close the old bridge for rep",
    "list: - Buses stop at the mill.\n- Cyclists may cross.",
    "table: | Day | Hours |\n| --- | --- |\n| Monday | 9 to 5 |",
    "paragraph: Three: The council has decided to close the old bridge for r",
  ]);
});

Deno.test("findArticle() finds the text where no name says which it is", () => {
  const found = findArticle(page(`<div class="x1">${paragraph("One")}${paragraph("Two")}</div>`)) ?? "";
  assert.match(found, /^<h1>Bridge closed<\/h1>[^]*Lead:[^]*One:[^]*Two:/);
});

Deno.test("readHtml() loses nothing of documentation", () => {
  const code = `${body}<pre>open()</pre>`;
  const definitions = `${body}<dl><dt>arch</dt><dd>A curve.</dd></dl>`;
  const inline = `${body}<p>Set <code>a</code>, <code>b</code> or <code>c</code>.</p>`;
  const ofTheWeb = `<meta property="og:title" content="Bridge">`;
  assert.notEqual(findArticle(page(body, ofTheWeb)), undefined);
  for (
    const html of [
      page(code),
      page(inline),
      page(definitions, ofTheWeb),
      page(body, "<meta name=description>"),
    ]
  ) {
    assert.equal(findArticle(html), undefined);
    const read = lines(html).join("\n");
    for (const kept of ["Imprint and terms", "A dog that plays chess", "seen from the tower"]) {
      assert.ok(read.includes(kept), kept);
    }
  }
});

Deno.test("readHtml() reads an article as a page where the article lacks code or a table", () => {
  const schema = `<script type="application/ld+json">{"@type": "BlogPosting"}</script>`;
  const inside = body.replace("<h2>", "<pre>cross(bridge)</pre><h2>");
  assert.notEqual(findArticle(page(inside, schema)), undefined);
  assert.ok(!lines(page(inside, schema)).some((line) => line.includes("Imprint")));
  for (
    const beside of [
      "<pre>cross(bridge)</pre>",
      "<table><tr><th>Mark</th></tr><tr><td>A</td></tr></table>",
    ]
  ) {
    const read = lines(page(`${body}<div>${beside}</div>`, schema));
    assert.ok(read.some((line) => line.includes("Imprint")));
    assert.ok(read.some((line) => /cross\(bridge\)|Mark/.test(line)));
  }
});

Deno.test("readHtml() reads the page where hardly any text is found", () => {
  const short =
    `${shared}<div class="nav"><p>${sentence}</p></div><h1>Bridge</h1><div class="entry-content"><p>Gone.</p></div>`;
  assert.equal(findArticle(short), undefined);
  assert.ok(lines(short).includes("paragraph: Gone."));
});

Deno.test("findArticle() takes broken HTML, elements within each other by the thousand, blanks, and 5 MB", () => {
  const broken = page(
    `<div class="entry-content"><p>One: ${sentence.repeat(3)}<b><p>Two: ${
      sentence.repeat(3)
    }</i></div></span>`,
  );
  assert.match(findArticle(broken) ?? "", /One:[^]*Two:/);
  assert.equal(findArticle(page(`${"<b>".repeat(20_000)}deep`)), undefined);
  assert.ok(lines(page(`${"<b>".repeat(20_000)}deep`)).includes("paragraph: deep"));
  assert.equal(findArticle(`"@type":${" ".repeat(1_500_000)}`), undefined);
  const articleOf = (count: number) =>
    page(`<div class="entry-content">${paragraph("One").repeat(count)}</div>`);
  for (const [count, isWhole] of [[9_000, false], [26_000, true]] as const) {
    const large = articleOf(count);
    assert.equal(large.length > 5_000_000, isWhole);
    const read = lines(large);
    assert.equal(read.filter((line) => line.startsWith("paragraph: One:")).length, count);
    assert.equal(read.some((line) => line.includes("Imprint")), isWhole);
  }
});
