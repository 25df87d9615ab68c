import { useEffect, useMemo, useState } from "preact/hooks";
import type { PageProps } from "../app.tsx";
import { type Catalog, createCatalog, readDatabases } from "../catalog.ts";
import { useLoaded, useRun } from "../load.ts";
import { Busy, Button, Choice, Empty, Failure, Text } from "../parts.tsx";
import { hrefOf } from "../routes.ts";
import { type Caller, callTool } from "../server.ts";
import { AskExamples, forPeople } from "./ask_examples.tsx";
import { errorPosition } from "./error_position.ts";
import { QueryEditor } from "./query_editor.tsx";
import { mostRows, type QueryReply, type RowsAnswer, RowsResult } from "./rows_result.tsx";

type Outcome =
  | { readonly kind: "none" | "running" | "stopped" }
  | { readonly kind: "failed"; readonly asked: string; readonly error: Error }
  | { readonly kind: "question"; readonly text: string }
  | { readonly kind: "rows"; readonly answer: RowsAnswer; readonly moreError?: Error | undefined };

/** What is kept of a caller while other pages are looked at. */
interface Kept {
  readonly text: string;
  /** Undefined for the usual one. */
  readonly chosen: string | undefined;
  readonly outcome: Outcome;
  /** The newest first. */
  readonly history: readonly Pick<Kept, "text" | "chosen">[];
  readonly catalogs: Map<string, Catalog>;
}

const kept = new WeakMap<Caller, Kept>();
const mostHistory = 50;
/** The most that the tool gives at once. */
const rowsAtOnce = 1_000;

const nothing = { text: "", chosen: undefined, outcome: { kind: "none" }, history: [] } as const;

export function AskData({ session: { caller, parts }, rest: [, routeDatabase, routeText] }: PageProps) {
  const [state, setState] = useState((): Kept => kept.get(caller) ?? { ...nothing, catalogs: new Map() });
  const { text, chosen, outcome, history, catalogs } = state;
  useEffect(() => {
    // leaving the page stops what runs
    kept.set(caller, isAsking ? { ...state, outcome: { kind: "stopped" } } : state);
  }, [caller, state]);
  const change = (part: Partial<Kept>) => setState((before) => ({ ...before, ...part }));
  /** What a person changes, the address does not say any more: coming back to it, what was typed stays. */
  function edit(part: Pick<Partial<Kept>, "text" | "chosen">): void {
    change(part);
    const { text = routeText, chosen = routeDatabase } = part;
    const isOfRoute = text === routeText && chosen === routeDatabase;
    if (routeText !== undefined && !isOfRoute) location.replace(hrefOf("ask", "data"));
  }
  const putText = (text: string) => edit({ text });
  const { run, stop, isRunning } = useRun();
  const isAsking = outcome.kind === "running";
  const { value: databases, error, again } = useLoaded(readDatabases);
  const database = chosen ?? databases?.usual;
  const catalog = useMemo(() => {
    if (database === undefined) return undefined;
    const catalog = catalogs.get(database) ?? createCatalog(database);
    catalogs.set(database, catalog);
    return catalog;
  }, [database]);
  useEffect(() => {
    // it is put in the box: only a person runs it
    if (routeDatabase !== undefined) change({ chosen: routeDatabase });
    // the rows of another statement would stand under it
    if (routeText !== undefined && routeText !== text) change({ text: routeText, outcome: { kind: "none" } });
  }, [routeDatabase, routeText]);
  const isOfText = outcome.kind === "failed" && outcome.asked === text;
  const fault = useMemo(
    () => isOfText ? errorPosition(outcome.error.message, text) : undefined,
    [outcome, isOfText],
  );

  const query = (args: object, signal: AbortSignal) =>
    callTool<QueryReply>("query_database", { limit: rowsAtOnce, database, ...args }, signal);
  function start(): void {
    if (text.trim() === "" || database === undefined || isAsking) return;
    const asked = { text, chosen: database };
    const others = history.filter((entry) => entry.text !== text || entry.chosen !== database);
    change({ outcome: { kind: "running" }, history: [asked, ...others].slice(0, mostHistory) });
    void run(async (signal) => {
      const startMs = performance.now();
      const reply = await query({ query: text.trim() }, signal);
      const answer = { text, reply, elapsedMs: performance.now() - startMs };
      const question = reply.question && { kind: "question" as const, text: reply.question };
      change({ outcome: question || { kind: "rows", answer } });
    }, (error) => change({ outcome: error ? { kind: "failed", asked: text, error } : { kind: "stopped" } }));
  }
  function loadMore(answer: RowsAnswer): void {
    const { columns, next_offset, rows, sql, database } = answer.reply;
    void run(async (signal) => {
      const more = await query({
        // the rows' own statement, but where its arguments are in the question alone
        query: next_offset === undefined ? answer.text.trim() : sql,
        offset: next_offset ?? rows.length,
        limit: Math.min(rowsAtOnce, mostRows - rows.length),
        database,
      }, signal);
      const reply = { ...more, sql, columns, rows: [...rows, ...more.rows] };
      change({ outcome: { kind: "rows", answer: { ...answer, reply } } });
    }, (moreError) => {
      // stopped where something else is asked: its outcome counts
      if (moreError) change({ outcome: { kind: "rows", answer, moreError } });
    });
  }

  if (error) return <Failure error={error} again={again} />;
  if (databases && !database) return <Empty title="There is no database that you may ask." />;
  return (
    <>
      <div class="card ask-box">
        <QueryEditor {...{ text, catalog, fault }} onChange={putText} onRun={start} />
        <div class="row">
          <Choice
            label="Database"
            names={databases?.names ?? []}
            value={database ?? ""}
            onChoose={(chosen) => edit({ chosen })}
          />
          <select
            aria-label="Asked before"
            value=""
            hidden={history.length === 0}
            onChange={({ currentTarget }) => {
              edit(history[Number(currentTarget.value)] ?? {});
              currentTarget.value = "";
            }}
          >
            <option value="">Asked before …</option>
            {history.map(({ text }, at) => <option key={at} value={at}>{text.trim().slice(0, 90)}</option>)}
          </select>
          <Button
            class="primary"
            disabled={!isAsking && (text.trim() === "" || !database)}
            onClick={({ detail }) => {
              if (!isAsking) start();
              // the second click of two on Run is none on Stop
              else if (detail < 2) stop();
            }}
          >
            {isAsking ? "Stop" : "Run"}
          </Button>
        </div>
      </div>
      {outcome.kind === "none" && catalog && (
        <AskExamples catalog={catalog} hasModel={parts.model} onChoose={putText} />
      )}
      {isAsking && <Busy>Running …</Busy>}
      {outcome.kind === "stopped" && <p role="status" class="faint">Stopped. There is no answer.</p>}
      {outcome.kind === "failed" && (
        <div class="ask-failure">
          <Failure error={forPeople(outcome.error)} />
        </div>
      )}
      {outcome.kind === "question" && (
        <div class="card" role="status">
          <h2>The model asks</h2>
          <Text as="p" class="sentences" text={outcome.text} />
          <p class="hint">Say it in the question, and run it again.</p>
        </div>
      )}
      {outcome.kind === "rows" && (
        <RowsResult
          {...outcome}
          key={outcome.answer.elapsedMs}
          isRunning={isRunning}
          onMore={() => loadMore(outcome.answer)}
          onEdit={putText}
        />
      )}
    </>
  );
}
