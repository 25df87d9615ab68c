import assert from "node:assert/strict";
import fc from "fast-check";
import { loadParser } from "../../../src/postgres/guard/parser.ts";
import { readModelReply, withoutThinking } from "../../../src/tool_server/questions/read_model_reply.ts";

const parser = await loadParser();
const parses = (sql: string) => parser.parse(sql).ok;
const read = async (text: string, isCut = false) => {
  const reply = await readModelReply({ text, isCut }, parses);
  if (reply.kind === "statement") return reply.sql;
  return reply.kind === "question" ? `? ${reply.text}` : reply;
};
const none = { kind: "none" };
const empty = { kind: "empty" };

const count = "SELECT count(*) FROM orders";
const inText = "SELECT id FROM notes WHERE body LIKE '%```%'";

/** A name, the reply, and its statement, its question after "? ", or none. */
const examples: readonly (readonly [string, string, unknown])[] = [
  ["as asked for", "```sql\nSELECT count(*) FROM orders\n```", count],
  ["with its semicolon", "```sql\nSELECT count(*) FROM orders;\n```", count],
  ["with several", "```sql\nSELECT count(*) FROM orders ; ;\n\n```\n", count],
  ["postgresql as the language", "```postgresql\nSELECT count(*) FROM orders\n```", count],
  ["SQL as the language", "```SQL\nSELECT count(*) FROM orders\n```", count],
  ["no language", "```\nSELECT count(*) FROM orders\n```", count],
  [
    "a keyword where the language would be",
    "```\nSELECT\n  count(*)\nFROM orders\n```",
    "SELECT\n  count(*)\nFROM orders",
  ],
  ["all on one line", "```sql SELECT count(*) FROM orders```", count],
  [
    "line ends of Windows",
    "```sql\r\nSELECT count(*)\r\nFROM orders;\r\n```\r\n",
    "SELECT count(*)\r\nFROM orders",
  ],
  ["a longer fence", "````sql\nSELECT count(*) FROM orders\n````", count],
  ["a fence without its end", "Here it is:\n```sql\nSELECT count(*) FROM orders;", count],
  ["an indented fence", "1. This:\n\n   ```sql\n   SELECT count(*) FROM orders\n   ```", count],
  [
    "prose around",
    "To count the orders, use:\n\n```sql\nSELECT count(*) FROM orders;\n```\n\nThis counts **all** orders.",
    count,
  ],
  ["a comment first", "```sql\n-- all orders\nSELECT count(*) FROM orders\n```", `-- all orders\n${count}`],
  ["a block comment first", "```sql\n/* all; orders */ SELECT 1\n```", "/* all; orders */ SELECT 1"],
  ["in parentheses", "```sql\n(SELECT 1) UNION (SELECT 2);\n```", "(SELECT 1) UNION (SELECT 2)"],
  [
    "a WITH",
    "```sql\nWITH a AS (SELECT 1 AS x)\nSELECT x FROM a\n```",
    "WITH a AS (SELECT 1 AS x)\nSELECT x FROM a",
  ],
  [
    "a correction after a first try",
    "```sql\nSELECT total FROM orders\n```\nThe column is called amount, so:\n```sql\nSELECT amount FROM orders\n```",
    "SELECT amount FROM orders",
  ],
  [
    "rows shown after the statement",
    "```sql\nSELECT count(*) FROM orders\n```\nwhich gives\n```\n count\n-------\n    12\n```",
    count,
  ],
  [
    "an index advised after the statement",
    "```sql\nSELECT count(*) FROM orders\n```\nFaster with:\n```sql\nCREATE INDEX ON orders (id);\n```",
    count,
  ],
  ["a last block with a fault", "```sql\nSELECT 1\n```\nor\n```sql\nSELECT FROM WHERE\n```", "SELECT 1"],
  ["one block with a fault", "```sql\nSELECT count(* FROM orders\n```", "SELECT count(* FROM orders"],
  ["a write, for the guard to refuse", "```sql\nDELETE FROM orders\n```", "DELETE FROM orders"],
  ["two statements, for the guard to refuse", "```sql\nSELECT 1; SELECT 2;\n```", "SELECT 1; SELECT 2"],
  ["no fence at all", "SELECT count(*) FROM orders;", count],
  [
    "no fence, prose before",
    "Here is the query:\n\nSELECT count(*)\nFROM orders;",
    "SELECT count(*)\nFROM orders",
  ],
  ["no fence, prose after", "SELECT count(*) FROM orders;\n\nThis counts the orders.", count],
  ["no fence, no semicolon, prose after", "SELECT count(*) FROM orders\n\nThis counts the orders.", count],
  [
    "no fence, prose on the next line",
    "SELECT count(*) FROM orders;\nIt counts the orders; all of them.",
    count,
  ],
  ["no fence, prose on the same line", "SELECT count(*) FROM orders; This counts the orders.", count],
  ["after a label", "SQLQuery: SELECT count(*) FROM orders", count],
  ["after a bold label", "**SQL:** SELECT count(*) FROM orders;", count],
  ["in single marks", "`SELECT count(*) FROM orders`", count],
  ["no fence and a fault", "SELECT count(* FROM orders", "SELECT count(* FROM orders"],
  ["JSON", '{"sql": "SELECT count(*) FROM orders;"}', count],
  [
    "JSON with more in it",
    '{\n  "explanation": "counts",\n  "query": "SELECT count(*)\\nFROM orders"\n}',
    "SELECT count(*)\nFROM orders",
  ],
  ["JSON in a block", '```json\n{"sql": "SELECT count(*) FROM orders"}\n```', count],
  ["JSON in prose", 'Sure! {"sql": "SELECT count(*) FROM orders"} Enjoy.', count],
  ["JSON that asks", '{"sql": null, "question": "Which year?"}', "? Which year?"],
  [
    "JSON inside a statement",
    'SELECT id FROM logs WHERE body @> \'{"question": "x"}\'',
    'SELECT id FROM logs WHERE body @> \'{"question": "x"}\'',
  ],
  [
    "thoughts first",
    "<think>\nMaybe ```sql\nSELECT 0\n```?\n</think>\n\n```sql\nSELECT count(*) FROM orders\n```",
    count,
  ],
  [
    "thoughts whose opening tag is missing",
    "so I count them\n```sql\nSELECT 0\n```\n</think>\n```sql\nSELECT 1\n```",
    "SELECT 1",
  ],
  [
    "thoughts without an opening tag, then a question",
    "I ```sql\nSELECT 0\n```?\n</think>QUESTION: Which?",
    "? Which?",
  ],
  ["thoughts that never end", "<think>\nI could ```sql\nSELECT 0\n``` but", empty],
  ["thoughts after the statement", "```sql\nSELECT 1\n```\n<thinking>Was that right?", "SELECT 1"],
  ["a tag of thoughts in a text", "```sql\nSELECT '<think>' AS tag\n```", "SELECT '<think>' AS tag"],
  [
    "an end of thoughts in a text",
    "```sql\nSELECT id FROM logs WHERE reply LIKE '%</think>%'\n```",
    "SELECT id FROM logs WHERE reply LIKE '%</think>%'",
  ],
  ["a fence in a text", "```sql\nSELECT id FROM notes WHERE body LIKE '%```%'\n```", inText],
  ["a fence in a comment", "```sql\nSELECT 1 -- as in ```sql\n```", "SELECT 1 -- as in ```sql"],
  ["a fence in a statement on one line", "```sql SELECT '```' AS mark```", "SELECT '```' AS mark"],
  ["a fence in prose", "Use ```sql as the fence:\n```sql\nSELECT 1\n```", "SELECT 1"],
  ["a fence within a line", "Here it is: ```sql\nSELECT count(*) FROM orders\n```", count],
  ["an end within a line", "```sql\nSELECT count(*) FROM orders```", count],
  ["a block in one without its end", "```\nA draft:\n```sql\nSELECT 1\n```", "SELECT 1"],
  ["a question", "QUESTION: Which year do you mean?", "? Which year do you mean?"],
  ["a question in small letters", "question: which year?", "? which year?"],
  ["a question in bold", "**QUESTION:** Which year do you mean?", "? Which year do you mean?"],
  ["a question bold as a whole", "**QUESTION: Which year?**", "? Which year?"],
  ["a question as a heading", "### Question:\nWhich year?", "? Which year?"],
  ["a question on several lines", "QUESTION: Which sum?\n- net\n- gross", "? Which sum?\n- net\n- gross"],
  ["a question after prose", "The request is vague. QUESTION: Which year?", "? Which year?"],
  ["a question in a block", "```\nQUESTION: Which year?\n```", "? Which year?"],
  ["a question as a comment", "```sql\n-- QUESTION: Which year?\n```", "? Which year?"],
  ["a question without its mark", "Do you mean net or gross sales?", "? Do you mean net or gross sales?"],
  [
    "the request repeated first",
    "Question: how many orders?\n```sql\nSELECT count(*) FROM orders\n```",
    count,
  ],
  [
    "a statement, then a question",
    "```sql\nSELECT count(*) FROM orders\n```\nQUESTION: Or paid ones only?",
    count,
  ],
  [
    "a question and a fragment",
    "QUESTION: By which date?\n```sql\nWHERE o.paid_at >= …\n```",
    "? By which date?",
  ],
  [
    "a question and a faulty statement",
    "QUESTION: Which table?\n```sql\nSELECT x FROM <table>\n```",
    "? Which table?",
  ],
  [
    "a question that begins like a write",
    "Update: which year do you mean?",
    "? Update: which year do you mean?",
  ],
  ["a refusal", "I cannot help with that.", none],
  ["prose that begins like a statement", "With the given schema this cannot be answered.", none],
  ["another language", "```python\nprint('orders')\n```", none],
  ["an empty block", "```sql\n```", none],
  ["only a comment", "```sql\n-- nothing to do\n```", none],
  ["nothing", "", empty],
  ["blanks", " \n\t\n", empty],
  ["a mark without a question", "QUESTION:", none],
];

