import { useMemo, useState } from "preact/hooks";
import type { PageProps } from "../app.tsx";
import { type Catalog, createCatalog, readDatabases, type Table } from "../catalog.ts";
import { useLoaded } from "../load.ts";
import { Choice, Empty, Load, Ready, Shown, Text } from "../parts.tsx";
import { goTo, hrefOf } from "../routes.ts";
import { LookTable } from "./look_table.tsx";
import { findTables } from "./look_tables.ts";

/** Of more tables of a schema a sentence tells: a browser lays out no more in good time. */
const mostShown = 200;

/** The databases; the tables of the one that the route names, or the usual one; and the table of the route. */
export function LookDatabases({ rest: [, asked, schema, table] }: Pick<PageProps, "rest">) {
  const loaded = useLoaded(readDatabases);
  const name = asked ?? loaded.value?.usual ?? "";
  const catalog = useMemo(() => createCatalog(name), [name]);
  return (
    <Ready of="databases" loaded={loaded}>
      {({ names }) => {
        if (name === "") return <Empty title="No database is available to you" />;
        return (
          <div class={`two-panes look-panes${table === undefined ? "" : " has-chosen"}`}>
            <section class="stack pane-list" aria-label="Tables and views">
              <Choice
                label="Database"
                names={names}
                value={name}
                onChoose={(name) => goTo("look", "data", name)}
              />
              <TableList key={name} {...{ catalog, schema, table }} />
            </section>
            <div class="pane-detail">
              {schema !== undefined && table !== undefined
                ? (
                  <LookTable
                    key={JSON.stringify([name, schema, table])}
                    {...{ catalog, schema, name: table }}
                  />
                )
                : (
                  <Empty title="Choose a table or view">
                    Its columns, references and first rows open here.
                  </Empty>
                )}
            </div>
          </div>
        );
      }}
    </Ready>
  );
}

function TableList({ catalog, schema: openSchema, table }: {
  readonly catalog: Catalog;
  readonly schema: string | undefined;
  readonly table: string | undefined;
}) {
  const [search, setSearch] = useState("");
  return (
    <Load of="tables" read={() => catalog.read()}>
      {({ tables: all, partitions_left_out: leftOut }) => {
        const found = findTables(all, search);
        const schemas = [...Map.groupBy(found, ({ schema }) => schema)];
        const areFew = found.length <= mostShown || schemas.length === 1;
        return (
          <>
            <input
              type="search"
              aria-label="Search"
              placeholder="Name or comment"
              onInput={({ currentTarget: { value } }) => setSearch(value)}
            />
            <p class="hint" role="status">
              {found.length} of {all.length} tables and views that you may read.
              {leftOut > 0 && ` ${leftOut} partitions are left out.`}
            </p>
            {schemas.map(([schema, tables]) => {
              const here = schema === openSchema ? table : undefined;
              const startsOpen = areFew || here !== undefined;
              const key = JSON.stringify([schema, startsOpen, search !== ""]);
              return (
                <Schema key={key} {...{ database: catalog.database, schema, tables, here, startsOpen }} />
              );
            })}
          </>
        );
      }}
    </Load>
  );
}

const compact = new Intl.NumberFormat("en", { notation: "compact" });

function Schema({ database, schema, tables, here, startsOpen }: {
  readonly database: string;
  readonly schema: string;
  readonly tables: readonly Table[];
  /** The table of these that is open. */
  readonly here: string | undefined;
  readonly startsOpen: boolean;
}) {
  const [isOpen, setOpen] = useState(startsOpen);
  const shown = isOpen ? tables.slice(0, mostShown) : [];
  return (
    <details open={isOpen} onToggle={({ currentTarget: { open } }) => setOpen(open)}>
      <summary class="list-head">
        <Shown text={schema} /> <span class="badge">{tables.length}</span>
      </summary>
      <ul class="choices">
        {shown.map(({ name, type, description, estimated_rows: rows }) => (
          <li key={name}>
            <a
              href={hrefOf("look", "data", database, schema, name)}
              aria-current={name === here ? "page" : undefined}
            >
              <span class="row spread">
                <Text as="span" text={name} />
                <span class="hint">
                  {type !== "TABLE" && `${type.toLowerCase()} `}
                  {rows >= 0 && `~${compact.format(rows)}`}
                </span>
              </span>
              <Text as="span" class="hint look-comment" text={description} />
            </a>
          </li>
        ))}
      </ul>
      {tables.length > mostShown && <p class="hint">The first {mostShown}: search for the others.</p>}
    </details>
  );
}
