import { useCallback, useMemo, useState } from "preact/hooks";
import { chooseChart, drawChart } from "../../src/tool_server/view/page/draw_chart.ts";
import { Badge, Button, Code, Copy, Empty, Failure, Tabs, Text } from "../parts.tsx";
import { type GridRows, inOrder, RowsGrid, useSorting } from "../rows/rows_grid.tsx";
import { rowsText } from "./rows_text.ts";
import { withArguments } from "../sql_names.ts";

/** What `query_database` answers. */
export interface QueryReply extends GridRows {
  readonly database: string;
  /** What the model asks: all below are absent then. */
  readonly question?: string;
  readonly sql: string;
  readonly verified_question?: {
    readonly question: string;
    readonly arguments: Readonly<Record<string, string>>;
  };
  readonly truncated: boolean;
  readonly next_offset?: number;
}

export interface RowsAnswer {
  /** As it was asked. */
  readonly text: string;
  readonly reply: QueryReply;
  readonly elapsedMs: number;
}

/** More rows than these are for a file, not for eyes. */
export const mostRows = 10_000;

export function RowsResult(
  { answer: { text: asked, reply, elapsedMs }, isRunning, moreError, onMore, onEdit }: {
    readonly answer: RowsAnswer;
    readonly isRunning: boolean;
    readonly moreError?: Error | undefined;
    readonly onMore: () => void;
    readonly onEdit: (sql: string) => void;
  },
) {
  const { columns, rows, sql, database, truncated, verified_question: verified } = reply;
  const [tab, setTab] = useState("table");
  const [guarded, setGuarded] = useState(0);
  const order = useSorting();
  const chart = useMemo(() => chooseChart(columns, rows), [rows]);
  const draw = useCallback(
    (place: Element | null) =>
      chart && place?.replaceChildren(drawChart(chart, columns, rows, undefined) as never),
    [chart],
  );
  const values = Object.entries(verified?.arguments ?? {});
  // as it may be run again
  const shownSql = withArguments(sql, values.map(([, value]) => value));

  function written(format: "csv" | "tsv"): string {
    const { text, guarded } = rowsText(columns, inOrder(reply, order[0]), format);
    setGuarded(guarded);
    return text;
  }
  function download(): void {
    // with its byte order mark, Excel takes it for UTF-8
    const file = new Blob(["\ufeff", written("csv")], { type: "text/csv;charset=utf-8" });
    const address = URL.createObjectURL(file);
    const link = document.createElement("a");
    link.href = address;
    link.download = `${database}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }
  const table = () =>
    rows.length === 0 ? <Empty title="The answer has no rows." /> : (
      <>
        <RowsGrid {...{ columns, rows, order }} />
        <p class="hint">
          Arrow keys move, Enter or a second click shows a whole value, and a heading sorts{truncated &&
            " the rows that are here"}.
        </p>
      </>
    );
  return (
    <section class="stack" aria-label="Answer">
      {sql.trim() !== asked.trim() && (
        <div class="card what-ran">
          <div class="row spread">
            <p>
              {verified && <Badge isGood text="Verified" />} {verified
                ? <Text as="b" text={verified.question} />
                : "This SQL ran, written by a model. Look at whether it asks what you meant."}
              {values.map(([name, value]) => (
                <Text key={name} as="span" class="argument" text={`${name} = ${value}`} />
              ))}
            </p>
            <Button onClick={() => onEdit(shownSql)}>
              Edit this SQL
            </Button>
          </div>
          <Code text={shownSql} label="The SQL that ran" />
        </div>
      )}
      <div class="row spread">
        <p role="status" class="faint">
          {truncated && "The first "}
          <strong>{rows.length.toLocaleString()} row{rows.length === 1 ? "" : "s"}</strong>
          {` in ${(elapsedMs / 1000).toFixed(2)} s · ${database}`}
        </p>
        {columns.length > 0 && (
          <div class="row">
            <Copy text={() => written("tsv")} label="Copy" />
            <Button onClick={download}>CSV</Button>
          </div>
        )}
      </div>
      {guarded > 0 && (
        <p role="status" class="hint">
          Texts that begin like a formula have an apostrophe before them in the copy: {guarded}.
        </p>
      )}
      <Tabs
        label="How the rows are shown"
        current={tab}
        onChoose={setTab}
        tabs={[
          { id: "table", title: "Table", show: table },
          chart !== undefined &&
          { id: "chart", title: "Chart", show: () => <div class="chart card" ref={draw} /> },
        ]}
      />
      {moreError && <Failure error={moreError} />}
      {truncated && rows.length < mostRows && (
        <div class="row">
          <Button aria-disabled={isRunning} onClick={() => isRunning || onMore()}>
            {isRunning ? "Loading …" : "Load more"}
          </Button>
          <span class="hint">Without ORDER BY a row may come twice, and another not at all.</span>
        </div>
      )}
      {truncated && rows.length >= mostRows && (
        <p class="hint">
          The page holds {mostRows.toLocaleString()} rows and no more. Ask for fewer, or for sums of them.
        </p>
      )}
    </section>
  );
}
