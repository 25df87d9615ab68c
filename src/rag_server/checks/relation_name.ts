import { quoteIdentifier } from "../../postgres/sql_text.ts";

/** A table's name for SQL, its schema as well where it has one. */
export interface RelationName {
  readonly relation: string;
  readonly schema?: string;
}

const part = /"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*/u.source;
const quoted = new RegExp(`^(?:(${part})\\.)?(${part})$`, "u");

/** A name as it is configured, quoted where it is not yet; undefined where it is the name of no table. */
export function relationName(table: string): RelationName | undefined {
  const parts = table.includes('"')
    ? quoted.exec(table)?.slice(1).filter((part) => part !== undefined)
    : table.split(".").map(quoteIdentifier);
  if (parts === undefined || parts.length > 2 || parts.includes('""')) return undefined;
  const [first = "", second] = parts;
  return second === undefined ? { relation: first } : { relation: `${first}.${second}`, schema: first };
}
