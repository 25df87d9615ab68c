import { useState } from "preact/hooks";
import type { HealthReply, PipelinesReply, StatsReply } from "../../src/rag_server/api/rag_replies.ts";
import { useLoaded } from "../load.ts";
import { Button, Empty, Reached, Ready, Table, Text } from "../parts.tsx";
import { askJson, type Reachability } from "../server.ts";

const parts = { database: "Database", embedding: "Embedding", completion: "Answers", rerank: "Reranking" };
type Part = keyof typeof parts;

interface Named {
  readonly name: string;
}

type Pipeline = PipelinesReply["pipelines"][number];
type Health = NonNullable<HealthReply["pipelines"]>[number] & Partial<Record<Part, Reachability>>;
type Stats = Named & Partial<Record<Part, StatsReply["pipelines"][number]["embedding"]>>;

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
        <Button onClick={() => setCount(count + 1)}>Look again</Button>
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

function PipelineCard({ pipeline: { name, description }, health, stats }: {
  readonly pipeline: Pipeline;
  readonly health: Health | undefined;
  readonly stats: Stats | undefined;
}) {
  const { embedding_queue: queue, tables = [] } = health ?? {};
  const known = (Object.keys(parts) as Part[]).filter((part) => health?.[part] ?? stats?.[part]);
  return (
    <section class="card" aria-label={name}>
      <div>
        <Text as="h2" text={name} />
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
      <Table
        label={`Tables of ${name}`}
        rows={tables.map(({ name, rows = "–", keyword_index, vector_index, ingested_at }) => ({
          Table: name,
          Rows: rows,
          "Keyword index": keyword_index || "none",
          "Vector index": vector_index || "none",
          Ingested: ingested_at ? new Date(ingested_at).toLocaleString() : "–",
        }))}
      />
    </section>
  );
}
