import { useState } from "preact/hooks";
import type { Catalog, Table } from "../catalog.ts";
import { Button, Load, Text } from "../parts.tsx";
import { hrefOf } from "../routes.ts";
import { type Reference, referencesTo } from "./look_tables.ts";

/** Of more tables, the columns are read when somebody asks for them. */
const mostRead = 300;
/** Of more schemas, the table's own is looked through alone: each is a call. */
const mostSchemas = 10;

/** Which tables refer to one, in as much as is quickly read. */
async function readReferences(catalog: Catalog, table: Table, isWanted: boolean) {
  const { tables } = await catalog.read();
  const all = [...new Set(tables.map(({ schema }) => schema))];
  const isSmall = tables.length <= mostRead && all.length <= mostSchemas;
  const schemas = isSmall ? all : [table.schema];
  const count = tables.filter(({ schema }) => schemas.includes(schema)).length;
  if (count > mostRead && !isWanted) return { from: [], unread: count };
  const read = [];
  for (const schema of schemas) read.push(...(await catalog.read(schema)).tables);
  return { from: referencesTo(read, table), isPart: schemas.length < all.length };
}

/** A table between those that refer to it and those that it refers to. */
export function LookReferences({ catalog, table, to }: {
  readonly catalog: Catalog;
  readonly table: Table;
  readonly to: readonly Reference[];
}) {
  const [isWanted, setWanted] = useState(false);
  return (
    <section class="look-part">
      <h3>References</h3>
      <Load of="references" read={() => readReferences(catalog, table, isWanted)} inputs={[isWanted]}>
        {({ from, unread, isPart }) => (
          <>
            <div class="look-picture">
              <References title="Referred to by" database={catalog.database} references={from} />
              <p class="look-here" aria-hidden="true">
                <a href={hrefOf("look", "data", catalog.database, table.schema, table.name)} tabIndex={-1}>
                  <Text as="span" text={table.name} />
                </a>
              </p>
              <References title="Refers to" database={catalog.database} references={to} />
            </div>
            {unread && (
              <p class="row hint">
                The schema's {unread} tables were not looked through.
                <Button onClick={() => setWanted(true)}>Look through them</Button>
              </p>
            )}
            {isPart && <p class="hint">Other schemas were not looked through.</p>}
          </>
        )}
      </Load>
    </section>
  );
}

function References({ title, database, references }: {
  readonly title: string;
  readonly database: string;
  readonly references: readonly Reference[];
}) {
  const { length } = references;
  const [most, setMost] = useState(20);
  return (
    <section class="look-sides" aria-label={title}>
      <h4>{title}</h4>
      {length === 0 && <p class="hint">None known</p>}
      <ul>
        {references.slice(0, most).map(({ schema, table, keys }) => (
          <li key={`${schema}.${table}`}>
            <a href={hrefOf("look", "data", database, schema, table)}>
              <Text as="span" text={`${schema}.${table}`} />
            </a>
            {keys.map((key) => <Text key={key} as="p" class="hint mono" text={key} />)}
          </li>
        ))}
      </ul>
      {length > most && <Button onClick={() => setMost(length)}>Show all {length}</Button>}
    </section>
  );
}
