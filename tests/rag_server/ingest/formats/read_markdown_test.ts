import assert from "node:assert/strict";
import { readMarkdown } from "../../../../src/rag_server/ingest/formats/read_markdown.ts";

Deno.test("readMarkdown() takes the title from the front matter, which is no text", () => {
  const text = '---\ntags: [a, b]\ntitle: "Leave \\"2024\\""\ndraft: true\n---\n# Other\n\nText.\n';
  assert.deepEqual(readMarkdown(text, "leave"), {
    title: 'Leave "2024"',
    frontMatter: 'tags: [a, b]\ntitle: "Leave \\"2024\\""\ndraft: true',
    sections: [{ headings: ["Other"], blocks: [{ kind: "paragraph", text: "Text." }] }],
  });
});

Deno.test("readMarkdown() reads a large text in parts: code stays whole, and links know where they lead", () => {
  const prose = "Some words of a line.\n\n".repeat(30_000);
  const code = "let a;\n\n".repeat(70_000).trimEnd();
  const text =
    `See [the portal][p].\n\n${prose}\`\`\`\n${code}\n\`\`\`\n\n${prose}[The portal][p] again.\n\n` +
    "[p]: https://hr.example.com\n";
  const blocks = readMarkdown(text, "notes").sections.flatMap((section) => section.blocks);
  assert.equal(blocks.length, 60_003);
  assert.equal(blocks[0]?.text, "See the portal (https://hr.example.com).");
  assert.deepEqual(blocks[30_001], { kind: "code", text: code });
  assert.equal(blocks.at(-1)?.text, "The portal (https://hr.example.com) again.");
});

Deno.test("readMarkdown() leaves out what is struck out", () => {
  const { sections } = readMarkdown("It costs ~~100~~ 90 euros for ~5 days~ at most.", "notes");
  assert.equal(sections[0]?.blocks[0]?.text, "It costs 90 euros for 5 days at most.");
});

Deno.test("readMarkdown() takes a rule at the beginning for a rule", () => {
  const { title, sections } = readMarkdown("---\nJust text\n\n---\n\nMore", "notes");
  assert.equal(title, "notes");
  assert.deepEqual(sections.flatMap(({ blocks }) => blocks.map(({ text }) => text)), ["Just text", "More"]);
});

Deno.test("readMarkdown() gives headings as paths and blocks by kind, inline marks gone", () => {
  const text = `# Leave *policy* &amp; rules

Everyone gets **25 days**, see [the portal](https://hr.example.com/leave), [below](#more)
or <https://a.example>. \`a < b\` ![A map](map.png)<br>Next line.

## Carrying over

- first **item**
  - inner
    continued
- [x] done

3. three
4. four

> Quoted text
> on two lines

\`\`\`sql
SELECT 1;
  -- indented
\`\`\`

| Country | Days |
|:--------|-----:|
| France  | 25 \\| 26 |

### Deep

<div>Some <b>HTML</b></div>
<script>alert(1)</script>

# Second
`;
  assert.deepEqual(readMarkdown(text, "x"), {
    title: "Leave policy & rules",
    sections: [
      {
        headings: ["Leave policy & rules"],
        blocks: [{
          kind: "paragraph",
          text:
            "Everyone gets 25 days, see the portal (https://hr.example.com/leave), below or https://a.example. " +
            "a < b A map\nNext line.",
        }],
      },
      {
        headings: ["Leave policy & rules", "Carrying over"],
        blocks: [
          { kind: "list", text: "- first item\n  - inner continued\n- [x] done" },
          { kind: "list", text: "3. three\n4. four" },
          { kind: "quote", text: "Quoted text on two lines" },
          { kind: "code", text: "SELECT 1;\n  -- indented" },
          { kind: "table", text: "| Country | Days |\n| --- | --- |\n| France | 25 \\| 26 |" },
        ],
      },
      {
        headings: ["Leave policy & rules", "Carrying over", "Deep"],
        blocks: [{ kind: "paragraph", text: "Some HTML" }],
      },
      { headings: ["Second"], blocks: [] },
    ],
  });
});

