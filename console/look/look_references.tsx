import { useState } from "preact/hooks";
import { useLoaded } from "../load.ts";
import { hrefOf } from "../routes.ts";
import { Answer, Part, Text } from "./look_parts.tsx";
import { mostDrawn, ReferencesPicture } from "./look_picture.tsx";
import { type Catalog, type Reference, referencesTo, type Table } from "./look_tables.ts";

/** Of more tables, the columns are read when somebody asks for them. */
const mostRead = 300;
/** Of more schemas, the table's own is looked through alone: each is a call. */
const mostSchemas = 10;
const mostListed = 200;

/** Which tables refer to one, in as much as is quickly read. */
async function readReferences(catalog: Catalog, table: Table, isWanted: boolean) {
  const { tables } = await catalog.read();
  const all = [...new Set(tables.map(({ schema }) => schema))];
  const isSmall = tables.length <= mostRead && all.length <= mostSchemas;
  const schemas = isSmall ? all : [table.schema];
  const count = tables.filter(({ schema }) => schemas.includes(schema)).length;
  if (count > mostRead && !isWanted) return { from: [], unread: count };
  const read = [];
  for (const schema of schemas) {
    read.push(...(await catalog.read(schema)).tables);
  }
  const from = referencesTo(read, table);
  return { from, isPart: schemas.length < all.length };
}

/** A table's references both ways, as a picture and as lists. */
export function LookReferences({ catalog, table, to }: {
  readonly catalog: Catalog;
  readonly table: Table;
  readonly to: readonly Reference[];
}) {
  const [isWanted, setWanted] = useState(false);
  const loaded = useLoaded(() => readReferences(catalog, table, isWanted), [isWanted]);
  const here = { schema: table.schema, table: table.name };
  const links = {
    hrefOfTable: ({ schema, table }: typeof here) => hrefOf("look", "data", catalog.database, schema, table),
  };
  return (
    <Part title="References">
      <Answer of="references" loaded={loaded}>
        {({ from, unread, isPart }) => (
          <>
            {from.length + to.length > 0 && <ReferencesPicture {...{ here, from, to, ...links }} />}
            {Math.max(from.length, to.length) > mostDrawn && (
              <p class="hint">The picture shows {mostDrawn} on each side.</p>
            )}
            <div class="look-sides">
              <References title="Referred to by" of={from} {...links} />
              <References title="Refers to" of={to} {...links} />
            </div>
            {unread && (
              <p class="row hint">
                The schema's {unread} tables were not looked through.
                <button
                  type="button"
                  onClick={() => setWanted(true)}
                >
                  Look through them
                </button>
              </p>
            )}
            {isPart && <p class="hint">Other schemas were not looked through.</p>}
          </>
        )}
      </Answer>
    </Part>
  );
}

function References({ title, of: list, hrefOfTable }: {
  readonly title: string;
  readonly of: readonly Reference[];
  readonly hrefOfTable: (reference: Reference) => string;
}) {
  const shown = list.slice(0, mostListed);
  return (
    <section aria-label={title}>
      <h4>{title}</h4>
      {list.length === 0 && <p class="hint">None known</p>}
      <ul class="look-lines">
        {shown.map((reference, at) => (
          <li key={at}>
            <a href={hrefOfTable(reference)}>
              <Text text={`${reference.schema}.${reference.table}`} />
            </a>
            {reference.keys.map((key) => <Text key={key} as="p" class="hint mono" text={key} />)}
          </li>
        ))}
      </ul>
      {list.length > mostListed && <p class="hint">The first {mostListed} of {list.length}</p>}
    </section>
  );
}
