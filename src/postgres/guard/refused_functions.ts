const onOtherConnections =
  "dblink dblink_connect dblink_connect_u dblink_disconnect dblink_exec dblink_open dblink_fetch dblink_close " +
  "dblink_send_query dblink_get_result dblink_get_notify dblink_get_connections dblink_is_busy dblink_error_message " +
  "dblink_cancel_query dblink_current_query dblink_build_sql_insert dblink_build_sql_delete dblink_build_sql_update " +
  "postgres_fdw_disconnect postgres_fdw_disconnect_all pg_background_launch pg_background_result";
const ofTexts =
  "query_to_xml query_to_xmlschema query_to_xml_and_xmlschema cursor_to_xml cursor_to_xmlschema table_to_xml " +
  "table_to_xmlschema table_to_xml_and_xmlschema schema_to_xml schema_to_xmlschema schema_to_xml_and_xmlschema " +
  "database_to_xml database_to_xmlschema database_to_xml_and_xmlschema ts_stat crosstab crosstab2 crosstab3 crosstab4 " +
  "crosstabn connectby xpath_table";
const ofRawPages =
  "get_raw_page heap_page_items heap_page_item_attrs tuple_data_split bt_page_items brin_page_items gist_page_items " +
  "bt_multi_page_stats gist_page_items_bytea hash_page_items gin_leafpage_items heap_force_kill heap_force_freeze " +
  "pg_truncate_visibility_map pg_get_wal_record_info pg_get_wal_records_info pg_get_wal_records_info_till_end_of_wal " +
  "pg_get_wal_block_info verify_heapam bt_index_check bt_index_parent_check gin_index_check";
const ofSettings = "set_config set_limit isn_weak";

/**
 * Functions that a READ ONLY transaction does not stop: their names, and what they do, as the reply says it.
 * They are refused by name in any schema, quoted or not, and wherever a view or policy calls them. Built-in VOLATILE
 * functions that are neither here nor in `harmless_functions.ts` are refused too, but only after a query to the
 * server; this list refuses sooner and with a better reason.
 */
