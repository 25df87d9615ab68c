import type { PageProps } from "../app.tsx";
import { type Loaded, useLoaded } from "../load.ts";
import { Empty, Ready, Shown, Table } from "../parts.tsx";
import { askJson } from "../server.ts";

interface Reachability {
  readonly reachable: boolean;
  readonly error?: string;
}

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

type Part = "database" | "embedding" | "completion" | "rerank";

/** What the lists of pipelines, of their health and of their tokens tell of each. */
interface Named {
  readonly name: string;
  readonly description?: string;
  /** Shown where the server tells it. */
  readonly tables?: readonly {
    readonly name: string;
    readonly rows?: number;
    /** Its kind, or whether there is one. */
    readonly keyword_index?: string | boolean;
    readonly vector_index?: string | boolean;
    /** ISO 8601. */
    readonly ingested_at?: string;
  }[];
}

interface Health extends Named, Partial<Record<Part, Reachability>> {
  readonly embedding_queue?: {
    readonly waiting: number;
    readonly oldest_seconds: number;
    readonly set_aside: number;
  };
}

type Stats = Named & Partial<Record<Part, Usage>>;

function useList<T extends Named>(path: string) {
  return useLoaded(async (signal) => (await askJson<{ pipelines?: T[] }>(path, { signal })).pipelines ?? [], [
    path,
  ]);
}

/** The pipelines that the caller may ask, with what is known of each. */
export function LookPipelines(_: PageProps) {
  const list = useList<Named>("v1/pipelines");
  const health = useList<Health>("v1/health");
  const stats = useList<Stats>("v1/stats");
  return (
    <div class="stack">
      <div class="row">
        <button type="button" onClick={() => [list, health, stats].forEach(({ again }) => again())}>
          Look again
        </button>
      </div>
      <Ready of="the health, for up to 5 seconds" loaded={health}>{noMore}</Ready>
      <Ready of="the counts of tokens" loaded={stats}>{noMore}</Ready>
      <Ready of="the pipelines" loaded={list}>
        {(pipelines) =>
          pipelines.length === 0
            ? <Empty title="There is no pipeline that you may ask." />
            : pipelines.map((pipeline) => (
              <PipelineCard
                key={pipeline.name}
                pipeline={pipeline}
                health={find(pipeline.name, health.state)}
                stats={find(pipeline.name, stats.state)}
              />
            ))}
      </Ready>
    </div>
  );
}

const noMore = () => null;

function find<T extends Named>(name: string, list: Loaded<T[]>) {
  return list.kind === "loaded" ? list.value.find((each) => each.name === name) : undefined;
}

const parts = Object.entries({
  database: "Database",
  embedding: "Embedding",
  completion: "Answers",
  rerank: "Reranking",
}) as [Part, string][];

function PipelineCard({ pipeline, health, stats }: {
  readonly pipeline: Named;
  readonly health: Health | undefined;
  readonly stats: Stats | undefined;
}) {
  const { name, description } = pipeline;
  const queue = health?.embedding_queue;
  const tables = pipeline.tables ?? health?.tables ?? stats?.tables;
  const known = parts.filter(([part]) => health?.[part] ?? stats?.[part]);
  return (
    <section class="card" aria-label={name}>
      <h2>
        <Shown text={name} />
      </h2>
      <p class="faint">
        <Shown text={description || "No description"} />
      </p>
      {known.length === 0 ? <p>The server tells no more of it.</p> : (
        <Table
          label={`Health and tokens of ${name}`}
          rows={known.map(([part, title]) => ({
            Part: title,
            Health: <Reached reachability={health?.[part]} />,
            "Tokens read": stats?.[part]?.prompt_tokens ?? "–",
            "Tokens written": stats?.[part]?.completion_tokens ?? "–",
          }))}
        />
      )}
      {queue && (
        <p>
          {queue.waiting} rows wait for their embedding
          {queue.waiting > 0 && `, the oldest for ${queue.oldest_seconds} s`}; {queue.set_aside}{" "}
          are set aside, since the provider refused them.
        </p>
      )}
      {tables && (
        <Table
          label={`Tables of ${name}`}
          rows={tables.map((table) => ({
            Table: <Shown text={table.name} />,
            Rows: table.rows ?? "–",
            "Keyword index": indexText(table.keyword_index),
            "Vector index": indexText(table.vector_index),
            Ingested: timeText(table.ingested_at),
          }))}
        />
      )}
    </section>
  );
}

function Reached({ reachability }: Readonly<{ reachability: Reachability | undefined }>) {
  if (reachability === undefined) return "–";
  const { reachable, error } = reachability;
  return (
    <>
      <span class={reachable && !error ? "badge good" : "badge bad"}>
        {reachable ? error ? "cannot answer" : "reachable" : "unreachable"}
      </span>{" "}
      {error}
    </>
  );
}

function indexText(index: string | boolean = "–"): string {
  return typeof index === "string" ? index : index ? "yes" : "none";
}

function timeText(at: string | undefined): string {
  return at === undefined ? "–" : new Date(at).toLocaleString();
}
