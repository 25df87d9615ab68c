import type { HealthReply } from "../../src/rag_server/api/rag_replies.ts";
import { useWatched } from "../load.ts";
import { Badge, Reached, Ready, Table } from "../parts.tsx";

/** What `GET server` answers administrators. */
interface State {
  readonly ready: string;
  readonly processes: number;
  readonly databases: readonly { readonly name: string; readonly reachable?: boolean }[];
  readonly pipelines: NonNullable<HealthReply["pipelines"]>;
  readonly pools: readonly (
    Record<"database", string> & Record<"in_use" | "idle" | "opening" | "waiting" | "stuck", number>
  )[];
  readonly providers: readonly (
    Record<"pipeline" | "provider", string> & Record<"calls" | "errors" | "tokens", number>
  )[];
}

/** How the server is: what it reaches, its connections, and what its providers were asked. */
export function ServerState({ isLive }: { readonly isLive: boolean }) {
  const loaded = useWatched<State>("server", isLive);
  return (
    <Ready of="the server's state" loaded={loaded}>
      {({ ready, processes, databases, pipelines, pools, providers }) => (
        <>
          <p class="row">
            <Badge isGood={ready === "ready"} text={ready} />
            <span class="faint">{processes === 1 ? "one process" : `${processes} processes`}</span>
          </p>
          <Table
            label="What is reached"
            rows={[
              ...databases.map(({ name, ...state }) => ({
                What: `Database ${name}`,
                State: <Reached {...state} />,
              })),
              ...pipelines.flatMap(({ name, embedding, completion, database }) =>
                Object.entries({ embedding, completion, database }).map(([part, state]) => ({
                  What: `Pipeline ${name}, ${part}`,
                  State: <Reached {...state} />,
                }))
              ),
            ]}
          />
          <Table
            label="Connections"
            rows={pools.map(({ database, in_use, idle, opening, waiting, stuck }) => ({
              "Connections to": database,
              "In use": in_use,
              Idle: idle,
              Opening: opening,
              "Calls that wait": waiting,
              Stuck: stuck,
            }))}
          />
          <Table
            label="Providers"
            rows={providers.map(({ provider, pipeline, calls, errors, tokens }) => ({
              Provider: provider,
              For: pipeline || "requests in words",
              Calls: calls,
              Errors: errors,
              Tokens: tokens,
            }))}
          />
        </>
      )}
    </Ready>
  );
}