const refusedByAction: readonly (readonly [action: string, names: string])[] = [
  [
    "it reads or writes the server's files",
    "pg_read_file pg_read_file_old pg_read_binary_file pg_stat_file pg_ls_dir pg_ls_logdir pg_ls_waldir pg_ls_tmpdir " +
    "pg_ls_archive_statusdir pg_ls_logicalmapdir pg_ls_logicalsnapdir pg_ls_replslotdir pg_ls_summariesdir " +
    "pg_current_logfile pg_logdir_ls pg_file_read pg_file_write pg_file_rename pg_file_unlink pg_file_sync pg_file_length " +
    "pg_hba_file_rules pg_ident_file_mappings pg_show_all_file_settings " +
    "pg_rotate_logfile pg_rotate_logfile_old pg_logfile_rotate pg_wal_summary_contents pg_available_wal_summaries " +
    "pg_get_logical_snapshot_meta pg_get_logical_snapshot_info",
  ],
  [
    "it works on large objects",
    "lo_creat lo_create lo_open lo_close lo_lseek lo_lseek64 lo_tell lo_tell64 lo_truncate lo_truncate64 lo_unlink " +
    "lo_export lo_import lo_get lo_put lo_from_bytea loread lowrite",
  ],
  ["it runs a statement on another connection", onOtherConnections],
  ["it runs a text as a statement; send that statement itself", ofTexts],
  [
    "it casts to any type that its arguments name; write the cast itself, as in x::integer",
    "domain_in domain_recv array_in array_recv record_in record_recv range_in range_recv multirange_in multirange_recv",
  ],
  [
    "it signals or steers the server",
    "pg_cancel_backend pg_terminate_backend pg_reload_conf pg_promote pg_log_backend_memory_contexts " +
    "pg_log_standby_snapshot pg_switch_wal pg_switch_xlog pg_create_restore_point pg_start_backup pg_stop_backup " +
    "pg_backup_start pg_backup_stop pg_wal_replay_pause pg_wal_replay_resume pg_sync_replication_slots " +
    "pg_import_system_collations pg_extension_config_dump pg_stop_making_pinned_objects pg_nextoid " +
    "brin_summarize_range brin_summarize_new_values brin_desummarize_range gin_clean_pending_list " +
    "pg_prewarm autoprewarm_start_worker autoprewarm_dump_now " +
    "pg_buffercache_evict pg_buffercache_evict_relation pg_buffercache_evict_all",
  ],
  [
    "it changes replication",
    "pg_create_physical_replication_slot pg_create_logical_replication_slot pg_copy_physical_replication_slot " +
    "pg_copy_logical_replication_slot pg_drop_replication_slot pg_replication_slot_advance pg_logical_slot_get_changes " +
    "pg_logical_slot_get_binary_changes pg_logical_slot_peek_changes pg_logical_slot_peek_binary_changes " +
    "pg_logical_emit_message pg_replication_origin_create pg_replication_origin_drop pg_replication_origin_advance " +
    "pg_replication_origin_session_setup pg_replication_origin_session_reset pg_replication_origin_xact_setup " +
    "pg_replication_origin_xact_reset pg_replication_origin_progress pg_replication_origin_session_progress " +
    "pg_replication_origin_session_is_setup",
  ],
  [
    "it takes or releases locks that outlive the statement",
    "pg_advisory_lock pg_advisory_lock_shared pg_advisory_xact_lock pg_advisory_xact_lock_shared pg_advisory_unlock " +
    "pg_advisory_unlock_shared pg_advisory_unlock_all pg_try_advisory_lock pg_try_advisory_lock_shared " +
    "pg_try_advisory_xact_lock pg_try_advisory_xact_lock_shared",
  ],
  ["it changes a sequence; read last_value from the sequence instead", "nextval setval"],
  ["it changes a setting", ofSettings],
  [
    "it changes what random() returns in later statements too; use TABLESAMPLE bernoulli (1) REPEATABLE (42), or sort by " +
    "md5(id::text || '42')",
    "setseed",
  ],
  [
    "it runs functions of any object that its arguments name",
    "satisfies_hash_partition fmgr_sql_validator fmgr_internal_validator fmgr_c_validator plpgsql_validator",
  ],
  ["it sends a notification", "pg_notify"],
  ["it waits; only pg_sleep(seconds) with a plain number is allowed", "pg_sleep_for pg_sleep_until"],
  [
    "it creates a transaction number or a snapshot that others see; use pg_current_snapshot() to read one",
    "txid_current pg_current_xact_id pg_export_snapshot",
  ],
  [
    "it resets or changes statistics",
    "pg_stat_reset pg_stat_reset_shared pg_stat_reset_single_table_counters pg_stat_reset_single_function_counters " +
    "pg_stat_reset_slru pg_stat_reset_replication_slot pg_stat_reset_subscription_stats pg_stat_reset_backend_stats " +
    "pg_stat_statements_reset pg_stat_kcache_reset pg_qualstats_reset pg_restore_relation_stats pg_restore_attribute_stats " +
    "pg_clear_relation_stats pg_clear_attribute_stats pg_set_relation_stats pg_set_attribute_stats",
  ],
  ["it reads or repairs raw pages, and so bypasses the rules about who may see which rows", ofRawPages],
  [
    "a short XPath may run for minutes, and no timeout stops it; select the XML itself and read it yourself",
    "xpath xpath_exists xmlexists xmltable xpath_string xpath_nodeset xpath_number xpath_bool xpath_list " +
    "xslt_process",
  ],
  [
    "only pg_upgrade may use it",
    "binary_upgrade_create_empty_extension binary_upgrade_set_missing_value binary_upgrade_set_record_init_privs " +
    "binary_upgrade_logical_slot_has_caught_up binary_upgrade_add_sub_rel_state binary_upgrade_replorigin_advance",
  ],
];

/** `ts_rewrite(query, text)` runs the text; with three arguments, none of them is run. */
const runsItsText = "it runs its second argument as a statement; use ts_rewrite(query, target, substitute)";

/** Functions that may read what no row-level policy filters, whatever calls them, or change what a policy asks. */
export const pastPolicies: readonly string[] = [
  ...[onOtherConnections, ofTexts, ofRawPages, ofSettings].flatMap((names) => names.split(" ")),
  "ts_rewrite",
];

/** Schemas of extensions all of whose functions act outside of the transaction. */
const refusedSchemas = new Map([
  ["cron", "it schedules jobs"],
  ["net", "it sends requests over the network"],
  ["aws_s3", "it moves data to or from other services"],
  ["aws_lambda", "it calls other services"],
  ["pgmq", "it changes a queue"],
  ["pgagent", "it schedules jobs"],
  ["partman", "it changes tables"],
]);

const actionByName = new Map(
  refusedByAction.flatMap(([action, names]) =>
    names.split(" ").map((name): [string, string] => [name, action])
  ),
);

/** The names alone, for finding calls of them in views and policies. */
export const refusedFunctionNames: readonly string[] = [...actionByName.keys(), "ts_rewrite"];

/**
 * Why a function must not be called; undefined where its name does not tell.
 * `argumentCount` is undefined where it is not known, and then the worst is taken.
 */
export function whyRefused(
  schema: string | undefined,
  name: string,
  argumentCount?: number,
): string | undefined {
  const action = actionByName.get(name);
  if (action !== undefined) return action;
  if (name.startsWith("binary_upgrade_")) return "only pg_upgrade may use it";
  if (name === "ts_rewrite") return argumentCount === 3 ? undefined : runsItsText;
  return schema === undefined ? undefined : refusedSchemas.get(schema);
}
