import { ownCommand, shellWord } from "../../../core/own_command.ts";
import { AppError } from "../../../core/app_error.ts";
import { type KeywordIndex, mayReadSql } from "../../../rag_server/keyword/find_keyword_index.ts";
import { indexFormat, indexTable } from "../../../rag_server/keyword/index_record.ts";
import { fewTexts, keywordIndexOf } from "../../../rag_server/search/searched_table.ts";
import { readJson } from "../../../postgres/read/read_trusted.ts";
import { type Check, type CheckResult, createCheck, note, warning } from "../check.ts";
import { isWritable, rowsText, type TableSubject } from "./table_subject.ts";
import { quoteIdentifier, quoteLiteral } from "../../../postgres/sql_text.ts";
import { longestScan } from "../../../rag_server/keyword/keyword_search.ts";
import { unspaced } from "../../../rag_server/keyword/fold_sql.ts";

/** The share of changed documents from which the counts of words are too old. */
const staleFrom = 0.2;

/** What Postern noted of an index that it makes or made. */
interface IndexRecord {
  readonly state: string;
  readonly format: number;
  readonly config: string;
  readonly configColumn: string | null;
  readonly idColumn: string;
}

/** Whether an index ranks the documents by words, and is up to date. */
export function keywordIndexCheck(subject: TableSubject): Check {
  return createCheck(`keyword index of ${subject.settings.table}`, async (signal) => {
    if (await isHeld(subject, signal)) return [heldResult(subject)];
    const record = await readRecord(subject, signal);
    const fault = record === undefined ? undefined : recordFault(subject, record);
    if (fault !== undefined) return [fault];
    try {
      return [
        indexResult(
          subject,
          await keywordIndexOf(subject.database, subject.table, subject.settings, signal),
        ),
      ];
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
      return [warning(thrown.message, commandsFor(subject).make)];
    }
  });
}

async function readRecord(
  { database, facts, settings }: TableSubject,
  signal: AbortSignal,
): Promise<IndexRecord | "unreadable" | undefined> {
  const mayRead = await readJson<boolean>(
    database,
    signal,
    `SELECT to_json((${mayReadSql(indexTable)}))`,
  );
  if (mayRead === undefined) return undefined;
  if (!mayRead) return "unreadable";
  return await readJson<IndexRecord>(database, signal, recordSql, [facts.oid, settings.textColumn]);
}

const recordSql = `SELECT json_build_object('state', state, 'format', format, 'config', config,
    'configColumn', config_column, 'idColumn', id_column)
  FROM ${indexTable} WHERE source = $1::oid AND text_column = $2`;

function recordFault(subject: TableSubject, record: IndexRecord | "unreadable"): CheckResult | undefined {
  const { make, remake } = commandsFor(subject);
  if (record === "unreadable") {
    return warning(
      `Role ${subject.facts.role} may not read the keyword indexes, so no question uses them`,
      make,
    );
  }
  if (record.state === "broken") return warning("The keyword index no longer follows its table", remake);
  const wanted = subject.settings.textSearchConfig ?? "english";
  const isOther = wanted !== record.configColumn &&
    (record.configColumn !== null || !isSameConfig(record.config, wanted));
  if (isOther) {
    return warning(
      `The keyword index uses text search configuration ${
        record.configColumn ?? record.config
      }, not ${wanted}`,
      remake,
    );
  }
  if (record.format > indexFormat) {
    return warning(
      `A newer version of Postern made the keyword index (format ${record.format} in ${indexTable}; this version reads up to ` +
        `${indexFormat}), so no question uses it`,
      "-- Run that version, or have it drop the index (-drop-index), then make it with this one",
    );
  }
  if (record.format < indexFormat) {
    return warning("An older version of Postern made the keyword index, so no question uses it", remake);
  }
  if (record.idColumn !== subject.table.key.name) {
    return warning("The keyword index has another id column than the pipeline", remake);
  }
  if (record.state !== "ready") {
    return warning("The keyword index is unfinished, or is being built now", make);
  }
  return undefined;
}

