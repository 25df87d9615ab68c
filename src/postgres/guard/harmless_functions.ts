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
