import { type HostileStatement, named } from "./hostile_statement.ts";

export const serverSignals: readonly HostileStatement[] = [
  ...named([
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity",
    "SELECT pg_terminate_backend(pg_backend_pid())",
    "SELECT pg_cancel_backend(1)",
    "SELECT pg_reload_conf()",
    "SELECT pg_switch_wal()",
    "SELECT pg_create_restore_point('x')",
    "SELECT pg_backup_start('x')",
    "SELECT pg_start_backup('x')",
    "SELECT pg_promote()",
    "SELECT pg_wal_replay_pause()",
    "SELECT pg_log_backend_memory_contexts(pg_backend_pid())",
    "SELECT pg_import_system_collations('pg_catalog')",
    "SELECT pg_nextoid('pg_class', 'oid', 'pg_class_oid_index')",
    "SELECT brin_summarize_new_values('x')",
    "SELECT gin_clean_pending_list('x')",
    "SELECT pg_prewarm('orders')",
    "SELECT pg_buffercache_evict_all()",
  ], "signals or steers"),
  ...named(["SELECT pg_rotate_logfile()"], "files"),
  ...named([
    "SELECT pg_create_physical_replication_slot('postern')",
    "SELECT pg_create_logical_replication_slot('postern', 'test_decoding')",
    "SELECT pg_drop_replication_slot('postern')",
    "SELECT pg_replication_origin_create('postern')",
    "SELECT pg_logical_emit_message(false, 'a', 'b')",
    "SELECT * FROM pg_logical_slot_get_changes('postern', NULL, NULL)",
  ], "replication"),
  ...named([
    "SELECT pg_stat_reset()",
    "SELECT pg_stat_reset_shared('bgwriter')",
    "SELECT pg_stat_reset_single_table_counters('orders'::regclass)",
    "SELECT pg_stat_statements_reset()",
    "SELECT pg_restore_relation_stats('a', 1)",
  ], "statistics"),
  ...named(["SELECT pg_notify('x', 'y')", "SELECT pg_notify(customer, 'y') FROM orders"], "notification"),
  ...named(
    ["SELECT txid_current()", "SELECT pg_current_xact_id()", "SELECT pg_export_snapshot()"],
    "snapshot",
  ),
  ...named(
    ["SELECT binary_upgrade_set_next_pg_type_oid(1)", "SELECT binary_upgrade_anything()"],
    "pg_upgrade",
  ),
  ...named(
    ["SELECT pg_isolation_test_session_is_blocked(1, ARRAY[2])", "SELECT currtid2('orders', '(0,1)')"],
    "not known to be harmless",
  ),
  ...named([
    "SELECT pg_sleep(3600)",
    "SELECT pg_sleep(1e9)",
  ], "may not wait longer"),
  ...named([
    "SELECT pg_sleep(id * 1000) FROM orders",
    "SELECT pg_sleep(60 * 60)",
    "SELECT pg_sleep('3600')",
    "SELECT pg_sleep(3600::float8)",
  ], "plain number"),
  ...named(["SELECT pg_sleep_for('1 hour')", "SELECT pg_sleep_until('infinity')"], "it waits"),
];
