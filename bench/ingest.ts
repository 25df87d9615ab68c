/**
 * What `-ingest` takes, with vectors that are hashed on this machine: of a folder of documents, or of one file each of
 * several formats and sizes.
 *
 *   TEST_DATABASE_URL=postgres://… deno task bench:ingest FOLDER
 *   TEST_DATABASE_URL=postgres://… deno task bench:ingest text,csv 1,5,26
 */
import { createConfigFolder } from "../tests/support/configured_server.ts";
import { createTestDatabase } from "../tests/support/database.ts";
import { configText, pipelineDatabase } from "../tests/support/rag_server.ts";
import { command } from "../tests/support/server_process.ts";
import { cpuMs, printTable, residentBytes } from "./measure.ts";
import { createRandom } from "./random.ts";

type Words = (count: number) => string;

/** By format, the suffix of a file, and a part of it of some hundred characters. */
const formats: Readonly<
  Record<string, readonly [suffix: string, part: (words: Words, at: number) => string]>
> = {
  "text": ["txt", (words) => `${words(12)}. ${words(20)}. ${words(9)}.\n${words(14)}.\n\n`],
  "paragraph": ["txt", (words) => `${words(12)}. ${words(20)}. ${words(9)}.\n`],
  "line": ["txt", (words) => `${words(12)}. ${words(20)}, `],
  "letters": ["txt", (words) => words(40).replaceAll(" ", "")],
  "log": ["log", (words, at) => `2026-01-01 00:00:00 INFO ${at} ${words(12)}\n`],
  "markdown": [
    "md",
    (words, at) =>
      `${at % 8 === 0 ? `## ${words(4)}\n\n` : ""}${words(20)}. **${words(3)}** ${words(20)}.\n\n- ${
        words(5)
      }\n\n`,
  ],
  "csv": ["csv", (words, at) => `${at},${words(2)},"${words(12)}",${words(1)}\n`],
  "jsonl": ["jsonl", (words, at) => `${JSON.stringify({ id: at, title: words(3), body: words(40) })}\n`],
  "html": [
    "html",
    (words, at) =>
      `${at % 8 === 0 ? `<h2>${words(4)}</h2>` : ""}<p>${words(20)}. <b>${words(3)}</b> ${words(20)}.</p>\n`,
  ],
};

const [given = "", sizes] = Deno.args;
const rows: string[][] = [];
if (sizes === undefined) rows.push(await measure(given, given));
else {
  for (const format of given.split(",")) {
    for (const size of sizes.split(",")) rows.push(await measureFile(format, Number(size)));
  }
}
printTable(["what", "s", "CPU, s", "PostgreSQL's CPU, s", "peak, MB", "chunks", "not read"], rows);

async function measureFile(format: string, megabytes: number): Promise<string[]> {
  const [suffix, part] = formats[format] ?? [];
  if (part === undefined) throw new Error(`no format "${format}"`);
  const random = createRandom(1);
  const word = () => Math.floor(random() * 36 ** (2 + random() * 4)).toString(36);
  const words: Words = (count) => Array.from({ length: count }, word).join(" ");
  const parts: string[] = [];
  for (let length = 0; length < megabytes * 2 ** 20; length += parts.at(-1)?.length ?? 0) {
    parts.push(part(words, parts.length));
  }
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/a.${suffix}`, parts.join(""));
    return await measure(folder, `${format}, ${megabytes} MB`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function measure(path: string, name: string): Promise<string[]> {
  await using database = await createTestDatabase();
  await database.query("CREATE EXTENSION vector");
  await using folder = await createConfigFolder(configText({
    api_keys: {},
    pipelines: [{
      name: "docs",
      database: pipelineDatabase({ name: database.name }),
      tables: [{ table: "documents", text_column: "body", vector_column: "embedding" }],
      embedding_llm: { provider: "local" },
      rag_llm: { provider: "local" },
    }],
  }));
  const args = ["-config", folder.configFile, "-ingest", "docs", path, "-db-user", "postgres", "-json"];
  const start = performance.now();
  const run = command(args, { stdout: "piped", stderr: "inherit" }).spawn();
  const seen = { cpu: 0, peak: 0, backends: 0 };
  const look = async () => {
    const ids = await database.query(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    const backends = await Promise.all(ids.map(([id]) => cpuMs(Number(id)).catch(() => 0)));
    seen.backends = Math.max(seen.backends, backends.reduce((sum, each) => sum + each, 0));
    seen.cpu = await cpuMs(run.pid);
    seen.peak = (await residentBytes(run.pid)).peak || seen.peak;
  };
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      await look().catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  const summary = JSON.parse(new TextDecoder().decode((await run.output()).stdout) || "{}");
  const seconds = (performance.now() - start) / 1000;
  isOver = true;
  await watching;
  const [indexes] = await database.query(
    "SELECT count(*) FROM pg_indexes WHERE tablename = 'documents' AND indexdef LIKE '%hnsw%'",
  );
  if (summary.chunks_written > 0 && Number(indexes?.[0]) !== 1) {
    throw new Error("the vector index is missing");
  }
  const reasons = [...summary.failed ?? [], ...summary.skipped ?? []].map(({ reason }) => reason);
  return [
    name,
    seconds.toFixed(1),
    (seen.cpu / 1000).toFixed(1),
    (seen.backends / 1000).toFixed(1),
    (seen.peak / 1e6).toFixed(0),
    String(summary.chunks_written),
    reasons.length > 3 ? String(reasons.length) : reasons.join("; "),
  ];
}
