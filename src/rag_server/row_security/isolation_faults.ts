import {
  type Inheritance,
  inheritanceSql,
  keepFromInheriting,
} from "../../postgres/caller_setting_faults.ts";
import type { Database } from "../../postgres/database.ts";
import type { CallerOptions } from "../../postgres/read/caller_settings.ts";
import { pastPolicies } from "../../postgres/guard/refused_functions.ts";
import { arrayText, quoteIfNeeded, quoteLiteral } from "../../postgres/sql_text.ts";
import { readJson, readRows } from "../../postgres/read/read_trusted.ts";
import { findRelation } from "../search/document_table.ts";
import { hasOwnSettings, hasParsedBody, isBuiltIn, isSupplied, reachSql } from "./reach_sql.ts";

/** The roles that are looked at. */
export interface LookedAtRoles {
  /** Whether the role that the database was opened with is one of them. */
  readonly login: boolean;
  /** Whether every role is that the login may take. */
  readonly members: boolean;
  readonly named: readonly string[];
  /** Those of the above that rows are read as, for which there must be a policy. */
  readonly reading: "login" | readonly string[];
  /** Whether callers whom no role is known of read as the login besides. */
  readonly readsAsLogin: boolean;
  /** What a policy for them could ask, as SQL. */
  readonly condition: string;
}

/** The roles that a pipeline's settings may lead to, as far as they are known before a caller comes. */
export function rolesOf(settings: Omit<CallerOptions, "name">): LookedAtRoles {
  const { roleFromUser, roleFromClaim, isRoleOptional = false, allowedRoles = [] } = settings;
  const byClaim = roleFromClaim !== undefined && allowedRoles.length > 0;
  return {
    login: true,
    members: roleFromUser,
    named: byClaim ? allowedRoles : [],
    // which of its roles a caller has is not known before: each is looked at when it is taken
    reading: roleFromUser ? [] : byClaim ? allowedRoles : "login",
    readsAsLogin: byClaim && isRoleOptional,
    condition: policyCondition(settings),
  };
}

/** The role of one caller. */
export const roleOfCaller = (role: string, settings: Omit<CallerOptions, "name">): LookedAtRoles => ({
  login: false,
  members: false,
  named: [role],
  reading: [role],
  readsAsLogin: false,
  condition: policyCondition(settings),
});

/**
 * What keeps row-level security from deciding alone which rows of the tables each role sees; none where it does. It
 * looks below views, at partitions and at what functions read. A table that does not exist has no fault here.
 *
 * @param tables as they are configured
 * @throws {AppError} where the catalog cannot be read
 */
export async function isolationFaults(
  database: Database,
  tables: readonly string[],
  roles: LookedAtRoles,
  signal: AbortSignal,
): Promise<IsolationFault[]> {
  const read = (text: string, parameters: readonly string[] = []) =>
    readRows(database, signal, text, parameters);
  const names = arrayText(roles.named);
  const reading = roles.reading === "login" ? "{}" : arrayText(roles.reading);
  const { login, members, readsAsLogin } = roles;
  const flags = [login, members, roles.reading === "login"].map(String);
  const ofTables = await Promise.all(tables.map(async (table) => {
    const found = await findRelation(read, table);
    if (found === undefined) return undefined;
    const parameters = [found.oid, names, reading, ...flags, arrayText(pastPolicies), String(readsAsLogin)];
    return await readJson<Facts>(database, signal, factsSql, parameters);
  }));
  const known = ofTables.filter((facts) => facts !== undefined);
  const faults = known.flatMap((facts) => facts.roles).map(roleFault)
    .concat(
      known.flatMap(({ relations }) => relations.flatMap((facts) => relationFaults(facts, roles.condition))),
    )
    .concat(known.flatMap(({ catalogs }) => catalogs.map(catalogFault)))
    .concat(known.flatMap(({ functions }) => functions.map(functionFault)));
  return [...new Map(faults.map((fault) => [fault.message, fault])).values()];
}

