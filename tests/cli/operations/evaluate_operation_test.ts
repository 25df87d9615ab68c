import assert from "node:assert/strict";
import { evaluateRetrieval, type EvaluationInput } from "../../../src/cli/operations/evaluate_operation.ts";
import type { AnswerFigures } from "../../../src/rag_server/evaluate/evaluate_answers.ts";
import type { Evaluation } from "../../../src/rag_server/evaluate/evaluate.ts";

const latencyMs = { p50: 1.234, p95: 20, p99: 30.05 };
const evaluation: Evaluation = {
  queries: 225,
  unjudgedQueries: 0,
  searches: [
    { search: "keyword", ndcgAt10: 0.36541, recallAt10: 0.4, recallAt100: 0.7, mrr: 0.5, latencyMs },
    { search: "hybrid", ndcgAt10: 0.38, recallAt10: 0.42, recallAt100: 0.75, mrr: 0.55, latencyMs },
  ],
  difference: {
    search: "hybrid",
    against: "keyword",
    mean: 0.01459,
    interval: { low: -0.002, high: 0.0312 },
  },
  weighed: {
    weights: [{ vectorWeight: 0, ndcgAt10: 0.36541 }, { vectorWeight: 0.15, ndcgAt10: 0.39 }, {
      vectorWeight: 0.5,
      ndcgAt10: 0.38,
    }],
    best: {
      vectorWeight: 0.15,
      ndcgAt10: 0.39,
      configured: 0.5,
      difference: { mean: 0.01, interval: { low: 0.001, high: 0.02 } },
    },
  },
};
const { weighed } = evaluation;
assert.ok(weighed);

const answers: AnswerFigures = {
  answered: { part: 19, whole: 20 },
  refused: { part: 4, whole: 5 },
  relevant: { part: 21, whole: 25 },
  verified: { part: 30, whole: 33 },
};

