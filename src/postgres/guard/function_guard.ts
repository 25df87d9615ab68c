import { createLatestByText } from "../../core/latest_by_text.ts";
import { closureQuery, hiddenFunctionsQuery } from "./hidden_calls.ts";
import { reachQuery } from "./reach_query.ts";
import { refusedFunctionNames, whyRefused } from "./refused_functions.ts";
import type { StatementNames } from "./statement_names.ts";

/** Runs one of our own statements; rows of text. */
export type LookUp = (
  sql: string,
  parameters: readonly string[],
) => Promise<readonly (readonly (string | null)[])[]>;

/** A function, and what may call it. */
interface Call {
  readonly subject: string;
  readonly schema: string;
  readonly name: string;
  readonly extension: string | undefined;
  readonly isBuiltIn: boolean;
  readonly isVolatile: boolean;
  /** The statement itself names it, so the check by name has passed it already. */
  readonly isNamed: boolean;
}

/** What statements may not touch in a database: as `reachQuery` takes it, and why, by class and OID. */
interface Forbidden {
  readonly text: string;
  readonly reasons: ReadonlyMap<string, string>;
}

/** A result is reused for so long only, because the meaning of a name may change at any time. */
const rememberedMs = 5_000;
const maxRememberedBytes = 4 * 1_048_576;

/** Looks at what the names of a statement mean in a database, by the database's own catalogs. */
export function createFunctionGuard({ allowedFunctions, now = Date.now }: {
  /** VOLATILE functions that may be called: `name` or `schema.name`. */
  readonly allowedFunctions: readonly string[];
  readonly now?: () => number;
}) {
  const allowed = new Set(allowedFunctions);
  const refused = JSON.stringify(refusedFunctionNames);
  let forbidden: Forbidden & { readonly until: number } = { ...nothing, until: -Infinity };
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

  async function forbiddenNow(lookUp: LookUp): Promise<Forbidden> {
    if (forbidden.until <= now()) {
      const until = now() + rememberedMs;
      forbidden = { ...await findForbidden(lookUp, refused, allowed), until };
    }
    return forbidden;
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
      const { text, reasons } = await forbiddenNow(lookUp);
      const rows = await lookUp(reachQuery, [wanted, refused, text]);
      const reason = rows.map((row) => reasonOf(row, reasons, allowed)).find((text) => text !== undefined);
      const reasonBytes = 2 * (reason?.length ?? 0);
      remembered.set(key, { reason, until: now() + rememberedMs }, reasonBytes);
      return reason;
    },
  };
}

const nothing: Forbidden = { text: "[]", reasons: new Map() };

async function findForbidden(
  lookUp: LookUp,
  refused: string,
  allowed: ReadonlySet<string>,
): Promise<Forbidden> {
  const hidden = new Map<string, Call>();
  for (const [oid, ...called] of await lookUp(hiddenFunctionsQuery, [refused])) {
    const call = callOf(["", ...called]);
    if (oid && whyNotCalled(call, allowed) !== undefined) hidden.set(oid, call);
  }
  if (hidden.size === 0) return nothing;
  const rows = await lookUp(closureQuery, [JSON.stringify([...hidden.keys()])]);
  const reasons = new Map<string, string>();
  for (const [type, oid, , , functionOid, via] of rows) {
    const call = hidden.get(functionOid ?? "");
    const [name, why] = call === undefined ? [] : whyNotCalled(call, allowed) ?? [];
    if (name !== undefined) reasons.set(`${type} ${oid}`, `${via} calls ${name}, and ${why}`);
  }
  const text = JSON.stringify(
    rows.map(([type, oid, cause, flat]) => ({ class: type, oid, cause, flat: flat === "true" })),
  );
  return { text, reasons };
}

function callOf(row: readonly (string | null | undefined)[]): Call {
  const [subject, schema, name, extension, isBuiltIn, isVolatile, isNamed] = row;
  return {
    subject: subject ?? "",
    schema: schema ?? "",
    name: name ?? "",
    extension: extension ?? undefined,
    isBuiltIn: isBuiltIn === "true",
    isVolatile: isVolatile === "true",
    isNamed: isNamed === "true",
  };
}

function reasonOf(
  [type, oid, subject, ...called]: readonly (string | null)[],
  reasons: ReadonlyMap<string, string>,
  allowed: ReadonlySet<string>,
): string | undefined {
  if (type === "name") {
    return `"${subject}" is not allowed: in a database that is not in UTF8, names of other than ASCII letters are short`;
  }
  if (type !== "function") {
    const start = subject ? `"${subject}" is not allowed: ` : "";
    return `${start}${reasons.get(`${type} ${oid}`) ?? "what it leads to is not known"}`;
  }
  const call = callOf([subject, ...called]);
  const [name, why] = whyNotCalled(call, allowed) ?? [];
  if (name === undefined) return undefined;
  return call.isNamed && subject === call.name
    ? `${name} is not allowed: ${why}`
    : `"${subject}" is not allowed: it calls ${name}, and ${why}`;
}