/** Whether row-level security holds the role that reads, to which the index is closed. */
async function isHeld({ database, facts }: TableSubject, signal: AbortSignal): Promise<boolean> {
  const held =
    "SELECT to_json(relkind IN ('r', 'p') AND row_security_active(oid)) FROM pg_class WHERE oid = $1::oid";
  return await readJson<boolean>(database, signal, held, [facts.oid]) ?? false;
}

function heldResult(subject: TableSubject): CheckResult {
  const { facts, settings } = subject;
  const told = `none, because row-level security holds role ${facts.role}`;
  const vector = facts.columns.some(({ typeName }) => typeName === "tsvector");
  if (facts.rows < fewTexts || vector) return note(told);
  const config = bareName(settings.textSearchConfig ?? "english");
  return warning(
    `There is no keyword index, because row-level security holds role ${facts.role}, so questions read the texts of ` +
      rowsText(facts.rows),
    addWordsColumn(subject, config),
  );
}

function indexResult(subject: TableSubject, index: KeywordIndex): CheckResult {
  const { make } = commandsFor(subject);
  const { facts, settings } = subject;
  if (index.kind === "tsvector") {
    const wanted = settings.textSearchConfig ?? "english";
    if (index.vector !== undefined && !isSameConfig(index.config, wanted)) {
      return warning(
        `The text's GIN index uses text search configuration ${index.config}, not ${wanted}`,
        make,
      );
    }
    if (facts.rows < fewTexts) return note(`none; ${rowsText(facts.rows)} do not need one`);
    if (facts.kind !== "r" && facts.kind !== "p") return note("none, because only a table can have one");
    return warning(`There is no keyword index, so questions read the texts of ${rowsText(facts.rows)}`, make);
  }
  if (index.kind !== "postern") return note(`of the extension ${index.kind}`);
  if (index.staleness > staleFrom) {
    const share = Math.round(100 * index.staleness);
    return warning(
      `The keyword index has old word counts: ${share} % of the documents have changed since it counted`,
      make,
    );
  }
  return note(`${index.documents.toLocaleString("en-US")} documents`);
}

function isSameConfig(one: string, other: string): boolean {
  return bareName(one) === bareName(other);
}

export function bareName(config: string): string {
  return config.replace(/^.*\./, "").toLowerCase();
}

export function commandsFor({ pipeline }: TableSubject): { readonly make: string; readonly remake: string } {
  const { name } = ownCommand();
  const make = `${name} -index-pipeline ${shellWord(pipeline)}`;
  return { make, remake: `${name} -drop-index ${shellWord(pipeline)}\n${make}` };
}

/**
 * Whether a table whose callers have rows of their own has the words of its texts in a column: without one each text
 * that a caller may see is analysed again, or none is where these are too many.
 */
export function wordsColumnCheck(subject: TableSubject): Check {
  const { database, table, settings } = subject;
  return createCheck(`words of ${settings.table}`, async (signal) => {
    try {
      const index = await keywordIndexOf(database, table, settings, signal);
      if (index.kind !== "tsvector") return [];
      return [index.vector === undefined ? missing(subject, index.config) : note(`in ${index.vector}`)];
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
      return [warning(thrown.message, "-- Correct the table's settings in the configuration")];
    }
  });
}

function missing(subject: TableSubject, config: string): CheckResult {
  const { facts } = subject;
  if (facts.rows < fewTexts) return note(`in no column; ${rowsText(facts.rows)} do not need one`);
  const message =
    `No tsvector column with a GIN index has the words of ${facts.relation}, so questions read the texts that their ` +
    `caller may see; where these are more than ${longestScan.text}, they are searched by meaning alone`;
  return warning(
    message,
    isWritable(facts.kind)
      ? addWordsColumn(subject, config)
      : `-- Name a table that has such a column in the configuration: the indexes below ${facts.relation} do not count`,
  );
}

/** SQL for a column that keeps the words of a table's texts, and the index that tells which column it is. */
function addWordsColumn({ facts, settings, table }: TableSubject, config: string): string {
  const words = `to_tsvector(${quoteLiteral(config)}, ${quoteIdentifier(settings.textColumn)})`;
  const column = quoteIdentifier(table.columns.has("words") ? `${settings.textColumn}_words` : "words");
  return `ALTER TABLE ${facts.relation} ADD COLUMN ${column} tsvector GENERATED ALWAYS AS (${words}) STORED;
CREATE INDEX ON ${facts.relation} USING gin (${column});`;
}

