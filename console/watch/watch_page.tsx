import { useState } from "preact/hooks";
import type { RecentCall } from "../../src/calls/recent_calls.ts";
import type { UsageReply } from "../../src/rag_server/api/rag_replies.ts";
import type { PageProps } from "../app.tsx";
import { useWatched, watchedEveryMs } from "../load.ts";
import { Badge, Empty, Page, Ready, Table, Tabs } from "../parts.tsx";
import { goTo } from "../routes.ts";
import { ServerState } from "./server_state.tsx";

/** One's own calls name no caller. */
type ShownCall = Omit<RecentCall, "caller"> & Partial<RecentCall>;

/** One's own calls and limits; for administrators those of all callers, and how the server is. */
export function WatchPage({ session: { caller: { isAdministrator } }, rest: [tab] }: PageProps) {
  const [isLive, setLive] = useState(true);
  const actions = (
    <label class="row">
      <input type="checkbox" checked={isLive} onChange={() => setLive(!isLive)} />
      Look again every {watchedEveryMs / 1_000} s
    </label>
  );
  return (
    <Page title="Watch" intro="What was called, how long it took, and what is left." actions={actions}>
      <Tabs
        label="What to watch"
        current={tab}
        onChoose={(id) => goTo("watch", id)}
        tabs={[
          { id: "mine", title: "My calls", show: () => <OwnCalls isLive={isLive} /> },
          isAdministrator && { id: "all", title: "All callers", show: () => <Calls isLive={isLive} ofAll /> },
          isAdministrator && { id: "server", title: "Server", show: () => <ServerState isLive={isLive} /> },
        ]}
      />
    </Page>
  );
}

function OwnCalls({ isLive }: { readonly isLive: boolean }) {
  const { value } = useWatched<UsageReply>("usage", isLive);
  return (
    <>
      {value && value.limits.length + value.shared.length > 0 && <Limits {...value} />}
      <Calls isLive={isLive} ofAll={false} />
    </>
  );
}

function Limits({ limits, shared }: UsageReply) {
  return (
    <section class="card" aria-label="Limits">
      <h2>Limits</h2>
      <ul class="limits">
        {limits.map(({ limit, maximum, used, remaining, resets_at }) => (
          <li key={limit}>
            <label>
              <span class="row spread">
                <span>{limit.replaceAll("_", " ")}</span>
                <span class="faint">{remaining.toLocaleString()} of {maximum.toLocaleString()} left</span>
              </span>
              <meter min={0} max={maximum} value={used} high={maximum * 0.8}>{used}</meter>
            </label>
            {resets_at && <p class="hint">Anew at {new Date(resets_at).toLocaleString()}</p>}
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
  const loaded = useWatched<{ calls: ShownCall[] }>(ofAll ? "calls?of=all" : "calls", isLive);
  return (
    <Ready of="calls" loaded={loaded}>
      {({ calls }) =>
        calls.length === 0
          ? <Empty title="No calls yet">Ask something, or connect a client: its calls show up here.</Empty>
          : (
            <>
              <Table
                label="Recent calls"
                rows={calls.map(({ at, caller = "", name, about = "", result, rows, elapsedMs }) => ({
                  When: <time dateTime={at} title={at}>{new Date(at).toLocaleTimeString()}</time>,
                  ...(ofAll && { Who: caller }),
                  What: <span class="mono">{name || "(no such tool)"}</span>,
                  Where: about,
                  Result: <Badge isGood={result === "ok"} text={result} />,
                  Rows: rows,
                  Time: <span class="time">{timeText(elapsedMs)}</span>,
                }))}
              />
              <p class="hint">
                The latest calls that count, in this server's memory; never what was asked or answered.
              </p>
            </>
          )}
    </Ready>
  );
}

function timeText(ms: number): string {
  return ms < 1_000 ? `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
