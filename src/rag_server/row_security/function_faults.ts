import type { IsolationFault } from "./isolation_fault.ts";
import { hasOwnSettings, hasParsedBody, isBuiltIn, isSupplied } from "./reach_sql.ts";

/** A function that a read may run, and that could show what no policy filters. Names are quoted for SQL. */
export interface FunctionFacts {
  readonly name: string;
  /** The relation in whose definition it stands, or a function below it. */
  readonly holder: string;
  readonly isView: boolean;
  readonly why: "definer" | "text" | "settings" | "opaque";
}

/**
 * What a function may show cannot be told from its volatility, which is a claim, nor from its language. So one that a
 * user made counts as harmless only where PostgreSQL has parsed its body, and so recorded what that reads.
 */
export function functionFault({ name, holder, isView, why }: FunctionFacts): IsolationFault {
  const runs = `${isView ? "view" : "table"} ${holder} runs ${name}`;
  const leaveOut = isView ? "Leave it out of the view" : "Give the column another type";
  switch (why) {
    case "definer":
      return {
        message: `${runs}, which reads with the rights of its owner`,
        remedy: `ALTER FUNCTION ${name} SECURITY INVOKER;`,
      };
    case "text":
      return {
        message: `${runs}, which may read what no policy filters, or change what a policy asks`,
        remedy: `-- ${leaveOut}`,
      };
    case "settings":
      return {
        message: `${runs}, which has settings of its own, and a policy may ask them`,
        remedy: `ALTER FUNCTION ${name} RESET ALL;`,
      };
    case "opaque":
      return {
        message: `${runs}, and PostgreSQL does not know what that reads`,
        remedy:
          `-- ${leaveOut}; or write the function in SQL with a parsed body: RETURN …, or BEGIN ATOMIC … END`,
      };
  }
}

/** The {@linkcode FunctionFacts} of `reach`: SQL for JSON. $7: names of supplied functions that a policy does not hold. */
export const functionFactsSql = `(SELECT coalesce(json_agg(DISTINCT jsonb_build_object('name', f.name,
      'holder', format('%I.%I', hn.nspname, h.relname), 'isView', h.relkind = 'v', 'why', f.why)), '[]')
    FROM (
      SELECT r.holder,
        format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)) AS name,
        CASE WHEN p.prosecdef THEN 'definer'
          WHEN ${isSupplied("'pg_proc'", "p.oid")} THEN CASE WHEN p.proname = ANY($7::text[])
            -- with three arguments it runs none of them
            AND NOT (p.proname = 'ts_rewrite' AND p.pronargs = 3 AND ${isBuiltIn("p.oid")}) THEN 'text' END
          WHEN p.prokind = 'a' THEN NULL
          WHEN NOT ${hasParsedBody} THEN 'opaque'
          WHEN ${hasOwnSettings} THEN 'settings' END AS why
      FROM reach r JOIN pg_proc p ON r.class = 'function' AND p.oid = r.oid
      JOIN pg_namespace n ON n.oid = p.pronamespace
    ) f JOIN pg_class h ON h.oid = f.holder JOIN pg_namespace hn ON hn.oid = h.relnamespace
    WHERE f.why IS NOT NULL)`;
