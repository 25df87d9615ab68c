import type { Buffer } from "node:buffer";
import { serialize } from "pg-protocol";
import { sha256 } from "../../core/sha256.ts";
import type { pg } from "../connection.ts";

/** How many statements one session keeps: each may hold some 100 kB of the server's memory. */
const keptAtMost = 8;

interface Statement {
  /** It follows from the text, so that a session which is not the one we take it for has no other statement under it. */
  readonly name: string;
  /** Whether the session has it, as far as is known. */
  isPrepared: boolean;
}

/** By session, the statements that it keeps, by their texts; the one that was asked for last comes last. */
const statementsOf = new WeakMap<pg.Client, Map<string, Statement>>();

interface KeptStatement {
  readonly name: string;
  /** What to send first: nothing where the session has the statement. */
  readonly preparation: readonly Buffer[];
  /** The server comes to the preparation: it replaces the one that was not asked for the longest, and keeps this one. */
  begun(): void;
  /** Has it prepared anew the next time. */
  forget(): void;
}

/**
 * A statement that a session keeps under a name, so that the server parses it once (PostgreSQL manual, "Extended Query": a
 * named statement lasts until it is closed). It takes the place of the one that was not asked for the longest. What was sent
 * after a statement that fails is not run, so nothing is noted before the server has come to it.
 */
export function keptStatement(client: pg.Client, text: string): KeptStatement {
  const statements = statementsOf.get(client) ?? new Map<string, Statement>();
  statementsOf.set(client, statements);
  const known = statements.get(text);
  const statement = known ?? { name: nameOf(text), isPrepared: false };
  const { name, isPrepared } = statement;
  const [oldest] = statements;
  const replaced = known === undefined && statements.size >= keptAtMost ? oldest : undefined;
  // to close what is not there is no error
  const closing = [replaced?.[1].name, isPrepared ? undefined : name].filter((name) => name !== undefined);
  return {
    name,
    preparation: [
      ...closing.map((name) => serialize.close({ type: "S", name })),
      ...(isPrepared ? [] : [serialize.parse({ name, text })]),
    ],
    begun() {
      if (replaced !== undefined) statements.delete(replaced[0]);
      // it comes last
      statements.delete(text);
      statements.set(text, statement);
      statement.isPrepared = true;
    },
    forget: () => void (statement.isPrepared = false),
  };
}

/** At most 63 bytes, which PostgreSQL's names have. */
function nameOf(text: string): string {
  return `postern_${sha256(text).slice(0, 32)}`;
}
