import type { Logger } from "../../../core/logger.ts";
import type { Principal } from "../../../core/principal.ts";
import type { CatalogTable } from "../../../postgres/catalog/catalog.ts";
import type { Database } from "../../../postgres/database.ts";
import { identifierWords, wordStem } from "../../../text/word_stem.ts";
import { words as wordsOf } from "../../../text/words.ts";
import { sharesDatabase } from "../../definitions/check_sql.ts";
import type { NamedExpression, Reads, SemanticModel, TableReference } from "./read_models.ts";

/** A model as far as a caller's catalog has what it names. */
export interface VisibleModel extends Omit<SemanticModel, "table"> {
  readonly table: CatalogTable;
}

export type SemanticModels = ReturnType<typeof createSemanticModels>;

/**
 * The models of all databases. What a caller's catalog does not have is left out of what they see; the log tells once of
 * what the database does not have at all.
 */
export function createSemanticModels(
  models: readonly SemanticModel[],
  { logger }: { readonly logger: Logger },
) {
  const byDatabase = new Map<string, readonly SemanticModel[]>();
  /** What was last said to be missing, by database. */
  const reported = new Map<string, string>();
  const seen = new WeakMap<readonly CatalogTable[], readonly VisibleModel[]>();

  function modelsOf(database: string): readonly SemanticModel[] {
    const its = byDatabase.get(database) ?? models.filter((each) => sharesDatabase(each.database, database));
    byDatabase.set(database, its);
    return its;
  }

  /** Where rights differ from caller to caller, one may lack what the database has. */
  function report(database: string, missing: readonly string[]): void {
    const text = missing.join("; ");
    if ((reported.get(database) ?? "") === text) return;
    reported.set(database, text);
    if (text === "") logger.info("The database has all that its models name again", { database });
    else logger.warn(`Models name what the database does not have, and go without it: ${text}`, { database });
  }

  return {
    /** The models of a database, with what of them is in `tables`: its whole catalog, as the caller may read it. */
    ofCatalog(
      database: Pick<Database, "name" | "rightsKey">,
      principal: Principal,
      tables: readonly CatalogTable[],
    ): readonly VisibleModel[] {
      const its = modelsOf(database.name);
      if (its.length === 0) return [];
      const known = seen.get(tables);
      if (known !== undefined) return known;
      const missing: string[] = [];
      const visible = visibleModels(its, tables, missing);
      if (database.rightsKey(principal) === "") report(database.name, missing);
      seen.set(tables, visible);
      return visible;
    },
    /** The same where `tables` is a part of the catalog. */
    ofTables(database: string, tables: readonly CatalogTable[]): readonly VisibleModel[] {
      return visibleModels(modelsOf(database), tables, []);
    },
    /** As they were read. */
    all: models,
  };
}

/** What models of one database name and its catalog does not have, as phrases. */
export function missingOfModels(
  models: readonly SemanticModel[],
  tables: readonly CatalogTable[],
): readonly string[] {
  const missing: string[] = [];
  visibleModels(models, tables, missing);
  return missing;
}

/** @param missing gets a phrase for each thing that is named and not there */
function visibleModels(
  models: readonly SemanticModel[],
  tables: readonly CatalogTable[],
  missing: string[],
): VisibleModel[] {
  const tableOf = new Map(models.map((model) => [model.name, findTable(tables, model.table)]));
  return models.flatMap(({ table: reference, ...model }): VisibleModel[] => {
    const table = tableOf.get(model.name);
    if (table === undefined) {
      // one for no database in particular may be another's
      if (model.database !== undefined) missing.push(`table ${nameOf(reference)} (model ${model.name})`);
      return [];
    }
    const isThere = (reads: Reads, of: string, own: readonly CatalogTable[]) => {
      const lacks = missingOf(reads, own, tables);
      missing.push(...lacks.map((what) => `${what} (${of} of model ${model.name})`));
      return lacks.length === 0;
    };
    const kept = (kind: string, expressions: readonly NamedExpression[]) =>
      expressions.filter(({ name, reads }) => isThere(reads, `${kind} ${name}`, [table]));
    return [{
      ...model,
      table,
      dimensions: kept("dimension", model.dimensions),
      measures: kept("measure", model.measures),
      joins: model.joins.filter(({ to, reads }) => {
        const other = tableOf.get(to);
        return other !== undefined && isThere(reads, `join to ${to}`, [table, other]);
      }),
    }];
  });
}