/** Names are quoted for SQL. */
interface Facts {
  /** Those that no policy holds. */
  readonly roles: readonly UnheldRole[];
  readonly relations: readonly RelationFacts[];
  readonly functions: readonly FunctionFacts[];
  /** Those of PostgreSQL's catalogs that are not for everyone, and that a view reads with its owner's rights. */
  readonly catalogs: readonly { readonly view: string; readonly name: string }[];
}

interface UnheldRole {
  readonly name: string;
  readonly isSuperuser: boolean;
}

interface RelationFacts {
  readonly name: string;
  /** `pg_class.relkind` */
  readonly kind: string;
  readonly isEnabled: boolean;
  readonly isForced: boolean;
  readonly isPart: boolean;
  /** Of the roles, those that own it. */
  readonly owners: readonly string[];
  /** Of the reading roles, those that it has no policy for. */
  readonly withoutPolicy: readonly string[];
  /** Of the other roles, those whose policies here the login has without taking the role, where callers read as it. */
  readonly inherited: readonly { readonly role: string; readonly how: Inheritance }[];
  /** The view that reads it with the rights of its owner, who is held instead of the caller. */
  readonly view: {
    readonly name: string;
    readonly owner: string;
    readonly isSuperuser: boolean;
    readonly bypasses: boolean;
    readonly ownsTable: boolean;
    readonly hasPolicy: boolean;
  } | null;
}

const kindNames: Readonly<Record<string, string>> = {
  m: "a materialized view",
  f: "a foreign table",
  t: "a TOAST table",
};

function relationFaults(facts: RelationFacts, condition: string): IsolationFault[] {
  const { name, kind, isEnabled, isForced, isPart, owners, withoutPolicy, inherited, view } = facts;
  const kindName = kindNames[kind];
  if (kindName !== undefined && !isPart) {
    return [{
      message: `${name} is ${kindName}, which no policy filters`,
      remedy: "-- Have the pipeline name a table with row-level security, or a view over one",
    }];
  }
  const faults: IsolationFault[] = [];
  if (!isEnabled && kindName === undefined) {
    faults.push({
      message: `row-level security is not enabled for ${name}`,
      remedy: `ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY;`,
    });
  }
  for (const owner of owners) {
    faults.push({
      message: `role ${owner} owns ${name}, and so decides itself what row-level security does there`,
      remedy: `-- Give it to a role that nobody reads as:\nALTER TABLE ${name} OWNER TO another_role;`,
    });
  }
  if (view !== null && (view.isSuperuser || view.bypasses)) {
    const why = view.isSuperuser ? "a superuser," : "who has BYPASSRLS and";
    faults.push({
      message: `view ${view.name} reads ${name} as ${view.owner}, ${why} whom no policy holds`,
      remedy:
        `-- Have it read as who asks, who then needs SELECT on ${name} too (PostgreSQL 15 or later):\nALTER VIEW ${view.name} SET (security_invoker = on);\n-- Or give it to a role that a policy holds: ALTER VIEW ${view.name} OWNER TO another_role;`,
    });
  }
  if (view?.ownsTable && !isForced) {
    faults.push({
      message: `view ${view.name} reads ${name} as ${view.owner}, who owns it and whom no policy holds`,
      remedy: `ALTER TABLE ${name} FORCE ROW LEVEL SECURITY;`,
    });
  }
  // PostgreSQL asks the policies of the table that a statement names, and those of no partition below it
  if (isPart) return faults;
  for (const { role, how } of view === null ? inherited : []) {
    faults.push({
      message:
        `role ${how.login} inherits the policies of role ${role} on ${name}, and callers without a role read as ${how.login}`,
      remedy: keepFromInheriting(how),
    });
  }
  const unheld = view === null ? withoutPolicy : view.hasPolicy ? [] : [view.owner];
  for (const role of unheld) {
    faults.push({
      message: `${name} has no policy for what role ${role} reads`,
      remedy:
        `-- With the condition that fits:\nCREATE POLICY own_rows ON ${name} FOR SELECT TO ${role} USING (${condition});`,
    });
  }
  return faults;
}

