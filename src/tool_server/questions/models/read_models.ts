import { z } from "zod";
import type { StatementNames } from "../../../postgres/guard/statement_names.ts";
import { placeOf } from "../../../postgres/read/statement_error.ts";
import {
  databaseOf,
  type DefinitionChecks,
  sharesDatabase,
  whyNoDatabase,
} from "../../definitions/check_sql.ts";
import { faultAt, readEntries, type Section } from "../../definitions/sections.ts";
import type { Fault } from "../../../core/yaml/file_fault.ts";
import type { SettingPath } from "../../../core/yaml/value_tree.ts";

const name = z.string().regex(
  /^[\p{L}_][\p{L}\p{N}_ ]*$/u,
  "expected a letter, then letters, digits, spaces and _",
).max(63);
const described = {
  synonyms: z.array(z.string().min(1).max(100)).max(50).default([]),
  description: z.string().trim().max(1_000).default(""),
};
const expression = z.string().min(1).max(4_000);
const named = z.strictObject({ name, sql: expression, ...described });
const join = z.strictObject({ to: name, on: expression, description: described.description });

const model = z.strictObject({
  name,
  ...described,
  database: z.string().min(1).optional(),
  table: z.string().regex(
    /^(?:"[^"]+"|[\p{L}_][\p{L}\p{N}_$]*)(?:\.(?:"[^"]+"|[\p{L}_][\p{L}\p{N}_$]*))?$/u,
    "expected a table's name, or schema.name",
  ),
  joins: z.array(join).max(100).default([]),
  dimensions: z.array(named).max(500).default([]),
  measures: z.array(named).max(500).default([]),
});

type Entry = Omit<z.output<typeof model>, "database"> & {
  /** Optional: without it, whichever has the table. */
  readonly database: string | undefined;
};

/** What an expression reads, as far as its text tells. */
export interface Reads {
  readonly columns: readonly string[];
  /** Tables of subqueries. */
  readonly relations: readonly TableReference[];
}

export interface TableReference {
  /** Optional: none where any schema may be meant. */
  readonly schema?: string;
  readonly name: string;
}

export type NamedExpression = Readonly<z.output<typeof named>> & { readonly reads: Reads };

/** To another model of the same database. */
type ModelJoin = Readonly<z.output<typeof join>> & { readonly reads: Reads };

/** A table with the names that people have for it and for what is worked out from it. */
export interface SemanticModel
  extends Readonly<Pick<Entry, "name" | "synonyms" | "description" | "database">> {
  readonly table: TableReference;
  readonly joins: readonly ModelJoin[];
  readonly dimensions: readonly NamedExpression[];
  readonly measures: readonly NamedExpression[];
}

/** What a definitions file's `models` hold; a fault of one leaves the others as they are. */
export async function readModels(
  section: Section,
  checks: DefinitionChecks,
): Promise<{ models: SemanticModel[]; faults: Fault[] }> {
  const { entries: read, faults } = readEntries(section, model);
  const entries = read.map(({ value, path }) => ({
    path,
    value: { ...value, database: databaseOf(value.database, checks) },
  }));
  const models: SemanticModel[] = [];
  for (const [at, { value, path }] of entries.entries()) {
    const others = entries.filter((other) => sharesDatabase(other.value.database, value.database));
    const found: Fault[] = [];
    const fault = (key: SettingPath, message: string) =>
      void found.push(faultAt(section, [...path, ...key], message));
    const noDatabase = whyNoDatabase(value.database, checks);
    if (noDatabase !== undefined) fault(["database"], noDatabase);
    if (entries.slice(0, at).some((other) => others.includes(other) && other.value.name === value.name)) {
      fault(["name"], "another model of the database has this name");
    }
    const read = async (key: SettingPath, sql: string, before: string, after: string): Promise<Reads> => {
      const result = await readsOf(sql, before, after, checks);
      if (typeof result !== "string") return result;
      fault(key, result);
      return { columns: [], relations: [] };
    };
    const expressions = async (key: "dimensions" | "measures"): Promise<NamedExpression[]> => {
      const made: NamedExpression[] = [];
      for (const [place, each] of value[key].entries()) {
        if (value[key].findIndex((other) => other.name === each.name) < place) {
          fault([key, place, "name"], "another one has this name");
        }
        const reads = await read([key, place, "sql"], each.sql, "SELECT (\n", `\n) FROM ${value.table}`);
        made.push({ ...each, sql: each.sql.trim(), reads });
      }
      return made;
    };
    const joins: ModelJoin[] = [];
    for (const [place, join] of value.joins.entries()) {
      const to = others.find((other) => other.value.name === join.to)?.value;
      if (to === undefined) fault(["joins", place, "to"], "there is no model of that name for the database");
      const reads = await read(["joins", place, "on"], join.on, "SELECT 1 FROM a JOIN b ON (\n", "\n)");
      const own = new Set(["a", "b"]);
      joins.push({
        ...join,
        on: join.on.trim(),
        reads: { ...reads, relations: reads.relations.filter((relation) => !own.has(relation.name)) },
      });
    }
    const made = {
      ...value,
      table: tableReference(value.table),
      joins,
      dimensions: await expressions("dimensions"),
      measures: await expressions("measures"),
    };
    if (found.length === 0) models.push(made);
    faults.push(...found);
  }
  // a join to a model that is left out leads nowhere
  const kept = models.map((each) => ({
    ...each,
    joins: each.joins.filter(({ to }) =>
      models.some((other) => sharesDatabase(other.database, each.database) && other.name === to)
    ),
  }));
  return { models: kept, faults };
}

function tableReference(written: string): TableReference {
  const parts = [...written.matchAll(/"([^"]+)"|([^".]+)/g)].map(([, quoted, plain = ""]) =>
    quoted ?? plain.toLowerCase()
  );
  const [first = "", second] = parts;
  return second === undefined ? { name: first } : { schema: first, name: second };
}

/** What an expression reads; a text says what is wrong with it. */
async function readsOf(
  sql: string,
  before: string,
  after: string,
  { guard, signal }: DefinitionChecks,
): Promise<Reads | string> {
  const result = await guard.check(`${before}${sql}${after}`, { principal: { kind: "local" }, signal });
  if (!result.ok) {
    const { line } = placeOf(
      sql,
      result.position === undefined ? undefined : result.position - before.length,
    );
    return line === undefined || !sql.trim().includes("\n")
      ? result.reason
      : `line ${line} of it: ${result.reason}`;
  }
  const qualifiers = new Set(
    [...sql.matchAll(/("[^"]+"|[\p{L}_][\p{L}\p{N}_$]*)\s*\./gu)].map(([, written = ""]) =>
      tableReference(written).name
    ),
  );
  return {
    columns: [...namesOf(result.names, "column"), ...namesOf(result.names, "listed")].map(({ name }) => name)
      .filter((column) => column !== "*" && !qualifiers.has(column)),
    relations: namesOf(result.names, "relation"),
  };
}

function namesOf(names: StatementNames, kind: "column" | "listed" | "relation"): TableReference[] {
  return names.filter((each) => each.kind === kind).map(({ schema, name }) =>
    schema === undefined ? { name } : { schema, name }
  );
}
