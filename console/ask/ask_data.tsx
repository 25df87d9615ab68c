import { useEffect, useMemo, useState } from "preact/hooks";
import { readToolResult } from "../../src/tool_server/view/page/tool_result.ts";
import type { PageProps } from "../app.tsx";
import { useLoaded, useRun } from "../load.ts";
import { Empty, Failure, Shown } from "../parts.tsx";
import { type Caller, callTool } from "../server.ts";
import { AskExamples } from "./ask_examples.tsx";
import { errorPosition } from "./error_position.ts";
import { QueryEditor } from "./query_editor.tsx";
import { mostRows, type RowsAnswer, RowsResult, type VerifiedQuestion } from "./rows_result.tsx";
import { createSchema, type Schema } from "./schema.ts";

type Outcome =
  | { readonly kind: "none" | "running" | "stopped" }
  | { readonly kind: "failed"; readonly asked: string; readonly error: Error }
  | { readonly kind: "question"; readonly text: string }
  | {
    readonly kind: "rows";
    readonly answer: RowsAnswer;
    readonly moreError?: Error;
  };

/** What is kept of a caller while other pages are looked at. */
interface Kept {
  readonly text: string;
  /** What was put in the box last, other than by hand. */
  readonly put: { readonly text: string };
  /** Undefined for the current one. */
  readonly chosen: string | undefined;
  readonly outcome: Outcome;
  /** The newest first. */
  readonly history: readonly Asked[];
  readonly schemas: Map<string, Schema>;
}

interface Asked {
  readonly text: string;
  readonly chosen: string | undefined;
}

const kept = new WeakMap<Caller, Kept>();
const mostHistory = 50;
/** The most that the tool gives at once. */
const rowsAtOnce = 1_000;

interface Databases {
  readonly databases: readonly { readonly name: string }[];
  readonly current: string | null;
}

const nothing: Omit<Kept, "schemas"> = {
  text: "",
  put: { text: "" },
  chosen: undefined,
  outcome: { kind: "none" },
  history: [],
};

