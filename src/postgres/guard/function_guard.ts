import { createLatestByText } from "../../core/latest_by_text.ts";
import { isHarmless } from "./harmless_functions.ts";
import { reachQueries, unnamedCallsQuery } from "./reach_query.ts";
import { refusedFunctionNames, whyRefused } from "./refused_functions.ts";
import type { StatementNames } from "./statement_names.ts";

/** Runs one of our own statements; rows of text. */
export type LookUp = (
  sql: string,
  parameters: readonly string[],
) => Promise<readonly (readonly (string | null)[])[]>;

interface FunctionGuardOptions {
  /** VOLATILE functions that may be called: `name` or `schema.name`. */
  readonly allowedFunctions: readonly string[];
  readonly now?: () => number;
}

/** A function, and what in the statement may call it. */
interface Call {
  readonly subject: string;
  readonly via: string;
  readonly schema: string;
  readonly name: string;
  readonly extension: string | undefined;
  readonly isBuiltIn: boolean;
  readonly isVolatile: boolean;
  /** The statement itself names it, so the check by name has passed it already. */
  readonly isNamed: boolean;
}

/** A result is reused for so long only, because the meaning of a name may change at any time. */
const rememberedMs = 5_000;
const maxRememberedBytes = 4 * 1_048_576;

/** Looks at what the names of a statement mean in a database, by the database's own catalogs. */
export function createFunctionGuard({ allowedFunctions, now = Date.now }: FunctionGuardOptions) {
  const allowed = new Set(allowedFunctions);
  const refused = JSON.stringify(refusedFunctionNames);
  let unnamed = { exist: false, until: -Infinity };
  const remembered = createLatestByText<{ readonly reason: string | undefined; readonly until: number }>({
    maxBytes: maxRememberedBytes,
  });
  // the names of a statement that the guard remembers are the same object
  const texts = new WeakMap<StatementNames, string>();

  function textOf(names: StatementNames): string {
    const text = texts.get(names) ?? JSON.stringify(names);
    texts.set(names, text);
    return text;
  }

  /** The query that follows all that this database has. */
  async function queryFor(lookUp: LookUp): Promise<string> {
    if (unnamed.until <= now()) {
      const until = now() + rememberedMs;
      const [[exist] = []] = await lookUp(unnamedCallsQuery, [refused]);
      unnamed = { exist: exist === "true", until };
    }
    return unnamed.exist ? reachQueries.unnamed : reachQueries.named;
  }

  return {
    /**
     * Why the statement must not run, and what to do; undefined where it may. `cacheKey` holds what decides the meaning
     * of a name besides the database: the role and its search path. `lookUp` runs SQL in the statement's transaction.
     */
    async check(names: StatementNames, cacheKey: string, lookUp: LookUp): Promise<string | undefined> {
      if (names.length === 0) return undefined;
      const wanted = textOf(names);
      const key = `${cacheKey}\n${wanted}`;
      const known = remembered.get(key);
      if (known !== undefined && known.until > now()) return known.reason;
      const rows = await lookUp(await queryFor(lookUp), [wanted, refused]);
      const reason = rows.map((row) => reasonAgainst(callOf(row), allowed)).find((text) =>
        text !== undefined
      );
      const reasonBytes = 2 * (reason?.length ?? 0);
      remembered.set(key, { reason, until: now() + rememberedMs }, reasonBytes);
      return reason;
    },
  };
}

function callOf(row: readonly (string | null)[]): Call {
  const [subject, via, schema, name, extension, isBuiltIn, isVolatile, isNamed] = row;
  return {
    subject: subject ?? "",
    via: via ?? "",
    schema: schema ?? "",
    name: name ?? "",
    extension: extension ?? undefined,
    isBuiltIn: isBuiltIn === "true",
    isVolatile: isVolatile === "true",
    isNamed: isNamed === "true",
  };
}

function reasonAgainst(call: Call, allowed: ReadonlySet<string>): string | undefined {
  const { subject, via, schema, name, extension } = call;
  // a user-made function that only shares its name with a refused one is judged by its volatility
  const isMeant = !call.isNamed && (call.isBuiltIn || extension !== undefined);
  const action = isMeant ? whyRefused(schema, name) : undefined;
  if (action !== undefined) return `"${subject}" is not allowed: it calls ${name}(), and ${action}`;
  if (name === "ts_rewrite" && call.isNamed) return undefined;
  if (!call.isVolatile || isHarmless(name, call.isBuiltIn ? undefined : extension ?? "")) return undefined;
  if (allowed.has(name) || allowed.has(`${schema}.${name}`)) return undefined;
  const full = `${schema}.${name}()`;
  if (call.isBuiltIn) {
    return `${full} is not allowed: PostgreSQL marks it VOLATILE, and it is not known to be harmless`;
  }
  const origin = via === "cast" ? `the cast from ${subject} calls` : `"${subject}" calls`;
  const start = via === "function" && subject === name
    ? `${full} is not allowed: it is`
    : `${origin} ${full}, which is`;
  return `${start} VOLATILE, so it may write; an administrator can declare it STABLE or name it in allowed_functions`;
}
