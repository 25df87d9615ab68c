import { useState } from "preact/hooks";
import { useLoaded } from "../load.ts";
import { Badge, Empty, Ready, Table, Text } from "../parts.tsx";
import { askJson } from "../server.ts";

export interface Reachability {
  readonly reachable: boolean;
  readonly error?: string;
}

const parts = { database: "Database", embedding: "Embedding", completion: "Answers", rerank: "Reranking" };
type Part = keyof typeof parts;

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
  readonly embedding_queue?: Readonly<Record<"waiting" | "oldest_seconds" | "set_aside", number>>;
}

type Stats = Named & Partial<Record<Part, Readonly<Record<"prompt_tokens" | "completion_tokens", number>>>>;

/** The pipelines that the caller may ask, with what is known of each. */
export function LookPipelines() {
  const [count, setCount] = useState(0);
  const useList = <T extends Named>(path: string) =>
    useLoaded(async (signal) => {
      const { pipelines = [] } = await askJson<{ pipelines?: readonly T[] }>(path, { signal });
      return new Map(pipelines.map((pipeline) => [pipeline.name, pipeline]));
    }, [count]);
  const list = useList<Named>("v1/pipelines");
  const health = useList<Health>("v1/health");
  const stats = useList<Stats>("v1/stats");
  return (
    <>
      <div class="row">
        <button type="button" onClick={() => setCount(count + 1)}>Look again</button>
      </div>
      <Ready of="the health, for up to 5 seconds" loaded={health}>{() => null}</Ready>
      <Ready of="the counts of tokens" loaded={stats}>{() => null}</Ready>
      <Ready of="the pipelines" loaded={list}>
        {(pipelines) => (
          <>
            {pipelines.size === 0 && <Empty title="There is no pipeline that you may ask." />}
            {[...pipelines.values()].map((pipeline) => (
              <PipelineCard
                key={pipeline.name}
                pipeline={pipeline}
                health={health.value?.get(pipeline.name)}
                stats={stats.value?.get(pipeline.name)}
              />
            ))}
          </>
        )}
      </Ready>
    </>
  );
}

function PipelineCard({ pipeline, health, stats }: {
  readonly pipeline: Named;
  readonly health: Health | undefined;
  readonly stats: Stats | undefined;
}) {
  const { name, description } = pipeline;
  const queue = health?.embedding_queue;
  const tables = pipeline.tables ?? health?.tables ?? stats?.tables;
  const known = (Object.keys(parts) as Part[]).filter((part) => health?.[part] ?? stats?.[part]);
  return (
    <section class="card" aria-label={name}>
      <div>
        <h2>
          <Text as="span" text={name} />
        </h2>
        <Text as="p" class="faint" text={description || "No description"} />
      </div>
      {known.length === 0 ? <p>The server tells no more of it.</p> : (
        <Table
          label={`Health and tokens of ${name}`}
          rows={known.map((part) => ({
            Part: parts[part],
            Health: health?.[part] ? <Reached {...health[part]} /> : "–",
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
          rows={tables.map(({ name, rows = "–", keyword_index, vector_index, ingested_at }) => ({
            Table: <Text as="span" text={name} />,
            Rows: rows,
            "Keyword index": indexText(keyword_index),
            "Vector index": indexText(vector_index),
            Ingested: ingested_at ? new Date(ingested_at).toLocaleString() : "–",
          }))}
        />
      )}
    </section>
  );
}

function Reached({ reachable, error = "" }: Reachability) {
  const text = reachable ? error ? "cannot answer" : "reachable" : "unreachable";
  return (
    <>
      <Badge isGood={reachable && error === ""} text={text} /> {error}
    </>
  );
}

function indexText(index: string | boolean = "–"): string {
  return typeof index === "string" ? index : index ? "yes" : "none";
}