for (const [name, text, expected] of examples) {
  Deno.test(`a model's reply: ${name}`, async () => assert.deepEqual(await read(text), expected));
}

Deno.test("a model's thoughts are taken out wherever they are", () => {
  assert.equal(withoutThinking("a\n<think>b</think>c\n<think>d</think>e"), "a\nc\ne");
  assert.equal(withoutThinking("<think>a<think>b</think>c"), "c");
  assert.equal(withoutThinking("a <think> b"), "a <think> b");
});

const cut = { kind: "cut" };
const first = "```sql\nSELECT 1\n```\n";

/** A name, the beginning of a reply, and what is whole in it. */
const cutExamples: readonly (readonly [string, string, unknown])[] = [
  ["in a statement that parses", "```sql\nSELECT name FROM customers", cut],
  ["in a statement that does not", "```sql\nSELECT name FROM customers WHERE", cut],
  ["without a fence", "SELECT name FROM customers", cut],
  ["in JSON", '{"sql": "SELECT name FROM customers"}, {"', cut],
  ["in a question", "QUESTION: Which year do you mean", cut],
  ["in prose", "To count the orders", cut],
  ["in thoughts", "<think>\n```sql\nSELECT 1\n```\nor", { kind: "used_up" }],
  ["before it began", "", { kind: "used_up" }],
  ["after a blank line", "\n \n", { kind: "used_up" }],
  ["after the block", `${first}This counts`, "SELECT 1"],
  ["right after the fence", "```sql\nSELECT 1\n```", "SELECT 1"],
  ["after a block on one line", "```sql SELECT 1```\nThis", "SELECT 1"],
  ["in a second block", `${first}or\n\`\`\`sql\nSELECT 2`, "SELECT 1"],
  ["after a block with a fault", "```sql\nSELECT FROM WHERE\n```\nThis", "SELECT FROM WHERE"],
];