function missingOf(reads: Reads, own: readonly CatalogTable[], tables: readonly CatalogTable[]): string[] {
  const read = [...own];
  const lacks: string[] = [];
  for (const relation of reads.relations) {
    const table = findTable(tables, relation);
    if (table === undefined) lacks.push(`table ${nameOf(relation)}`);
    else read.push(table);
  }
  const columns = new Set(read.flatMap((table) => table.columns.map(({ name }) => name)));
  return [...lacks, ...reads.columns.filter((name) => !columns.has(name)).map((name) => `column ${name}`)];
}

/** Without a schema: the only one of the name, or that of `public`. */
function findTable(
  tables: readonly CatalogTable[],
  { schema, name }: TableReference,
): CatalogTable | undefined {
  const named = tables.filter((table) =>
    table.name === name && (schema === undefined || table.schema === schema)
  );
  return named.length === 1 ? named[0] : named.find((table) => table.schema === "public");
}

function nameOf({ schema, name }: TableReference): string {
  return schema === undefined ? name : `${schema}.${name}`;
}

export interface FittingModel {
  readonly model: VisibleModel;
  /** Names of its measures and dimensions that the request has. */
  readonly named: ReadonlySet<string>;
}

/** The models that a request names, by a name or synonym of theirs or of what they hold; best first. */
export function fittingModels(models: readonly VisibleModel[], request: string): FittingModel[] {
  const stems = new Set(wordsOf(request).map(wordStem));
  const isNamed = ({ name, synonyms }: { readonly name: string; readonly synonyms: readonly string[] }) =>
    [name, ...synonyms].some((each) => {
      const parts = identifierWords(each);
      return parts.length > 0 && parts.every((word) => stems.has(wordStem(word)));
    });
  return models
    .map((model) => ({
      model,
      isItself: isNamed(model),
      named: new Set([...model.measures, ...model.dimensions].filter(isNamed).map(({ name }) => name)),
    }))
    .filter(({ isItself, named }) => isItself || named.size > 0)
    .toSorted((a, b) => Number(b.isItself) + b.named.size - Number(a.isItself) - a.named.size);
}

/** A model as a model of language reads it; with `only`, its measures and dimensions of these names alone. */
export function modelText(model: VisibleModel, only?: ReadonlySet<string>): string {
  const { measures, dimensions, joins } = model;
  const line = (kind: string, { name, synonyms, description, sql }: VisibleModel["measures"][number]) =>
    `  ${kind} ${titleOf(name, synonyms)} = ${oneLine(sql)}${noteOf(description)}`;
  const isShown = ({ name }: { readonly name: string }) => only === undefined || only.has(name);
  return [
    modelLine(model),
    ...measures.filter(isShown).map((each) => line("measure", each)),
    ...dimensions.filter(isShown).map((each) => line("dimension", each)),
    ...joins.map(({ to, on, description }) => `  join ${to}: ${oneLine(on)}${noteOf(description)}`),
  ].join("\n");
}

/** What a model is called and what it is of. */
export function modelLine({ name, synonyms, description, table }: VisibleModel): string {
  return `${titleOf(name, synonyms)}: rows of ${table.schema}.${table.name}${noteOf(description)}`;
}

function titleOf(name: string, synonyms: readonly string[]): string {
  return synonyms.length === 0 ? name : `${name} (also ${synonyms.join(", ")})`;
}

function noteOf(description: string): string {
  return description === "" ? "" : ` -- ${oneLine(description)}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
