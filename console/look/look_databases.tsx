import { useMemo, useState } from "preact/hooks";
import type { PageProps } from "../app.tsx";
import { useLoaded } from "../load.ts";
import { Empty, Field, Shown } from "../parts.tsx";
import { goTo, hrefOf } from "../routes.ts";
import { callTool } from "../server.ts";
import { Answer, Text } from "./look_parts.tsx";
import { LookTable } from "./look_table.tsx";
import { type Catalog, createCatalog, findTables, type Table } from "./look_tables.ts";

/** Of more tables of a schema, or schemas, a sentence tells: a browser lays out no more in good time. */
const mostShown = 200;

interface Databases {
  readonly databases: readonly { readonly name: string }[];
  readonly current: string | null;
}

/** The databases; the tables of the one that the route names, or the current one; and the table of the route. */
export function LookDatabases({ rest: [, asked, schema, table] }: PageProps) {
  const loaded = useLoaded(async (signal) => {
    const { structuredContent } = await callTool("list_databases", {}, signal);
    return structuredContent as unknown as Databases;
  }, []);
  const { state } = loaded;
  const { databases = [], current = null } = state.kind === "loaded" ? state.value : {};
  const name = asked ?? current ?? databases[0]?.name ?? "";
  const names = new Set([...databases.map(({ name }) => name), name]);
  const catalog = useMemo(() => createCatalog(name), [name]);
  if (state.kind !== "loaded") {
    return <Answer of="databases" loaded={loaded}>{() => null}</Answer>;
  }
  if (name === "") return <Empty title="No database is available to you" />;
  return (
    <div class={`look-panes ${table === undefined ? "" : "look-opened"}`}>
      <section class="look-list" aria-label="Tables and views">
        <Field label="Database">
          {(id) => (
            <select
              id={id}
              value={name}
              onChange={({ currentTarget: { value } }) => goTo("look", "data", value)}
            >
              {[...names].map((name) => <option key={name}>{name}</option>)}
            </select>
          )}
        </Field>
        <TableList key={name} {...{ catalog, schema, table }} />
      </section>
      {schema === undefined || table === undefined
        ? <Empty title="Choose a table or view" />
        : <LookTable key={JSON.stringify([name, schema, table])} {...{ catalog, schema, name: table }} />}
    </div>
  );
}

function TableList({ catalog, schema: openSchema, table }: {
  readonly catalog: Catalog;
  readonly schema: string | undefined;
  readonly table: string | undefined;
}) {
  const loaded = useLoaded(() => catalog.read(), []);
  const [search, setSearch] = useState("");
  return (
    <Answer of="tables" loaded={loaded}>
      {({ tables: all, partitions_left_out: leftOut }) => {
        const found = findTables(all, search);
        const schemas = [...Map.groupBy(found, ({ schema }) => schema)];
        const areFew = found.length <= mostShown || schemas.length === 1;
        return (
          <>
            <Field label="Search">
              {(id) => (
                <input
                  id={id}
                  type="search"
                  placeholder="Name or comment"
                  onInput={({ currentTarget: { value } }) => setSearch(value)}
                />
              )}
            </Field>
            <p class="hint" role="status">
              {found.length} of {all.length} tables and views that you may read.
              {leftOut > 0 && ` ${leftOut} partitions are left out.`}
              {schemas.length > mostShown && ` Of ${schemas.length} schemas, ` +
                  `the first ${mostShown} are listed: search for the others.`}
            </p>
            {schemas.slice(0, mostShown).map(([schema, tables]) => {
              const here = schema === openSchema ? table : undefined;
              const startsOpen = areFew || here !== undefined;
              const key = JSON.stringify([schema, startsOpen, search !== ""]);
              const props = { catalog, schema, tables, here, startsOpen };
              return <Schema key={key} {...props} />;
            })}
          </>
        );
      }}
    </Answer>
  );
}

const compact = new Intl.NumberFormat("en", { notation: "compact" });

function Schema({ catalog, schema, tables, here, startsOpen }: {
  readonly catalog: Catalog;
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
      <summary>
        <Shown text={schema} /> <span class="badge">{tables.length}</span>
      </summary>
      <ul>
        {shown.map(({ name, type, description, estimated_rows: rows }) => (
          <li key={name}>
            <a
              href={hrefOf("look", "data", catalog.database, schema, name)}
              aria-current={name === here ? "page" : undefined}
            >
              <Text as="span" class="look-name" text={name} />
              <span class="look-facts">
                {type !== "TABLE" && `${type.toLowerCase()} `}
                {rows >= 0 && `~${compact.format(rows)}`}
              </span>
              <Text as="span" class="look-comment" text={description} />
            </a>
          </li>
        ))}
      </ul>
      {tables.length > mostShown && <p class="hint">The first {mostShown}: search for the others.</p>}
    </details>
  );
}
