import { erpKeyTables, type KeyTable } from "./erp_key_tables.ts";
import {
  bookkeepingColumns,
  commonColumns,
  type ErpModule,
  erpModules,
  satellites,
  shortForms,
} from "./erp_modules.ts";
import { createSeededRandom, type SeededRandom } from "../../../../src/demo/shop_rows.ts";

/** A table that is being made up. */
interface ErpTable {
  readonly name: string;
  readonly comment: string;
  /** Definitions of columns, constraints and LIKE clauses. */
  readonly lines: readonly string[];
  readonly columnComments: Readonly<Record<string, string>>;
}

const tablesPerBatch = 200;
const copiesPerEntity = 4;

/**
 * The SQL that makes 2,000 empty tables in an empty database, in the batches to run it in. It is the same SQL every
 * time. Each of 25 modules has sixteen entities, each entity four further tables: copies (history, archive, staging
 * and the like) or satellites.
 */
export function erpSchemaSql(): string[] {
  const random = createSeededRandom(20_260_201);
  const made: string[] = [];
  const tables = erpModules.flatMap((module) => moduleTables(random, module, made));
  const schemas = [...new Set(erpModules.map(({ schema }) => `CREATE SCHEMA ${schema};`))];
  const batches: string[] = [schemas.join("\n")];
  for (let start = 0; start < tables.length; start += tablesPerBatch) {
    batches.push(tables.slice(start, start + tablesPerBatch).map(tableSql).join("\n"));
  }
  return batches;
}

function tableSql({ name, comment, lines, columnComments }: ErpTable): string {
  const comments = Object.entries(columnComments).map(([column, text]) =>
    `COMMENT ON COLUMN ${name}.${column} IS '${text.replaceAll("'", "''")}';`
  );
  if (comment !== "") comments.unshift(`COMMENT ON TABLE ${name} IS '${comment.replaceAll("'", "''")}';`);
  return [`CREATE TABLE ${name} (\n  ${lines.join(",\n  ")}\n);`, ...comments].join("\n");
}

function moduleTables(random: SeededRandom, module: ErpModule, made: string[]): ErpTable[] {
  const own: string[] = [];
  return module.entities.split(" ").flatMap((entity) => {
    const key = erpKeyTables[tableName(module, entity)];
    const base = key === undefined
      ? madeUpTable(random, module, entity, newReferences(random, own, made))
      : keyTable(random, module, entity, key);
    own.push(base.name);
    made.push(base.name);
    return [base, ...copies(random, module, entity, base)];
  });
}

function madeUpTable(
  random: SeededRandom,
  module: ErpModule,
  entity: string,
  references: readonly string[],
): ErpTable {
  const lines = ["id integer PRIMARY KEY", ...references];
  const candidates = [...random.sample(module.columns.split(" "), 5), ...random.sample(commonColumns, 14)];
  const filling = newColumns(random, module, lines, candidates);
  return {
    name: tableName(module, entity),
    comment: random.chance(50) ? `${sentenceCase(entity)} records of ${module.title}` : "",
    lines: [...lines, ...filling.lines],
    columnComments: filling.comments,
  };
}

function keyTable(random: SeededRandom, module: ErpModule, entity: string, key: KeyTable): ErpTable {
  const { lines, comments } = readColumns(key.columns);
  const columns = lines.filter((line) => !isConstraint(line));
  // what is added must not look as if it held the answer to a question
  const candidates = random.sample(bookkeepingColumns, bookkeepingColumns.length);
  const filling = newColumns(random, module, columns, candidates);
  return {
    name: tableName(module, entity),
    comment: key.comment ?? "",
    lines: [...columns, ...filling.lines, ...lines.filter(isConstraint)],
    columnComments: { ...filling.comments, ...comments },
  };
}

/** Definitions and comments of further columns, so that a table has 8 to 14 in all. */
function newColumns(
  random: SeededRandom,
  module: ErpModule,
  present: readonly string[],
  candidates: readonly string[],
): { lines: string[]; comments: Record<string, string> } {
  const names = new Set(present.map(firstWord));
  const wanted = random.integer(8, 14);
  const lines: string[] = [];
  const comments: Record<string, string> = {};
  for (const candidate of candidates) {
    if (names.size >= wanted) break;
    const [plain = "", comment = ""] = candidate.split(":");
    const column = shorten(module, plain);
    if (names.has(column)) continue;
    names.add(column);
    lines.push(`${column} ${typeOf(plain)}`);
    if (comment !== "" && random.chance(50)) comments[column] = comment;
  }
  return { lines, comments };
}

