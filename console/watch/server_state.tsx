import { Failure, Loading, Shown, Table } from "../parts.tsx";
import { askJson } from "../server.ts";
import { useWatched } from "./watch_page.tsx";

interface Reachable {
  readonly reachable: boolean;
  readonly error?: string;
}

/** What `GET server` answers administrators. */
interface State {
  readonly ready: string;
  readonly processes: number;
  readonly databases: readonly { readonly name: string; readonly reachable?: boolean }[];
  readonly pipelines: readonly {
    readonly name: string;
    readonly embedding: Reachable;
    readonly completion: Reachable;
    readonly database: Reachable;
  }[];
  readonly pools: readonly {
    readonly database: string;
    readonly in_use: number;
    readonly idle: number;
    readonly opening: number;
    readonly waiting: number;
    readonly stuck: number;
  }[];
  readonly providers: readonly {
    readonly pipeline: string;
    readonly provider: string;
    readonly calls: number;
    readonly errors: number;
    readonly tokens: number;
  }[];
}

/** How the server is: what it reaches, its connections, and what its providers were asked. */
export function ServerState({ isLive }: { readonly isLive: boolean }) {
  const { latest, again, error } = useWatched((signal) => askJson<State>("server", { signal }), isLive);
  if (latest === undefined) {
    return error ? <Failure error={error} again={again} /> : <Loading of="the server's state" />;
  }
  const { ready, processes, databases, pipelines, pools, providers } = latest;
  return (
    <>
      {error && <Failure error={error} again={again} />}
      <p class="row">
        <Badge isGood={ready === "ready"} text={ready} />
        <span class="faint">{processes === 1 ? "one process" : `${processes} processes`}</span>
      </p>
      <Table
        label="What is reached"
        rows={[
          ...databases.map(({ name, reachable }) => ({
            What: (
              <>
                Database <Shown text={name} />
              </>
            ),
            State: <Badge isGood={reachable === true} text={reachText(reachable)} />,
          })),
          ...pipelines.flatMap(({ name, ...parts }) =>
            (["embedding", "completion", "database"] as const).map((part) => ({
              What: (
                <>
                  Pipeline <Shown text={name} />, {part}
                </>
              ),
              State: (
                <Badge
                  isGood={parts[part].reachable}
                  text={parts[part].error ?? reachText(parts[part].reachable)}
                />
              ),
            }))
          ),
        ]}
      />
      {pools.length > 0 && (
        <Table
          label="Connections"
          rows={pools.map(({ database, in_use, idle, opening, waiting, stuck }) => ({
            "Connections to": <Shown text={database} />,
            "In use": in_use,
            Idle: idle,
            Opening: opening,
            "Calls that wait": waiting,
            Stuck: stuck,
          }))}
        />
      )}
      {providers.length > 0 && (
        <Table
          label="Providers"
          rows={providers.map(({ provider, pipeline, calls, errors, tokens }) => ({
            Provider: provider,
            For: <Shown text={pipeline || "requests in words"} />,
            Calls: calls,
            Errors: errors,
            Tokens: tokens,
          }))}
        />
      )}
    </>
  );
}

function reachText(isReachable: boolean | undefined): string {
  if (isReachable === undefined) return "not asked yet";
  return isReachable ? "reachable" : "not reachable";
}

function Badge({ isGood, text }: { readonly isGood: boolean; readonly text: string }) {
  return <span class={`badge ${isGood ? "good" : "bad"}`}>{text}</span>;
}
