import { useState } from "preact/hooks";
import { useLoaded } from "../load.ts";
import { Badge, Empty, Ready, Table, Text } from "../parts.tsx";
import { askJson, type Reachability } from "../server.ts";

const parts = { database: "Database", embedding: "Embedding", completion: "Answers", rerank: "Reranking" };
type Part = keyof typeof parts;

// What `v1/pipelines`, `v1/health` and `v1/stats` tell of each, as `v1/openapi.json` has it.

interface Named {
  readonly name: string;
}

interface Pipeline extends Named {
  readonly description: string;
}

interface Health extends Named, Partial<Record<Part, Reachability>> {
  readonly tables?: readonly {
    readonly name: string;
    readonly rows?: number;
    readonly keyword_index: string | false;
    readonly vector_index: string | false;
    readonly ingested_at?: string;
  }[];
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
  const list = useList<Pipeline>("v1/pipelines");
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
  readonly pipeline: Pipeline;
  readonly health: Health | undefined;
  readonly stats: Stats | undefined;
}) {
  const { name, description } = pipeline;
  const { embedding_queue: queue, tables } = health ?? {};
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
            "Keyword index": keyword_index || "none",
            "Vector index": vector_index || "none",
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
