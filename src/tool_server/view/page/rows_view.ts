import { chooseChart, drawChart } from "./draw_chart.ts";
import { type CallTool, isObject } from "./host_link.ts";
import { element, type PageElement } from "./page_dom.ts";
import { createRowsTable } from "./rows_table.ts";
import { shownText, wholeCharacters } from "./shown_text.ts";
import { readToolResult, type ShownRows } from "./tool_result.ts";

/** More rows are no longer read by a person. */
const mostRows = 5_000;
const longestStatement = 20_000;

/** Rows as a table, below a chart where they suit one, with a way to the next rows. */
export function rowsView(first: ShownRows, { locale, limit, callTool }: {
  readonly locale: string | undefined;
  /** How many rows the call asked for. */
  readonly limit: number;
  /** Optional: none where the host does not allow it. */
  readonly callTool: CallTool | undefined;
}): PageElement {
  const { columns, sql, database } = first;
  let { rows, truncated, nextOffset } = first;
  const table = createRowsTable(columns, rows);
  const chart = element("div");
  const summary = element("h1", { role: "status" });
  const fault = element("p", { class: "fault", role: "alert" });
  const next = element("button", { type: "button", class: "next" }, `Next ${limit} rows`);

  function show(): void {
    const count = `${rows.length.toLocaleString(locale)} ${rows.length === 1 ? "row" : "rows"}`;
    summary.textContent = truncated ? `${count}, more available` : count;
    const suited = chooseChart(columns, rows);
    chart.replaceChildren(...(suited === undefined ? [] : [drawChart(suited, columns, rows, locale)]));
    next.hidden = callTool === undefined || sql === undefined || nextOffset === undefined ||
      rows.length >= mostRows;
    note.hidden = !truncated;
  }
  const note = element(
    "p",
    { class: "note" },
    "Sorting and drawing concern the rows that are here.",
    /\border\s+by\b/i.test(sql ?? "")
      ? ""
      : " The statement has no ORDER BY: the next rows may repeat some of these.",
  );

  next.addEventListener("click", async ({ isTrusted }) => {
    // only a person calls tools; nothing that stands in the rows does
    if (!isTrusted || callTool === undefined || nextOffset === undefined) return;
    next.disabled = true;
    fault.textContent = "";
    try {
      const result = await callTool("query_database", {
        query: sql,
        limit,
        offset: nextOffset,
        ...(database === undefined ? {} : { database }),
      });
      const shown = readToolResult(isObject(result) ? result : {});
      if (shown.kind !== "rows") {
        fault.textContent = faultText(shown.kind === "text" ? shown.text : "the answer has no rows");
      } else if (shown.columns.length !== columns.length) {
        fault.textContent = faultText("the statement's columns are no longer the same");
      } else {
        rows = [...rows, ...shown.rows];
        ({ truncated, nextOffset } = shown);
        table.replaceRows(rows);
        show();
      }
    } catch (error) {
      fault.textContent = faultText(error instanceof Error ? error.message : "the host refused");
    }
    next.disabled = false;
  });

  show();
  return element(
    "div",
    { class: "result" },
    element(
      "div",
      { class: "head" },
      summary,
      ...(database === undefined ? [] : [element("span", { class: "database" }, shownText(database))]),
    ),
    chart,
    rows.length === 0 && columns.length === 0 ? "" : table.element,
    element("div", { class: "foot" }, next, note),
    fault,
    ...(sql === undefined ? [] : [
      element(
        "details",
        { class: "sql" },
        element("summary", {}, "SQL"),
        element("pre", { tabindex: 0 }, shownText(wholeCharacters(sql, longestStatement))),
      ),
    ]),
  );
}

function faultText(reason: string): string {
  return `Cannot get the next rows: ${wholeCharacters(reason, 500)}`;
}
