import assert from "node:assert/strict";
import { readMarkdown } from "../../../../src/rag_server/ingest/formats/read_markdown.ts";

Deno.test("readMarkdown() keeps the title of the front matter and drops the rest", () => {
  const text = '---\ntags: [a, b]\ntitle: "Leave \\"2024\\""\ndraft: true\n---\n# Other\n\nText.\n';
  assert.deepEqual(readMarkdown(text, "leave"), {
    title: 'Leave "2024"',
    sections: [{ headings: ["Other"], blocks: [{ kind: "paragraph", text: "Text." }] }],
  });
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
