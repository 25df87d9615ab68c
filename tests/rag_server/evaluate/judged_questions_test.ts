import assert from "node:assert/strict";
import { parseQrels, parseQueries } from "../../../src/rag_server/evaluate/judged_questions.ts";

Deno.test("parseQueries() reads JSON lines and tabbed lines", () => {
  const queries = [{ id: "1", text: "what is lift" }, { id: "q2", text: "and drag?" }];
  assert.deepEqual(
    parseQueries('\ufeff{"id":1,"text":"what is lift","x":0}\r\n\n{"_id":"q2","text":"and drag?"}\n', "q"),
    queries,
  );
  assert.deepEqual(parseQueries("1\twhat is lift\nq2\tand drag?", "q"), queries);
  assert.deepEqual(
    parseQueries('{"id":1,"text":"a","answerable":false}\n{"id":2,"text":"b","answerable":true}', "q"),
    [{ id: "1", text: "a", hasNoAnswer: true }, { id: "2", text: "b" }],
  );
  assert.deepEqual(parseQueries("query_id\ttext\n1\twhat is lift\nq2\tand drag?\n", "q"), queries);
});

Deno.test("parseQueries() names the line that it cannot read", () => {
  const faults = [
    ['{"id":"1","text":"a"}\n\n{"id":"2"}', 'Cannot read q.jsonl: line 3: expected {"id": "…", "text": "…"}'],
    ['{"id":"1","text":"a"}\n{"id":', 'Cannot read q.jsonl: line 2: expected {"id": "…", "text": "…"}'],
    ['{"id":"","text":"a"}', 'Cannot read q.jsonl: line 1: expected {"id": "…", "text": "…"}'],
    [
      '{"id":"1","text":"a"}\n{"id":1,"text":"b"}',
      'Cannot read q.jsonl: line 2: there is a question "1" already',
    ],
    ["1\ta\nsecond", "Cannot read q.jsonl: line 2: expected an id, a tab and a question"],
    [" \n", "Cannot read q.jsonl: it has no question"],
  ] as const;
  for (const [text, message] of faults) {
    assert.throws(() => parseQueries(text, "q.jsonl"), { name: "AppError", code: "invalid", message });
  }
});

Deno.test("parseQrels() reads tabbed lines, with or without a header, and TREC's four columns", () => {
  const qrels = new Map([["1", new Map([["d1", 4], ["d 2", 0]])], ["2", new Map([["d1", 1]])]]);
  const lines = "1\td1\t4\n1\td 2\t0\n2\td1\t1\n2\td1\t1\n";
  assert.deepEqual(parseQrels(lines, "f"), qrels);
  assert.deepEqual(parseQrels(`query_id\tdocument_id\tgain\r\n${lines}`, "f"), qrels);
  assert.deepEqual(
    parseQrels("1 0 d1 2\n1 Q0   d2 -1", "f"),
    new Map([["1", new Map([["d1", 2], ["d2", -1]])]]),
  );
});

Deno.test("parseQrels() names the line that it cannot read", () => {
  const expected = "expected a question's id, a document's id and a gain";
  const faults = [
    ["1\td1\t4\n1\td2", `Cannot read f.tsv: line 2: ${expected}`],
    ["1\td1\tbest", `Cannot read f.tsv: line 1: ${expected}`],
    ["1\td1\t4\nquery\tdocument\tgain", `Cannot read f.tsv: line 2: ${expected}`],
    ["1\td1\t4\n1\t\t4", `Cannot read f.tsv: line 2: ${expected}`],
    [
      "1\td1\t4\n1\td1\t2",
      'Cannot read f.tsv: line 2: document "d1" of question "1" has another gain on an earlier line',
    ],
    ["query_id\tdocument_id\tgain\n", "Cannot read f.tsv: it has no judgement"],
  ] as const;
  for (const [text, message] of faults) {
    assert.throws(() => parseQrels(text, "f.tsv"), { name: "AppError", code: "invalid", message });
  }
});
