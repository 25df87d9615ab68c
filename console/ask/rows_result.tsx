import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { chooseChart } from "../../src/tool_server/view/page/draw_chart.ts";
import { drawChart } from "../../src/tool_server/view/page/draw_chart.ts";
import type { ShownRows } from "../../src/tool_server/view/page/tool_result.ts";
import { Code, Copy, Empty, Failure, Shown, Tabs } from "../parts.tsx";
import { RowsGrid } from "./rows_grid.tsx";
import { rowsText } from "./rows_text.ts";
import { withArguments } from "./sql_names.ts";

/** What `query_database` answered, with what was asked. */
export interface RowsAnswer {
  /** As it was asked. */
  readonly text: string;
  readonly shown: ShownRows;
  readonly verified: VerifiedQuestion | undefined;
  readonly elapsedMs: number;
}

export interface VerifiedQuestion {
  readonly question: string;
  readonly arguments: Readonly<Record<string, string>>;
}

/** More rows than these are for a file, not for eyes. */
export const mostRows = 10_000;

export function RowsResult({ answer, isRunning, moreError, onMore, onEdit }: {
  readonly answer: RowsAnswer;
  readonly isRunning: boolean;
  readonly moreError?: Error;
  readonly onMore: () => void;
  readonly onEdit: (sql: string) => void;
}) {
  const { text: asked, shown, verified, elapsedMs } = answer;
  const { columns, rows, sql, database, truncated } = shown;
  const [tab, setTab] = useState("table");
  const [note, setNote] = useState<string>();
  const chart = useMemo(() => chooseChart(columns, rows), [rows]);
  const isOthers = sql !== undefined && sql.trim() !== asked.trim();

  function written(format: "csv" | "tsv"): string {
    const { text, guarded } = rowsText(columns, rows, format);
    setNote(
      guarded === 0
        ? undefined
        : `Texts that begin like a formula have an apostrophe before them in the copy: ${guarded.toLocaleString()}.`,
    );
    return text;
  }
  function download(): void {
    const address = URL.createObjectURL(new Blob([written("csv")], { type: "text/csv;charset=utf-8" }));
    const link = document.createElement("a");
    link.href = address;
    link.download = `${database ?? "rows"}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }
  return (
    <section class="stack" aria-label="Answer">
      {isOthers && (
        <div class="card what-ran">
          <div class="row spread">
            <p>
              {verified
                ? <VerifiedWords verified={verified} />
                : "This SQL ran, written by a model. Look at whether it asks what you meant."}
            </p>
            <button
              type="button"
              onClick={() => onEdit(withArguments(sql, Object.values(verified?.arguments ?? {})))}
            >
              Edit this SQL
            </button>
          </div>
          <Code text={sql} label="The SQL that ran" />
        </div>
      )}
      <div class="row spread">
        <p role="status" class="faint">
          {truncated && "The first "}
          <strong>{rows.length.toLocaleString()} row{rows.length === 1 ? "" : "s"}</strong>{" "}
          {`in ${(elapsedMs / 1000).toFixed(2)} s${database === undefined ? "" : ` · ${database}`}`}
        </p>
        {columns.length > 0 && (
          <div class="row">
            <Copy text={() => written("tsv")} label="Copy" />
            <button type="button" onClick={download}>CSV</button>
          </div>
        )}
      </div>
      {note && <p role="status" class="hint">{note}</p>}
      {chart && (
        <Tabs
          label="How the rows are shown"
          tabs={[{ id: "table", title: "Table" }, {
            id: "chart",
            title: "Chart",
          }]}
          current={tab}
          onChoose={setTab}
          panelId="rows-panel"
        />
      )}
      <div id="rows-panel" {...(chart && { role: "tabpanel", "aria-label": tab })} class="stack">
        {rows.length === 0
          ? <Empty title="The answer has no rows." />
          : chart && tab === "chart"
          ? <ChartFigure chart={chart} shown={shown} />
          : (
            <>
              <RowsGrid columns={columns} rows={rows} />
              <p class="hint">
                Arrow keys move, Enter or a second click shows a whole value, and a heading sorts{truncated &&
                  " the rows that are here"}.
              </p>
            </>
          )}
      </div>
      {moreError && <Failure error={moreError} />}
      {truncated && (rows.length < mostRows
        ? (
          <div class="row">
            <button type="button" aria-disabled={isRunning} onClick={() => isRunning || onMore()}>
              {isRunning ? "Loading …" : "Load more"}
            </button>
            <span class="hint">Without ORDER BY a row may come twice, and another not at all.</span>
          </div>
        )
        : (
          <p class="hint">
            The page holds {mostRows.toLocaleString()} rows and no more. Ask for fewer, or for sums of them.
          </p>
        ))}
    </section>
  );
}

function VerifiedWords({ verified }: { readonly verified: VerifiedQuestion }) {
  return (
    <>
      <span class="badge good">Verified</span>{" "}
      <strong>
        <Shown text={verified.question} />
      </strong>
      {Object.entries(verified.arguments).map(([name, value]) => (
        <span key={name} class="argument">
          <Shown text={name} /> = <Shown text={value} />
        </span>
      ))}
    </>
  );
}

function ChartFigure({ chart, shown: { columns, rows } }: {
  readonly chart: NonNullable<ReturnType<typeof chooseChart>>;
  readonly shown: ShownRows;
}) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const figure = drawChart(chart, columns, rows, undefined);
    place.current?.replaceChildren(figure as unknown as HTMLElement);
  }, [chart]);
  return <div ref={place} class="chart card" />;
}