function roleFault({ name, isSuperuser }: UnheldRole): IsolationFault {
  return {
    message: isSuperuser
      ? `role ${name} is a superuser, whom no policy holds`
      : `role ${name} has BYPASSRLS, so no policy holds it`,
    remedy: isSuperuser
      ? "-- Have another role read: -setup-role prints the SQL that makes one"
      : `ALTER ROLE ${name} NOBYPASSRLS;`,
  };
}

function catalogFault({ view, name }: Facts["catalogs"][number]): IsolationFault {
  return {
    message: `view ${view} reads ${name}, which no policy filters, with the rights of its owner`,
    remedy: `-- Leave it out of the view, or have the view read with the caller's rights:
ALTER VIEW ${view} SET (security_invoker = true);`,
  };
}

/** One text for a log: all faults, each with its remedy. */
export function faultsText(faults: readonly IsolationFault[]): string {
  const most = 5;
  const shown = faults.slice(0, most).map(({ message, remedy }) =>
    `${message} (${remedy.replaceAll("-- ", "").replaceAll("\n", " ")})`
  );
  const others = faults.length > most ? [`${faults.length - most} more, which -doctor lists`] : [];
  return [...shown, ...others].join("; ");
}

const holdsOwner = (role: string) => `pg_has_role(${role}, c.relowner, 'USAGE')`;

/** Whether a permissive policy for SELECT applies to a role, as PostgreSQL decides it, or to it and not to everyone. */
const hasPolicy = (role: string, ofEveryone = true) =>
  `EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polpermissive AND p.polcmd IN ('r', '*')
      AND EXISTS (SELECT FROM unnest(p.polroles) r
        WHERE CASE WHEN r = 0 THEN ${ofEveryone} ELSE pg_has_role(${role}, r, 'USAGE') END))`;