async function run(changes: Partial<Evaluation & { answers: AnswerFigures }>, json = false) {
  const folder = await Deno.makeTempDir();
  try {
    const [queriesFile, qrelsFile] = [`${folder}/queries.jsonl`, `${folder}/qrels.tsv`];
    await Deno.writeTextFile(queriesFile, '{"id": 1, "text": "what is lift"}\n');
    await Deno.writeTextFile(qrelsFile, "query_id\tdocument_id\tgain\n1\td7\t2\n");
    const lines: string[] = [];
    const inputs: EvaluationInput[] = [];
    await evaluateRetrieval({ queriesFile, qrelsFile, json }, (input) => {
      inputs.push(input);
      return Promise.resolve({ ...evaluation, ...changes });
    }, (line) => lines.push(line));
    return { lines, inputs };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("-evaluate reads the files and prints a table", async () => {
  const { lines, inputs } = await run({});
  assert.deepEqual(inputs, [{
    queries: [{ id: "1", text: "what is lift" }],
    qrels: new Map([["1", new Map([["d7", 2]])]]),
  }]);
  assert.deepEqual(lines, [
    "225 questions",
    "",
    "SEARCH   NDCG@10  RECALL@10  RECALL@100  MRR     P50 MS  P95 MS  P99 MS",
    "keyword  0.3654   0.4000     0.7000      0.5000  1.2     20.0    30.1",
    "hybrid   0.3800   0.4200     0.7500      0.5500  1.2     20.0    30.1",
    "",
    "Times measure one of the server's searches at a time, without embedding the question.",
    "hybrid against keyword: nDCG@10 +0.0146 (95 % interval -0.0020 to +0.0312): that may be chance.",
    "For these questions vector_weight 0.15 is best: nDCG@10 0.3900, +0.0100 against 0.5 " +
    "(95 % interval +0.0010 to +0.0200): it is better, but perhaps a little less so for other questions.",
  ]);
});

Deno.test("-evaluate says what a difference means, what was left out and what looks wrong", async () => {
  const interval = { low: 0.01, high: 0.03 };
  const difference = { search: "hybrid", against: "vector", mean: 0.02, interval } as const;
  const unweighed = { weighed: { ...weighed, best: { ...weighed.best, ndcgAt10: 0 } } };
  const better = await run({ difference, ...unweighed, unjudgedQueries: 3 });
  assert.equal(better.lines[0], "225 questions; 3 without a relevant document were left out");
  assert.equal(
    better.lines.at(-1),
    "hybrid against vector: nDCG@10 +0.0200 (95 % interval +0.0100 to +0.0300): it is better.",
  );
  const worse = await run({
    ...unweighed,
    difference: { ...difference, mean: -0.02, interval: { low: -0.03, high: -0.01 } },
  });
  assert.ok(worse.lines.at(-1)?.endsWith("(95 % interval -0.0300 to -0.0100): it is worse."));
  const nothing = {
    search: "vector",
    ndcgAt10: 0,
    recallAt10: 0,
    recallAt100: 0,
    mrr: 0,
    latencyMs,
  } as const;
  const strange = await run({ searches: [nothing], ...unweighed });
  assert.equal(
    strange.lines.at(-1),
    "No search found a judged document: check that the judgements name documents by the ids in the tables.",
  );
});

Deno.test("-evaluate names judged documents that are not in the tables", async () => {
  for (
    const [missing, line] of [
      [["d7"], `1 judged document is not in the pipeline's tables: "d7".`],
      [["d7", "d8"], `2 judged documents are not in the pipeline's tables: "d7", "d8".`],
      [["1", "2", "3", "4"], `4 judged documents are not in the pipeline's tables: such as "1", "2", "3".`],
    ] as const
  ) {
    assert.equal((await run({ missing })).lines.at(-1), line);
    assert.deepEqual(JSON.parse((await run({ missing }, true)).lines.join("\n")).missing_documents, missing);
  }
});

Deno.test("-evaluate says of a few questions that they are too few, and recommends nothing by chance", async () => {
  const { best } = weighed;
  const few = {
    queries: 1,
    difference: { search: "hybrid", against: "keyword", mean: 0.3049 } as const,
    weighed: { ...weighed, best: { ...best, difference: { mean: 0.01 } } },
  };
  assert.deepEqual((await run(few)).lines.toSpliced(1, 6), [
    "1 question",
    "hybrid against keyword: nDCG@10 +0.3049.",
    "For these questions vector_weight 0.15 is best: nDCG@10 0.3900, +0.0100 against 0.5.",
    "These questions are too few to tell a difference from chance: use at least 20.",
  ]);
  const json = JSON.parse((await run(few, true)).lines.join("\n"));
  assert.deepEqual([json.difference.interval, json.best_weight.interval], [null, null]);
  const chance = { ...best, difference: { mean: 0.01, interval: { low: -0.01, high: 0.02 } } };
  assert.match(
    (await run({ weighed: { ...weighed, best: chance } })).lines.at(-1) ?? "",
    /: that may be chance\.$/,
  );
  const own = { ...best, configured: 0.15 };
  assert.equal(
    (await run({ weighed: { ...weighed, best: own } })).lines.at(-1),
    "For these questions vector_weight 0.15 is best: nDCG@10 0.3900, and the configuration has it already.",
  );
});

Deno.test("-evaluate -json prints one object", async () => {
  const { lines } = await run({}, true);
  const keyword = {
    search: "keyword",
    ndcg_at_10: 0.36541,
    recall_at_10: 0.4,
    recall_at_100: 0.7,
    mrr: 0.5,
    latency_ms: { p50: 1.234, p95: 20, p99: 30.05 },
  };
  const hybrid = {
    ...keyword,
    search: "hybrid",
    ndcg_at_10: 0.38,
    recall_at_10: 0.42,
    recall_at_100: 0.75,
    mrr: 0.55,
  };
  assert.deepEqual(JSON.parse(lines.join("\n")), {
    queries: 225,
    unjudged_queries: 0,
    missing_documents: [],
    searches: [keyword, hybrid],
    difference: {
      search: "hybrid",
      against: "keyword",
      ndcg_at_10: 0.01459,
      interval: { confidence: 0.95, low: -0.002, high: 0.0312 },
    },
    weights: [
      { vector_weight: 0, ndcg_at_10: 0.36541 },
      { vector_weight: 0.15, ndcg_at_10: 0.39 },
      { vector_weight: 0.5, ndcg_at_10: 0.38 },
    ],
    best_weight: {
      vector_weight: 0.15,
      against: 0.5,
      ndcg_at_10: 0.01,
      interval: { confidence: 0.95, low: 0.001, high: 0.02 },
    },
  });
});

Deno.test("-evaluate -answers tells what the answers are worth", async () => {
  assert.deepEqual((await run({ answers })).lines.slice(-3), [
    "",
    "Answers: 19 of 20 questions with an answer got one, 4 of 5 without one got none;",
    "21 of 25 cited documents are judged relevant, 30 of 33 claims are verified.",
  ]);
  assert.deepEqual(JSON.parse((await run({ answers }, true)).lines.join("\n")).answers, answers);
});

Deno.test("-evaluate names a file that is not there", async () => {
  const settings = { queriesFile: "/nowhere/queries.jsonl", qrelsFile: "/nowhere/qrels.tsv", json: false };
  await assert.rejects(evaluateRetrieval(settings, () => Promise.resolve(evaluation), () => {}), {
    code: "not_found",
    message: "Cannot read /nowhere/queries.jsonl: there is no such file",
  });
});