Deno.test("readMarkdown() leaves out what PostgreSQL cannot store", () => {
  const { sections } = readMarkdown("a\0b \ud800 c\u00add e\u00a0f &#0;", "x");
  assert.equal(sections[0]?.blocks[0]?.text, "ab \ufffd cd e f \ufffd");
});

/** Headings, and the texts of blocks with their kinds, as they follow each other. */
function shown(markdown: string): string[] {
  return readMarkdown(markdown, "x").sections.flatMap(({ headings, blocks }) => [
    ...headings.slice(-1).map((heading) => `# ${heading}`),
    ...blocks.map(({ kind, text }) => `${kind}: ${text}`),
  ]);
}

Deno.test("readMarkdown() keeps what only looks like a tag", () => {
  const same = [
    "vector<int>, Map<String, List<Integer>>, std::vector<std::string>, Option<&'a str>, Box<P>, a < b > c",
    "postern <your-name> <path> or <object> and <select>, to the end",
    "class Box<T extends Comparable>, </never-begun>",
    "<your-name>",
  ];
  for (const text of same) assert.deepEqual(shown(text), [`paragraph: ${text}`]);
  assert.deepEqual(shown("# Use vector<int>\n\n- of <T>\n\n| a |\n|---|\n| <int> |"), [
    "# Use vector<int>",
    "list: - of <T>",
    "table: | a |\n| --- |\n| <int> |",
  ]);
  assert.deepEqual(
    shown(
      `<kbd>Ctrl</kbd>+<kbd>C</kbd>, H<sub>2</sub>O,<br/>\n<https://a.example/?b=1&c=2> <me@a.example> \`<int>\`
<Image src="x.png" /><Empty/> <a name="x">&lt;b&gt; &copy; &amp;lt; Fish & chips <!-- x -->end.

<Tabs>
<TabItem value="a">

In a tab.

</TabItem>
</Tabs>`,
    ),
    [
      "paragraph: Ctrl+C, H2O,\nhttps://a.example/?b=1&c=2 me@a.example <int>\n<b> © &lt; Fish & chips end.",
      "paragraph: In a tab.",
    ],
  );
});

Deno.test("readMarkdown() reads the HTML in it as a page's", () => {
  assert.deepEqual(
    shown(`<h1 align="center">
  <img src="logo.png" alt="Logo"><br>
  Project
</h1>

<table>
<tr><th>A</th><th>B</th></tr>
<tr><td>1</td><td><pre>x
  y</pre></td></tr>
</table>

<pre>
line 1
  line 2
</pre>

- item
  <pre>a
    b</pre>

<details>
<summary>More</summary>

Hidden *text*.

</details>`),
    [
      "# Project",
      "table: | A | B |\n| --- | --- |\n| 1 | x |\n|  |   y |",
      "code: \nline 1\n  line 2\n",
      "list: - item\n  a\n    b",
      "paragraph: More",
      "paragraph: Hidden text.",
    ],
  );
});

Deno.test("readMarkdown() keeps all text of HTML within a line or a cell", () => {
  const text = '| part |\n| --- |\n| <ul><li><a href="#x">one</a></li></ul> |\n\n' +
    'Press <button>Save</button> to <span class="sr-only">really</span> keep it.\n';
  assert.deepEqual(
    readMarkdown(text, "notes").sections.flatMap(({ blocks }) => blocks.map((block) => block.text)),
    ["| part |\n| --- |\n| one |", "Press to really keep it."],
  );
});

Deno.test("readMarkdown() leaves out names of headings and tables of contents, and keeps footnotes", () => {
  assert.deepEqual(
    shown(`- [Install](#install)
  - [On Linux](#linux)

## Install {#install}

Text[^1], see [below](#use) or [it](https://a.example#x).

- [Use](#use): how

## Use [¶](#use)

## Kramdown {: #k }

## Braces {a}

[^1]: https://a.example/note
[^long]: My note.`),
    [
      "# Install",
      "paragraph: Text[^1], see below or it (https://a.example#x).",
      "list: - Use: how",
      "# Use",
      "# Kramdown",
      "# Braces {a}",
      "paragraph: [^1]: https://a.example/note [^long]: My note.",
    ],
  );
});