/** What is read of a table's texts. */
const sample = { rows: 100, characters: 1_000, words: 500 } as const;
/** The share of a text's letters from which a script is the text's own. */
const leastLetters = 0.3;
/** The share of a text's words that a language's list of stop words has at least, and how much more than the configured one's. */
const leastStops = 0.2;
const clearly = 1.4;

/** Scripts without blanks, and of languages for which PostgreSQL has a configuration without stop words. */
const scripts: Readonly<Record<string, string>> = {
  unspaced,
  greek: "[\\u0370-\\u03FF]",
  arabic: "[\\u0600-\\u06FF]",
  hindi: "[\\u0900-\\u097F]",
  tamil: "[\\u0B80-\\u0BFF]",
  armenian: "[\\u0530-\\u058F]",
};

/** Shares by the names of configurations, from 0 to 1. */
interface Shares {
  readonly stops: Readonly<Record<string, number>>;
  readonly letters: Readonly<Record<string, number>>;
}

/** Whether the texts are in the language that the configuration names, as a sample of their words and letters tells. */
export function languageCheck(subject: TableSubject): Check {
  const { database, settings, table } = subject;
  const { textSearchConfig = "english" } = settings;
  return createCheck(`language of ${settings.table}`, async (signal) => {
    if (table.columns.has(textSearchConfig)) return [];
    const shares = await readJson<Shares>(database, signal, sharesSql(table.relation, table.textColumn));
    if (shares === undefined) return [];
    const configured = bareName(textSearchConfig);
    const spoken = languageOf(shares, configured);
    if (spoken === "unspaced") {
      return [note("its texts have no blanks between words, so pairs of letters are searched")];
    }
    if (spoken === undefined || spoken === configured) return [];
    return [
      warning(
        `The texts look ${spoken}, but text_search_config is ${configured}, so forms of a word are taken for others`,
        `-- Set text_search_config: ${spoken} for table ${settings.table} in the configuration, then:\n${
          commandsFor(subject).remake
        }`,
      ),
    ];
  });
}

function languageOf({ stops, letters }: Shares, configured: string): string | undefined {
  const [script] = Object.entries(letters).find(([, share]) => share > leastLetters) ?? [];
  if (script !== undefined) return script;
  const [[best, share] = ["", 0]] = Object.entries(stops).sort(([, one], [, other]) => other - one);
  return share >= leastStops && share > clearly * (stops[configured] ?? 0) ? best : undefined;
}

function sharesSql(relation: string, textColumn: string): string {
  const shareOf = (letters: string) =>
    `coalesce((SELECT sum(length(regexp_replace(t COLLATE "C", ${
      quoteLiteral(letters)
    }, '', 'g')) - length(t))::float8
      / -greatest(sum(length(t)), 1) FROM sample), 0)`;
  const ofScripts = Object.entries(scripts).map(([name, letters]) => `'${name}', ${shareOf(letters)}`);
  return `WITH sample AS MATERIALIZED (
      SELECT left(${textColumn}::text, ${sample.characters}) AS t FROM ${relation}
      WHERE ${textColumn} IS NOT NULL LIMIT ${sample.rows}
    ), words AS MATERIALIZED (
      SELECT u.lexeme, sum(cardinality(u.positions)) AS count
      FROM sample CROSS JOIN LATERAL unnest(to_tsvector('pg_catalog.simple', t)) u
      WHERE u.lexeme !~ '[0-9./@-]' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${sample.words}
    ), stops AS (
      SELECT c.cfgname, (SELECT sum(w.count) FILTER (WHERE to_tsvector(c.oid::regconfig, w.lexeme) = '') / sum(w.count)
        FROM words w) AS share
      FROM pg_ts_config c WHERE c.cfgnamespace = 'pg_catalog'::regnamespace
    )
    SELECT json_build_object('letters', json_build_object(${ofScripts.join(", ")}),
      'stops', (SELECT coalesce(json_object_agg(cfgname, coalesce(share, 0)), '{}') FROM stops))`;
}