/** Foreign keys to tables of the module, and now and then to one that many others refer to. */
function newReferences(random: SeededRandom, own: readonly string[], made: readonly string[]): string[] {
  const hubs = ["hr.employee", "sales.customer", "inventory.item", "procurement.supplier", "core.mdm_site"];
  const far = hubs.filter((hub) => made.includes(hub) && !own.includes(hub));
  const targets = [...random.sample(own, random.integer(0, 2)), ...random.sample(far, random.integer(0, 1))];
  return targets.flatMap((target) => {
    const key = keyColumn(target);
    return key === undefined ? [] : [`${lastWord(target)}_id ${key} REFERENCES ${target}`];
  });
}

/** The type of a table's key, where that is one column. */
function keyColumn(table: string): string | undefined {
  const columns = erpKeyTables[table]?.columns;
  if (columns === undefined) return "integer";
  return columns.includes("\nPRIMARY KEY") ? undefined : columns.split(" ")[1];
}

function copies(random: SeededRandom, module: ErpModule, entity: string, base: ErpTable): ErpTable[] {
  const words = entity.replaceAll("_", " ");
  const copyKinds: readonly (readonly [suffix: string, comment: string, ...columns: string[]])[] = [
    ["history", `Earlier versions of each ${words}`, "changed_by_login text", "version_from timestamp"],
    ["archive", `Every ${words} closed before 2024`, "archived_at timestamp"],
    ["staging", `Load area for ${words}; emptied every night`, "load_id integer", "load_error text"],
    ["snapshot", `State of each ${words} at the end of a month`, "snapshot_month date"],
    ["backup_2019", "", "backup_at timestamp"],
  ];
  const chosen = base.name in erpKeyTables
    ? copyKinds.slice(0, 3)
    : random.sample(copyKinds, random.integer(1, 3));
  const like = chosen.map(([suffix, comment, ...columns]) => ({
    name: tableName(module, `${entity}_${suffix}`),
    comment: comment !== "" && random.chance(50) ? comment : "",
    lines: [`LIKE ${base.name} INCLUDING COMMENTS`, ...columns],
    columnComments: {},
  }));
  const entities = module.entities.split(" ");
  const free = satellites.filter((satellite) => !entities.includes(`${entity}_${satellite}`));
  const hanging = random.sample(free, copiesPerEntity - like.length).map((satellite) =>
    satelliteTable(random, module, entity, satellite, base.name)
  );
  return [...like, ...hanging];
}

function satelliteTable(
  random: SeededRandom,
  module: ErpModule,
  entity: string,
  satellite: string,
  base: string,
): ErpTable {
  const key = keyColumn(base);
  const parent = key === undefined ? "parent_key text" : `${lastWord(base)}_id ${key} REFERENCES ${base}`;
  const columns = random.sample(commonColumns, random.integer(6, 9)).map((column) =>
    column.split(":")[0] ?? ""
  );
  return {
    name: tableName(module, `${entity}_${satellite}`),
    comment: random.chance(50) ? `${sentenceCase(satellite)} of a ${entity.replaceAll("_", " ")}` : "",
    lines: [
      `id integer PRIMARY KEY`,
      parent,
      ...columns.map((column) => `${shorten(module, column)} ${typeOf(column)}`),
    ],
    columnComments: {},
  };
}

function readColumns(text: string): { lines: string[]; comments: Record<string, string> } {
  const comments: Record<string, string> = {};
  const lines = text.split("\n").map((line) => {
    const [definition = "", comment] = line.split(" -- ");
    if (comment !== undefined) comments[firstWord(line)] = comment;
    return definition;
  });
  return { lines, comments };
}

function isConstraint(line: string): boolean {
  return line.startsWith("PRIMARY KEY");
}

function tableName(module: ErpModule, entity: string): string {
  return `${module.schema}.${module.prefix ?? ""}${shorten(module, entity)}`;
}

function shorten({ abbreviates }: ErpModule, name: string): string {
  if (abbreviates !== true) return name;
  return name.split("_").map((word) => shortForms[word] ?? word).join("_");
}

function typeOf(column: string): string {
  const last = lastWord(column.replaceAll("_", "."));
  if (column.startsWith("is_")) return "boolean";
  switch (last) {
    case "date":
      return "date";
    case "at":
      return "timestamp";
    case "amount":
    case "cost":
    case "value":
      return "numeric(14,2)";
    case "percent":
    case "rate":
    case "score":
      return "numeric(7,3)";
    case "quantity":
    case "hours":
      return "numeric(14,3)";
    case "count":
    case "days":
    case "minutes":
    case "level":
      return "integer";
    case "text":
    case "remark":
    case "description":
      return "varchar(60)";
    default:
      // bounded, so that PostgreSQL needs no second table for long values: a third of the time
      return "varchar(30)";
  }
}

function sentenceCase(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function firstWord(line: string): string {
  return line.split(" ")[0] ?? "";
}

/** What stands after the last dot. */
function lastWord(name: string): string {
  return name.split(".").at(-1) ?? "";
}
