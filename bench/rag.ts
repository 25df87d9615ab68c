/**
 * What the RAG server costs and finds, on corpora of several sizes, with providers on this machine that answer at once: a
 * question through the whole server beyond the provider's time, alone and from eight clients; its retrieval alone, the
 * server's memory, recall of the vector search under filters, the first event of a stream, and many streams at a time.
 *
 *   CRANFIELD=folder TEST_DATABASE_URL=postgres://… deno run -A bench/rag.ts [rows…]
 *
 * Without sizes: 11,000 and 114,000 rows. A million takes half an hour.
 */
import { createVendor, type Vendor } from "../tests/llm/wire/vendors/vendor.ts";
import { runSql } from "../tests/support/database.ts";
import { pipelineDatabase, type RunningRagServer, startRagServer } from "../tests/support/rag_server.ts";
import { corpusDimensions, readCranfield } from "./corpus.ts";
import { print, residentBytes } from "./measure.ts";
import { createRagCorpus, openRetrievers, type Retrievers } from "./rag_corpus.ts";
import { measureFirstEvent, measureManyStreams } from "./rag_streams.ts";
import { measureSearchLoad } from "./search_load.ts";
import { createWordVectors } from "./word_vectors.ts";

const folder = Deno.env.get("CRANFIELD");
if (folder === undefined) throw new Error("CRANFIELD is not set");
const cranfield = await readCranfield(folder);
const sizes = Deno.args.length === 0 ? [11_000, 114_000] : Deno.args.map(Number);
const embed = createWordVectors(corpusDimensions);
const { signal } = new AbortController();
const rounds = 3;
const questions = cranfield.questions.map(({ text }) => text);

/** Pieces with the number that the question ends with, so that one answer can be told from another. */
function answerOf({ question }: { readonly question: string }): string[] {
  const number = /number (\d+)$/.exec(question)?.[1] ?? "0";
  return Array.from({ length: 20 }, (_, piece) => `${number}.${piece} `);
}

interface Figures {
  readonly p50: number;
  readonly p99: number;
}

function figuresOf(times: readonly number[]): Figures {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** A corpus of one size, and all that works on it. */
interface Subject {
  readonly rows: number;
  readonly url: string;
  readonly running: RunningRagServer;
  readonly retrievers: Retrievers;
}

type Way = (subject: Subject, question: string) => Promise<unknown>;

const retrieveBy = (by: "hybrid" | "vectors" | "words"): Way => ({ retrievers }, question) =>
  retrievers[by].retrieve({ question, embedding: embed(question), limit: 10, hybrid: true, signal });

const ways: Readonly<Record<string, Way>> = {
  "a query through the server": ({ running }, query) => running.client.ask("docs", { query }),
  "its retrieval alone": retrieveBy("hybrid"),
  "the keyword search alone": retrieveBy("words"),
  "the vector search alone": retrieveBy("vectors"),
};

/** All sizes and ways in turn for each question, so that what else the machine does falls on all. */
async function measureQueries(subjects: readonly Subject[]): Promise<void> {
  const measured = subjects.flatMap((subject) =>
    Object.entries(ways).map(([name, run]) => ({ subject, name, run, times: new Array<number>() }))
  );
  // the first round warms the caches
  for (let round = 0; round <= rounds; round++) {
    for (const question of questions) {
      for (const { subject, run, times } of measured) {
        const ms = await timed(() => run(subject, question));
        if (round > 0) times.push(ms);
      }
    }
  }
  const found = measured.map(({ subject: { rows }, name, times }) => ({ rows, name, ...figuresOf(times) }));
  for (const { rows, name, p50, p99 } of found) {
    print(`${rows} rows: ${name}, p50 and p99`, `${p50.toFixed(1)} and ${p99.toFixed(1)} ms`);
    const before = found.findLast((other) => other.name === name && other.rows < rows);
    if (before !== undefined) {
      print(`${rows} rows: ${name}, p50 to that of ${before.rows} rows`, (p50 / before.p50).toFixed(2));
    }
  }
}

async function printMemory({ rows, running: { process } }: Subject): Promise<void> {
  const megabytes = (await residentBytes(process.pid)).now / 2 ** 20;
  print(`${rows} rows: the server's memory after all queries`, `${megabytes.toFixed(0)} MB`);
}

async function measureRecall({ rows, url, retrievers: { vectors } }: Subject): Promise<void> {
  const filters = { "all rows": undefined, "50 %": "c2", "5 %": "c20", "0.1 %": "c1000" };
  for (const [name, category] of Object.entries(filters)) {
    const shares: number[] = [];
    const times: number[] = [];
    for (const question of questions.slice(0, 50)) {
      const embedding = embed(question);
      let found: readonly { readonly id?: string }[] = [];
      times.push(
        await timed(async () => {
          found = await vectors.retrieve({
            question,
            embedding,
            limit: 10,
            hybrid: false,
            signal,
            ...(category !== undefined &&
              {
                filter: {
                  conditions: [{ column: "category", operator: "=", value: category }],
                  logic: "AND",
                },
              }),
          });
        }),
      );
      const exact = await exactIds(url, embedding, category);
      shares.push(exact.filter((id) => found.some((one) => one.id === id)).length / exact.length);
    }
    const recall = shares.reduce((sum, share) => sum + share, 0) / shares.length;
    print(
      `${rows} rows: recall@10 of the vector search, ${name}`,
      `${recall.toFixed(3)} (aim: 0.95), ${figuresOf(times).p50.toFixed(1)} ms`,
    );
  }
}

async function exactIds(url: string, embedding: Float32Array, category = ""): Promise<string[]> {
  const rows = await runSql(
    url,
    `SET enable_indexscan = off; SELECT id FROM documents WHERE category = '${category}' OR '${category}' = ''
      ORDER BY embedding <=> '[${embedding.join(",")}]' LIMIT 10`,
  );
  return rows.map(([id]) => String(id));
}

async function startServer(database: string, vendor: Vendor): Promise<RunningRagServer> {
  const table = { table: "documents", text_column: "body", vector_column: "embedding", id_column: "id" };
  return await startRagServer({
    pipelines: [{
      name: "docs",
      database: pipelineDatabase({ name: database }),
      tables: [table],
      embedding_llm: { provider: "openai", model: "e", base_url: vendor.url },
      rag_llm: { provider: "openai", model: "m", base_url: vendor.url },
    }],
  });
}

await using stack = new AsyncDisposableStack();
const vendor = stack.use(createVendor("openai", { answer: answerOf, embed: (text) => [...embed(text)] }));
const subjects: Subject[] = [];
for (const rows of sizes) {
  const database = stack.use(await createRagCorpus({ rows, cranfield, embed }));
  const retrievers = stack.use(await openRetrievers(database.url));
  const running = stack.use(await startServer(database.name, vendor));
  subjects.push({ rows, url: database.url, running, retrievers });
}
await measureSearchLoad({ subjects, vendor, questions });
await measureQueries(subjects);
for (const subject of subjects) await printMemory(subject);
for (const subject of subjects) await measureRecall(subject);
const [first] = subjects;
if (first !== undefined) {
  const retrieve = (question: string) => retrieveBy("hybrid")(first, question);
  await measureFirstEvent({ running: first.running, vendor, retrieve, questions });
  await measureManyStreams({ running: first.running, questions });
}
