/**
 * PostgreSQL's own settings that `session_settings` may hold, in lower case: how values are written, what names mean, how
 * statements are planned, and how much memory they take. PostgreSQL lets every role set them.
 */
export const settableSettings: readonly string[] = `
  application_name array_nulls bytea_output client_min_messages constraint_exclusion cpu_index_tuple_cost
  cpu_operator_cost cpu_tuple_cost cursor_tuple_fraction datestyle debug_parallel_query
  default_text_search_config effective_cache_size effective_io_concurrency enable_async_append
  enable_bitmapscan enable_distinct_reordering enable_gathermerge enable_group_by_reordering enable_hashagg
  enable_hashjoin enable_incremental_sort enable_indexonlyscan enable_indexscan enable_material
  enable_memoize enable_mergejoin enable_nestloop enable_parallel_append enable_parallel_hash
  enable_partition_pruning enable_partitionwise_aggregate enable_partitionwise_join
  enable_presorted_aggregate enable_self_join_elimination enable_seqscan enable_sort enable_tidscan
  extra_float_digits force_parallel_mode from_collapse_limit geqo geqo_effort geqo_generations
  geqo_pool_size geqo_seed geqo_selection_bias geqo_threshold gin_fuzzy_search_limit hash_mem_multiplier
  icu_validation_level intervalstyle jit jit_above_cost jit_expressions jit_inline_above_cost
  jit_optimize_above_cost jit_tuple_deforming join_collapse_limit lc_monetary lc_numeric lc_time
  max_parallel_workers max_parallel_workers_per_gather min_parallel_index_scan_size
  min_parallel_table_scan_size parallel_leader_participation parallel_setup_cost parallel_tuple_cost
  plan_cache_mode random_page_cost recursive_worktable_factor search_path seq_page_cost
  stats_fetch_consistency synchronize_seqscans temp_buffers temp_tablespaces timezone timezone_abbreviations
  transform_null_equals work_mem xmlbinary xmloption
`.trim().split(/\s+/);

const isReadOnly = "every statement runs in a transaction of Postern's that only reads";
const isBounded = "Postern bounds every statement itself; for databases, statement_timeout says how";
const isRead = "the statement guard needs the value that Postern sets";
const isRole = "use role_from_user or role_from_claim";

/** Those that keep statements harmless, in lower case, with why `session_settings` may not hold them or what to use. */
export const heldSettings: Readonly<Record<string, string>> = {
  backslash_quote: isRead,
  client_encoding: isRead,
  default_transaction_deferrable: isReadOnly,
  default_transaction_isolation: isReadOnly,
  default_transaction_read_only: isReadOnly,
  idle_in_transaction_session_timeout: isBounded,
  idle_session_timeout: isBounded,
  lock_timeout: isBounded,
  role: isRole,
  row_security: "row-level security holds for every statement",
  session_authorization: isRole,
  standard_conforming_strings: isRead,
  statement_timeout: isBounded,
  temp_file_limit: "only a superuser may set it; ALTER ROLE … SET temp_file_limit gives it to the role",
  transaction_deferrable: isReadOnly,
  transaction_isolation: isReadOnly,
  transaction_read_only: isReadOnly,
  transaction_timeout: isBounded,
};

/** What a value of `session_settings` may hold in place of text: the caller's name, a claim, or all claims as JSON. */
export const placeholder = /\{(?:(username)|(claims)|claim:([^{}]+))\}/g;

/** Whether a value of `session_settings` is another for each caller. */
export function isFilledIn(template: string): boolean {
  return template.search(placeholder) >= 0;
}

/** The guard reads SQL as the server does only while these hold: no backslash escapes in plain literals, and UTF-8. */
export const guardedSettings = { standard_conforming_strings: "on", client_encoding: "UTF8" } as const;

/** In UTF-8, NAMEDATALEN - 1: PostgreSQL cuts off what is longer, as good as everywhere. */
export const longestRoleBytes = 63;
