import { readJson } from "../../../postgres/read/read_trusted.ts";
import { quoteLiteral } from "../../../postgres/sql_text.ts";
import { unspaced } from "../../../rag_server/keyword/fold_sql.ts";
import { type Check, createCheck, note, warning } from "../check.ts";
import { bareName, commandsFor } from "./keyword_index_check.ts";
import type { TableSubject } from "./table_subject.ts";

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