/** Which function it is and why it may not be called; undefined where it may. */
function whyNotCalled(
  call: Call,
  allowed: ReadonlySet<string>,
): readonly [called: string, why: string] | undefined {
  const { schema, name, extension, isBuiltIn } = call;
  // a user-made function that only shares its name with a refused one is judged by its volatility
  const isMeant = !call.isNamed && (isBuiltIn || extension !== undefined);
  const action = isMeant ? whyRefused(schema, name) : undefined;
  if (action !== undefined) return [`${name}()`, action];
  if (name === "ts_rewrite" && call.isNamed) return undefined;
  if (!call.isVolatile || isHarmless(name, isBuiltIn ? undefined : extension ?? "")) return undefined;
  if (allowed.has(name) || allowed.has(`${schema}.${name}`)) return undefined;
  const why = isBuiltIn
    ? "PostgreSQL marks it VOLATILE, and it is not known to be harmless"
    : "it is VOLATILE, so it may write; an administrator can declare it STABLE or IMMUTABLE, or name it in " +
      "allowed_functions";
  return [`${schema}.${name}()`, why];
}

/**
 * Built-in VOLATILE functions that read only, and change nothing that outlives the transaction. They are VOLATILE
 * because they tell the time, draw lots or look at the state of the server or the session. The list is closed: a
 * function that a later version brings is refused until it is here.
 */
const builtIn = new Set((
  // chance and time
  "random random_normal gen_random_uuid uuidv4 uuidv7 array_sample array_shuffle clock_timestamp timeofday " +
  // AT TIME ZONE, which PostgreSQL 14 marks VOLATILE for a time of day
  "timezone " +
  // the session
  "current_query currval lastval pg_jit_available pg_is_in_recovery pg_is_in_backup pg_stat_clear_snapshot " +
  "pg_stat_get_backend_io pg_stat_get_backend_wal pg_stat_get_io " +
  // sizes
  "pg_relation_size pg_table_size pg_indexes_size pg_total_relation_size pg_database_size pg_tablespace_size " +
  "pg_partition_ancestors pg_partition_tree pg_sequence_last_value pg_get_sequence_data " +
  "pg_collation_actual_version pg_database_collation_actual_version " +
  // the server's state, as its views show it
  "pg_lock_status pg_blocking_pids pg_safe_snapshot_blocking_pids pg_prepared_xact pg_notification_queue_usage " +
  "pg_last_committed_xact pg_xact_commit_timestamp pg_xact_commit_timestamp_origin pg_xact_status txid_status " +
  "pg_get_multixact_members pg_get_backend_memory_contexts pg_get_shmem_allocations pg_get_shmem_allocations_numa " +
  "pg_get_wait_events pg_get_aios pg_get_loaded_modules pg_get_wal_resource_managers pg_get_wal_summarizer_state " +
  "pg_current_wal_lsn pg_current_wal_insert_lsn pg_current_wal_flush_lsn pg_last_wal_receive_lsn " +
  "pg_last_wal_replay_lsn pg_last_xact_replay_timestamp pg_get_wal_replay_pause_state pg_is_wal_replay_paused " +
  "pg_control_checkpoint pg_control_init pg_control_recovery pg_control_system " +
  "pg_show_replication_origin_status pg_stat_have_stats pg_stat_get_recovery_prefetch " +
  "pg_stat_get_xact_blocks_fetched pg_stat_get_xact_blocks_hit pg_stat_get_xact_function_calls " +
  "pg_stat_get_xact_function_self_time pg_stat_get_xact_function_total_time pg_stat_get_xact_numscans " +
  "pg_stat_get_xact_tuples_deleted pg_stat_get_xact_tuples_fetched pg_stat_get_xact_tuples_hot_updated " +
  "pg_stat_get_xact_tuples_newpage_updated pg_stat_get_xact_tuples_inserted pg_stat_get_xact_tuples_returned " +
  "pg_stat_get_xact_tuples_updated " +
  // what TABLESAMPLE calls; pg_sleep, whose length is checked where it is written
  "bernoulli system pg_sleep"
).split(" "));

/** The same of extensions, by the extension's name: a function of the same name made by someone else is not meant. */
const ofExtensions: Readonly<Record<string, string>> = {
  pg_stat_statements: "pg_stat_statements pg_stat_statements_info",
  pgcrypto: "gen_random_bytes gen_random_uuid gen_salt fips_mode pgp_sym_encrypt pgp_sym_encrypt_bytea " +
    "pgp_pub_encrypt pgp_pub_encrypt_bytea",
  postgres_fdw: "postgres_fdw_handler postgres_fdw_get_connections",
  pgstattuple: "pgstattuple pgstattuple_approx pgstatindex pgstatginindex pgstathashindex pg_relpages",
  pg_buffercache: "pg_buffercache_pages pg_buffercache_summary pg_buffercache_usage_counts " +
    "pg_buffercache_numa_pages",
  sslinfo: "ssl_version ssl_cipher ssl_is_used ssl_client_cert_present ssl_client_dn",
  tablefunc: "normal_rand",
  tsm_system_rows: "system_rows",
  tsm_system_time: "system_time",
  "uuid-ossp": "uuid_generate_v1 uuid_generate_v1mc uuid_generate_v4",
};

/** Whether a VOLATILE function may be called although it is VOLATILE. `extension` is undefined for a built-in one. */
export function isHarmless(name: string, extension: string | undefined): boolean {
  if (extension === undefined) return builtIn.has(name);
  return Object.hasOwn(ofExtensions, extension) &&
    ofExtensions[extension]?.split(" ").includes(name) === true;
}
