import { useEffect, useState } from "preact/hooks";
import type { PageProps } from "../app.tsx";
import { useLoaded } from "../load.ts";
import { Empty, Failure, Loading, Page, Shown, Table, Tabs } from "../parts.tsx";
import { goTo } from "../routes.ts";
import { askJson } from "../server.ts";
import { ServerState } from "./server_state.tsx";

interface RecentCall {
  readonly at: string;
  readonly name: string;
  readonly of: "tool" | "question";
  readonly about?: string;
  readonly result: string;
  readonly elapsedMs: number;
  readonly rows?: number;
  readonly caller?: string;
}

interface Limit {
  readonly limit: string;
  readonly maximum: number;
  readonly used?: number;
  readonly remaining?: number;
  readonly resets_at?: string;
}

/** How often the page looks again. */
const everyMs = 5_000;

/** One's own calls and limits; for administrators those of all callers, and how the server is. */
export function WatchPage({ session: { caller, parts }, rest: [tab = "mine"] }: PageProps) {
  const [isLive, setLive] = useState(true);
  const tabs = [
    { id: "mine", title: "My calls" },
    ...(caller.isAdministrator
      ? [{ id: "all", title: "All callers" }, { id: "server", title: "Server" }]
      : []),
  ];
  const current = tabs.some(({ id }) => id === tab) ? tab : "mine";
  const actions = (
    <label class="row">
      <input
        type="checkbox"
        checked={isLive}
        onChange={({ currentTarget }) => setLive(currentTarget.checked)}
      />
      Look again every {everyMs / 1_000} s
    </label>
  );
  return (
    <Page title="Watch" intro="What was asked, how long it took, and what is left." actions={actions}>
      {tabs.length > 1 && (
        <Tabs
          label="What to watch"
          tabs={tabs}
          current={current}
          panelId="watched"
          onChoose={(id) => goTo("watch", id)}
        />
      )}
      <div id="watched" class="stack" role={tabs.length > 1 ? "tabpanel" : undefined} key={current}>
        {current === "mine" && <Limits isLive={isLive} hasRoutes={parts.documents} />}
        {current === "server"
          ? <ServerState isLive={isLive} />
          : <Calls isLive={isLive} ofAll={current === "all"} />}
      </div>
    </Page>
  );
}

/** Reads now and, while it is live and the page is to be seen, every few seconds; what it read last stays meanwhile. */
export function useWatched<T>(read: (signal: AbortSignal) => Promise<T>, isLive: boolean) {
  const { state, again } = useLoaded(read, []);
  const [latest, setLatest] = useState<T>();
  useEffect(() => {
    if (state.kind === "loaded") setLatest(() => state.value);
  }, [state]);
  useEffect(() => {
    if (!isLive || state.kind === "loading") return;
    const timer = setTimeout(() => document.hidden || again(), everyMs);
    return () => clearTimeout(timer);
  }, [isLive, state]);
  return { latest, again, error: state.kind === "failed" ? state.error : undefined };
}

function Limits({ isLive, hasRoutes }: { readonly isLive: boolean; readonly hasRoutes: boolean }) {
  const { latest } = useWatched(
    (signal) =>
      hasRoutes
        ? askJson<{ limits: Limit[]; shared: Limit[] }>("v1/usage", { signal })
        : Promise.resolve({ limits: [], shared: [] }),
    isLive,
  );
  const { limits = [], shared = [] } = latest ?? {};
  if (limits.length + shared.length === 0) return null;
  return (
    <section class="card" aria-label="Limits">
      <h2>Limits</h2>
      <ul class="limits">
        {limits.map(({ limit, maximum, used = 0, remaining = 0, resets_at }) => (
          <li key={limit}>
            <label>
              <span class="row spread">
                <span>{limit.replaceAll("_", " ")}</span>
                <span class="faint">{remaining.toLocaleString()} of {maximum.toLocaleString()} left</span>
              </span>
              <meter min={0} max={maximum} value={used} high={maximum * 0.8}>{used}</meter>
            </label>
            {resets_at && <p class="hint">Anew at {new Date(resets_at).toLocaleTimeString()}</p>}
          </li>
        ))}
        {shared.map(({ limit, maximum }) => (
          <li key={`shared ${limit}`} class="faint">
            {limit.replaceAll("_", " ")}: {maximum.toLocaleString()} for all callers together
          </li>
        ))}
      </ul>
    </section>
  );
}

function Calls({ isLive, ofAll }: { readonly isLive: boolean; readonly ofAll: boolean }) {
  const { latest, again, error } = useWatched(
    (signal) => askJson<{ calls: RecentCall[] }>(ofAll ? "calls?of=all" : "calls", { signal }),
    isLive,
  );
  if (latest === undefined) return error ? <Failure error={error} again={again} /> : <Loading of="calls" />;
  if (latest.calls.length === 0) {
    return <Empty title="No calls yet">Ask something, or connect a client: its calls show up here.</Empty>;
  }
  return (
    <>
      {error && <Failure error={error} again={again} />}
      <Table
        label="Recent calls"
        rows={latest.calls.map(({ at, caller, name, about = "", result, rows, elapsedMs }) => ({
          When: <time dateTime={at} title={at}>{new Date(at).toLocaleTimeString()}</time>,
          ...(ofAll && { Who: <Shown text={caller ?? ""} /> }),
          What: <span class="mono">{name || "(no such tool)"}</span>,
          Where: <Shown text={about} />,
          Result: <span class={`badge ${result === "ok" ? "good" : "bad"}`}>{result}</span>,
          Rows: rows,
          Time: <span class="time">{timeText(elapsedMs)}</span>,
        }))}
      />
      <p class="hint">
        The latest calls that count, in this server's memory; never what was asked or answered.
      </p>
    </>
  );
}

function timeText(ms: number): string {
  return ms < 1_000 ? `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