for (const [name, text, expected] of cutExamples) {
  Deno.test(`a reply that was cut ${name}`, async () => assert.deepEqual(await read(text, true), expected));
}

Deno.test("a reply without a word is empty, and one of thoughts alone too", async () => {
  for (const text of ["", " \n", "<think>hm</think>\n"]) assert.deepEqual(await read(text), empty);
});

Deno.test("a reply is read up to its 200,000th character, as one that was cut there", async () => {
  const filled = (length: number) => first + "x".repeat(length - first.length);
  assert.equal(await read(filled(200_000)), "SELECT 1");
  assert.equal(await read(filled(200_001)), "SELECT 1");
  assert.deepEqual(await read("x".repeat(200_000) + first), cut);
  assert.deepEqual(await read(`SELECT 1\n\n${"x".repeat(200_000)}`), cut);
});

const pieces = [
  "```",
  "```sql\n",
  "<think>",
  "</think>",
  "\n",
  ";",
  "SELECT 1",
  "QUESTION:",
  "{",
  '"sql":',
  "}",
  "--",
  "/*",
  "(",
  " ",
  "'",
  "$$",
  "with ",
  "?",
  "\u0000",
  "\ud800",
  "é",
];

Deno.test("no reply makes the reader throw, and a statement that it gives parses where one was there", async () => {
  const text = fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string()), { maxLength: 40 }).map((parts) =>
    parts.join("")
  );
  await fc.assert(fc.asyncProperty(text, fc.boolean(), async (reply, isStatement) => {
    for (const isCut of [false, true]) {
      const { kind } = await readModelReply({ text: reply, isCut }, () => isStatement);
      const neither = isCut ? ["cut", "used_up"] : ["none", "empty"];
      assert.ok(["statement", "question", ...neither].includes(kind));
    }
  }));
  await fc.assert(fc.asyncProperty(text, async (noise) => {
    const prose = noise.replace(/[`<{]/g, "").replace(/question/gi, "");
    assert.equal(await read(`${prose}\n\`\`\`sql\nSELECT 42\n\`\`\`\n`), "SELECT 42");
  }));
});

Deno.test("a long reply is read in a few tries, whatever is repeated in it", async () => {
  for (
    const piece of [
      ...pieces,
      "a",
      "SELECT 1;\n",
      "\n \n",
      "```x```",
      "question ",
      "- ",
      "sql: ",
      "\n-",
      "\n```",
    ]
  ) {
    let asked = 0;
    const reply = piece.repeat(Math.ceil(200_000 / piece.length));
    await readModelReply({ text: reply, isCut: false }, (sql) => {
      asked += sql.length;
      return false;
    });
    assert.ok(asked <= 50_000, `${JSON.stringify(piece)}: ${asked} characters were parsed`);
  }
});