/** The {@linkcode FunctionFacts} of `reach`: SQL for JSON. $7: names of supplied functions that a policy does not hold. */
const functionFactsSql = `(SELECT coalesce(json_agg(DISTINCT jsonb_build_object('name', f.name,
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

/**
 * Reads of a relation, $1, with roles: those named in $2, the login where $4, all that it may take where $5. Those in $3 read,
 * or the login where $6. A view reads with its owner's rights what is below it, unless it is security_invoker; a view below
 * it again has rights of its own. $7: names of functions that no policy holds. $8: whether callers read as the login.
 */
const factsSql = `WITH RECURSIVE ${reachSql}, taken AS (
  SELECT r.oid, quote_ident(r.rolname) AS name, r.rolsuper, r.rolbypassrls,
    CASE WHEN $6::bool THEN r.rolname = current_user ELSE r.rolname = ANY($3::text[]) END AS reads
  FROM pg_roles r WHERE r.rolname = ANY($2::text[]) OR ($4::bool AND r.rolname = current_user)
    OR ($5::bool AND current_setting('is_superuser') = 'off' AND pg_has_role(r.oid, 'MEMBER'))
), held AS (SELECT * FROM taken WHERE NOT rolsuper)
SELECT json_build_object(
  'roles', (SELECT coalesce(json_agg(json_build_object('name', name, 'isSuperuser', rolsuper) ORDER BY name), '[]')
    FROM taken WHERE rolsuper OR rolbypassrls),
  'relations', (SELECT coalesce(json_agg(json_build_object(
      'name', format('%I.%I', n.nspname, c.relname), 'kind', c.relkind, 'isEnabled', c.relrowsecurity,
      'isForced', c.relforcerowsecurity, 'isPart', b.is_part,
      'owners', (SELECT coalesce(json_agg(name ORDER BY name), '[]') FROM held
        WHERE ${holdsOwner("held.oid")}),
      'withoutPolicy', (SELECT coalesce(json_agg(name ORDER BY name), '[]') FROM held
        WHERE reads AND NOT ${hasPolicy("held.oid")}),
      'inherited', (SELECT coalesce(json_agg(json_build_object('role', t.name, 'how', i.how) ORDER BY t.name), '[]')
        FROM taken t CROSS JOIN LATERAL (SELECT ${inheritanceSql("t.oid")}) i(how)
        WHERE $8::bool AND t.name <> quote_ident(current_user) AND i.how IS NOT NULL
          AND ${hasPolicy("t.oid", false)}),
      'view', CASE WHEN v.oid IS NOT NULL THEN json_build_object('name', format('%I.%I', vn.nspname, v.relname),
        'owner', quote_ident(o.rolname), 'isSuperuser', o.rolsuper, 'bypasses', o.rolbypassrls,
        'ownsTable', ${holdsOwner("o.oid")}, 'hasPolicy', ${hasPolicy("o.oid")}) END
    ) ORDER BY n.nspname, c.relname), '[]')
    FROM (SELECT DISTINCT oid, reader, is_part FROM reach WHERE class = 'relation') b
    JOIN pg_class c ON c.oid = b.oid JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN (pg_class v JOIN pg_namespace vn ON vn.oid = v.relnamespace JOIN pg_roles o ON o.oid = v.relowner)
      ON v.oid = b.reader
    WHERE c.relkind IN ('r', 'p', 'm', 'f', 't') AND (NOT ${isBuiltIn("c.oid")} OR c.oid = $1::oid)),
  'catalogs', (SELECT coalesce(json_agg(DISTINCT jsonb_build_object('name', format('%I.%I', n.nspname, c.relname),
      'view', format('%I.%I', vn.nspname, v.relname))), '[]')
    FROM reach b JOIN pg_class c ON c.oid = b.oid JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_class v ON v.oid = b.reader JOIN pg_namespace vn ON vn.oid = v.relnamespace
    WHERE b.class = 'relation' AND ${isBuiltIn("c.oid")}
      AND NOT has_table_privilege('public', c.oid, 'SELECT')),
  'functions', ${functionFactsSql})`;

/** What a policy could ask, as SQL: by what tells the database who asks, and columns that are a guess. */
export function policyCondition({ sessionSettings }: Pick<CallerOptions, "sessionSettings">): string {
  const settings = Object.entries(sessionSettings);
  const value = (name: string) => `nullif(current_setting(${quoteLiteral(name)}, true), '')`;
  for (const [name, template] of settings) {
    const claim = /\{claim:([^{}]+)\}/.exec(template)?.[1];
    if (claim !== undefined) return `${quoteIfNeeded(claim)} = ${value(name)}`;
  }
  const claims = settings.find(([, template]) => template.includes("{claims}"));
  if (claims !== undefined) return `tenant = ${value(claims[0])}::json ->> 'tenant'`;
  const username = settings.find(([, template]) => template.includes("{username}"));
  return username === undefined ? "owner = current_user" : `owner = ${value(username[0])}`;
}

/** A function that a read may run, and that could show what no policy filters. Names are quoted for SQL. */
interface FunctionFacts {
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
function functionFault({ name, holder, isView, why }: FunctionFacts): IsolationFault {
  const runs = `${isView ? "view" : "table"} ${holder} runs ${name}`;
  const leaveOut = isView ? "Leave it out of the view" : "Give the column another type";
  const [clause, remedy] = ({
    definer: ["which reads with the rights of its owner", `ALTER FUNCTION ${name} SECURITY INVOKER;`],
    text: ["which may read what no policy filters, or change what a policy asks", `-- ${leaveOut}`],
    settings: [
      "which has settings of its own, and a policy may ask them",
      `ALTER FUNCTION ${name} RESET ALL;`,
    ],
    opaque: [
      "and PostgreSQL does not know what that reads",
      `-- ${leaveOut}; or write the function in SQL with a parsed body: RETURN …, or BEGIN ATOMIC … END`,
    ],
  } as const)[why];
  return { message: `${runs}, ${clause}`, remedy };
}

/** Why row-level security may show a caller rows of another. */
export interface IsolationFault {
  /** For operators: it names roles. */
  readonly message: string;
  /** SQL; text for the reader stands in lines that begin with `-- `. */
  readonly remedy: string;
}
