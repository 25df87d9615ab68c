import type { Catalog, CatalogTable } from "./catalog.ts";
import { readJson } from "../read/read_trusted.ts";
import type { Database } from "../database.ts";
import { didYouMean } from "../../core/text/near_name.ts";

/** Tells the columns whose values must not be shown: by what their names say, and by an administrator's patterns. */
export type ColumnRefusal = (table: Pick<CatalogTable, "schema" | "name">, column: string) => boolean;

/**
 * A pattern is `column`, `table.column` or `schema.table.column`; `*` in it stands for any characters but a dot, and
 * upper and lower case are the same.
 */
export function createColumnPatterns(excludedColumns: readonly string[]): ColumnRefusal {
  const patterns = excludedColumns.map(namePattern);
  return ({ schema, name }, column) =>
    patterns.some(({ dots, matches }) => matches([schema, name, column].slice(2 - dots).join("\n")));
}

/** Also of the columns whose names say that they hold something private. */
export function createColumnRefusal(excludedColumns: readonly string[]): ColumnRefusal {
  const isExcluded = createColumnPatterns(excludedColumns);
  return (table, column) => isPrivateName(column) || isExcluded(table, column);
}

/** A catalog that does not tell the values which an enumeration or a CHECK constraint lists for the excluded columns. */
export function withoutListedValues(catalog: Catalog, isExcluded: ColumnRefusal): Catalog {
  return {
    tables: catalog.tables.map((table) => {
      if (!table.columns.some(({ name }) => isExcluded(table, name))) return table;
      const columns = table.columns.map((column) =>
        isExcluded(table, column.name) ? { ...column, labels: [], allowedValues: [] } : column
      );
      return { ...table, columns };
    }),
  };
}

// a line end joins the names instead of a dot, which they may hold themselves
function namePattern(pattern: string): { dots: number; matches: (names: string) => boolean } {
  const parts = pattern.split(".").slice(-3);
  const source = parts
    .map((part) => part.split("*").map((text) => text.replace(/[^\p{L}\p{N}_]/gu, "\\$&")).join("[^\\n]*"))
    .join("\\n");
  const regex = new RegExp(`^${source}$`, "iu");
  return { dots: parts.length - 1, matches: (names) => regex.test(names) };
}

/** Whether one of the words of a column's name, `user_email` or `homePhone2`, stands for something private. */
function isPrivateName(column: string): boolean {
  const folded = column.toLowerCase().normalize("NFKD").replaceAll(/[^\p{L}]/gu, "");
  if (privateParts.some((part) => folded.includes(part))) return true;
  const words = column.replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2").toLowerCase().split(/[^\p{L}]+/u);
  return words.some((word, index) =>
    // the word, and what it is the plural of
    [word, word.replace(/s$/, ""), word.replace(/es$/, "")].some((one) =>
      privateWords.has(one) || privatePairs.has(`${words[index - 1] ?? ""} ${one}`)
    )
  );
}

const privateWords = new Set(
  ("password passwd passphrase passcode pwd secret token credential apikey otp totp pin salt hash signature email " +
    "emailaddress mail phone phonenumber telephone tel mobile fax ssn passport license licence address addr street " +
    "postcode postal zip zipcode latitude longitude birth birthday birthdate birthplace dob born iban creditcard " +
    "cvv cvc salary income diagnosis religion ethnicity race firstname lastname middlename fullname surname " +
    "forename username login nickname ip ipaddress cookie biometric private confidential").split(" "),
);

/** Names written in one word, and those of other languages; one column too many that is not shown does no harm. */
const privateParts =
  ("password passwd passwort kennwort contrasena pwhash clientsecret accesstoken apikey email phone telefon birth geburt " +
    "nacimiento naissance salary gehalt salaire diagnos medication gender ethnic religio creditcard passport vorname " +
    "nachname surname firstname lastname fullname patientname customername employeename strasse anschrift homeaddress " +
    "billingaddress shippingaddress streetaddress wohnadresse ssnumber iban").split(" ");

const privatePairs = new Set(
  ("first name|last name|middle name|full name|given name|family name|user name|display name|legal name|" +
    "contact name|customer name|employee name|owner name|api key|access key|national id|tax id|social security|" +
    "credit card|card number|account number").split("|"),
);

/** As JSON, a list of the tables and views that a reader may be shown. */
const relationsQuery = `
SELECT json_agg(r) FROM (
SELECT n.nspname AS schema, c.relname AS name, json_agg(a.attname) AS columns
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
GROUP BY n.nspname, c.relname) r`;

interface Relation {
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly string[];
}

/**
 * A warning for each pattern of `llm.excluded_columns` that matches no column of any of the databases: what it was to hide
 * is not hidden.
 *
 * @throws {AppError} as `readRows`, where a database cannot be read
 */
export async function unmatchedColumnWarnings(
  patterns: readonly string[],
  databases: readonly Database[],
  signal: AbortSignal,
): Promise<string[]> {
  if (patterns.length === 0 || databases.length === 0) return [];
  const read = (database: Database) => readJson<readonly Relation[]>(database, signal, relationsQuery);
  const relations = (await Promise.all(databases.map(read))).flatMap((found) => found ?? []);
  return patterns.flatMap((pattern, index) => {
    const matches = createColumnPatterns([pattern]);
    if (relations.some((relation) => relation.columns.some((column) => matches(relation, column)))) return [];
    const hint = didYouMean(pattern.split(".").at(-1) ?? "", relations.flatMap(({ columns }) => columns));
    return [
      `llm.excluded_columns[${index}] ${JSON.stringify(pattern)} matches no column of any database${hint}`,
    ];
  });
}
