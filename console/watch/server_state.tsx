import { useWatched } from "../load.ts";
import { Badge, Ready, Shown, Table } from "../parts.tsx";
import { askJson, type Reachability } from "../server.ts";

/** What `GET server` answers administrators. */
interface State {
  readonly ready: string;
  readonly processes: number;
  readonly databases: readonly { readonly name: string; readonly reachable?: boolean }[];
  readonly pipelines: readonly {
    readonly name: string;
    readonly embedding: Reachability;
    readonly completion: Reachability;
    readonly database: Reachability;
  }[];
  readonly pools: readonly (
    & { readonly database: string }
    & Readonly<Record<"in_use" | "idle" | "opening" | "waiting" | "stuck", number>>
  )[];
  readonly providers: readonly (
    & Readonly<Record<"pipeline" | "provider", string>>
    & Readonly<Record<"calls" | "errors" | "tokens", number>>
  )[];
}

/** How the server is: what it reaches, its connections, and what its providers were asked. */
export function ServerState({ isLive }: { readonly isLive: boolean }) {
  const loaded = useWatched((signal) => askJson<State>("server", { signal }), isLive);
  return (
    <Ready of="the server's state" loaded={loaded}>
      {({ ready, processes, databases, pipelines, pools, providers }) => {
        const reached = [
          ...databases.map(({ name, reachable }) => ({
            what: `Database ${name}`,
            reachable,
            error: undefined,
          })),
          ...pipelines.flatMap(({ name, ...parts }) =>
            (["embedding", "completion", "database"] as const).map((part) => ({
              what: `Pipeline ${name}, ${part}`,
              reachable: parts[part].reachable,
              error: parts[part].error,
            }))
          ),
        ];
        return (
          <>
            <p class="row">
              <Badge isGood={ready === "ready"} text={ready} />
              <span class="faint">{processes === 1 ? "one process" : `${processes} processes`}</span>
            </p>
            <Table
              label="What is reached"
              rows={reached.map(({ what, reachable, error }) => ({
                What: <Shown text={what} />,
                State: (
                  <Badge
                    isGood={reachable === true && error === undefined}
                    text={error ?? reachText(reachable)}
                  />
                ),
              }))}
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
      }}
    </Ready>
  );
}

function reachText(isReachable: boolean | undefined): string {
  if (isReachable === undefined) return "not asked yet";
  return isReachable ? "reachable" : "not reachable";
}