export function AskData({ session: { caller }, rest }: PageProps) {
  const [state, setState] = useState<Kept>(() => {
    const { put, text, outcome, ...known } = kept.get(caller) ??
      { ...nothing, schemas: new Map() };
    // what ran when the page was left has been stopped
    const isCut = outcome.kind === "running";
    return {
      ...known,
      text,
      put: text === put.text ? put : { text },
      outcome: isCut ? { kind: "stopped" } : outcome,
    };
  });
  const { text, put, chosen, outcome, history, schemas } = state;
  useEffect(() => {
    kept.set(caller, state);
  }, [state]);
  const change = (part: Partial<Kept>) => setState((before) => ({ ...before, ...part }));
  const putText = (text: string) => change({ text, put: { text } });
  const { run, stop, isRunning } = useRun();
  const isAsking = outcome.kind === "running";

  const { state: loaded, again } = useLoaded(async (signal) => {
    const { structuredContent } = await callTool("list_databases", {}, signal);
    return structuredContent as unknown as Databases;
  }, []);
  const { databases, current } = loaded.kind === "loaded" ? loaded.value : { databases: [], current: null };
  const database = chosen ?? current ?? databases[0]?.name;
  const schema = useMemo(() => {
    if (database === undefined) return undefined;
    const schema = schemas.get(database) ?? createSchema(database);
    schemas.set(database, schema);
    return schema;
  }, [database]);
  const [, routeDatabase, routeText] = rest;
  useEffect(() => {
    // it is put in the box: only a person runs it
    if (routeDatabase !== undefined) change({ chosen: routeDatabase });
    if (routeText !== undefined) putText(routeText);
  }, [routeDatabase, routeText]);
  const fault = useMemo(
    () =>
      outcome.kind === "failed" && outcome.asked === text
        ? errorPosition(outcome.error.message, text)
        : undefined,
    [outcome, text],
  );

  async function query(args: object, signal: AbortSignal) {
    return await callTool("query_database", { limit: rowsAtOnce, database, ...args }, signal);
  }
  function start(): void {
    if (text.trim() === "" || database === undefined || isAsking) return;
    const asked = { text, chosen: database };
    change({
      outcome: { kind: "running" },
      history: [
        asked,
        ...history.filter((entry) => entry.text !== text || entry.chosen !== database),
      ].slice(0, mostHistory),
    });
    void run(async (signal) => {
      try {
        const startMs = performance.now();
        const result = await query({ query: text.trim() }, signal);
        const elapsedMs = performance.now() - startMs;
        const shown = readToolResult(result);
        const verified = result.structuredContent?.["verified_question"] as
          | VerifiedQuestion
          | undefined;
        change({
          outcome: shown.kind === "rows"
            ? { kind: "rows", answer: { ...asked, shown, verified, elapsedMs } }
            : {
              kind: "question",
              text: shown.kind === "text" ? shown.text : shown.answer,
            },
        });
      } catch (error) {
        change({
          outcome: signal.aborted
            ? { kind: "stopped" }
            : { kind: "failed", asked: text, error: error as Error },
        });
      }
    });
  }
  function loadMore(answer: RowsAnswer): void {
    const { columns, nextOffset, rows, sql, database } = answer.shown;
    void run(async (signal) => {
      try {
        const more = readToolResult(
          await query({
            // the rows' own statement, but where its arguments are in the question alone
            query: nextOffset === undefined ? answer.text.trim() : sql,
            offset: nextOffset ?? rows.length,
            limit: Math.min(rowsAtOnce, mostRows - rows.length),
            database,
          }, signal),
        );
        if (more.kind !== "rows") throw new Error("There are no more rows.");
        const shown = { ...more, sql, columns, rows: [...rows, ...more.rows] };
        change({ outcome: { kind: "rows", answer: { ...answer, shown } } });
      } catch (error) {
        if (signal.aborted) return;
        change({
          outcome: { kind: "rows", answer, moreError: error as Error },
        });
      }
    });
  }

  if (loaded.kind === "failed") {
    return <Failure error={loaded.error} again={again} />;
  }
  if (loaded.kind === "loaded" && database === undefined) {
    return <Empty title="There is no database that you may ask." />;
  }
  const names = databases.map(({ name }) => name);
  // a link may name another one: the server says what it thinks of it
  if (chosen !== undefined && !names.includes(chosen)) names.push(chosen);
  return (
    <>
      <div class="card ask-box">
        <QueryEditor {...{ text, put, schema, fault }} onChange={(text) => change({ text })} onRun={start} />
        <div class="row">
          <select
            aria-label="Database"
            value={database}
            onChange={({ currentTarget: { value } }) => change({ chosen: value })}
          >
            {names.map((name) => <option key={name}>{name}</option>)}
          </select>
          <select
            aria-label="Asked before"
            value=""
            hidden={history.length === 0}
            onChange={({ currentTarget }) => {
              const entry = history[Number(currentTarget.value)];
              currentTarget.value = "";
              if (entry === undefined) return;
              change({ ...entry, put: { text: entry.text } });
            }}
          >
            <option value="">Asked before …</option>
            {history.map(({ text }, at) => <option key={at} value={at}>{text.trim().slice(0, 90)}</option>)}
          </select>
          <button
            type="button"
            class="primary"
            disabled={!isAsking && (text.trim() === "" || !database)}
            onClick={({ detail }) => {
              if (!isAsking) start();
              // the second click of two on Run is none on Stop
              else if (detail < 2) stop();
            }}
          >
            {isAsking ? "Stop" : "Run"}
          </button>
        </div>
      </div>
      {outcome.kind === "none" && schema && <AskExamples key={database} schema={schema} onChoose={putText} />}
      {isAsking && <Running />}
      {outcome.kind === "stopped" && <p role="status" class="faint">Stopped. There is no answer.</p>}
      {outcome.kind === "failed" && (
        <div class="ask-failure">
          <Failure error={outcome.error} />
        </div>
      )}
      {outcome.kind === "question" && (
        <div class="card" role="status">
          <h2>The model asks</h2>
          <p class="sentences">
            <Shown text={outcome.text} />
          </p>
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

function Running() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), 1_000);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> Running … <span aria-hidden="true">{seconds} s</span>
    </p>
  );
}
