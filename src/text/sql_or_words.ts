/** Whether what follows a statement's first keyword has the shape that the keyword asks for. */
type Shape = (rest: string) => boolean;

const list = (words: string): string[] => words.split(/\s+/);
const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;
const startsWith = (pattern: RegExp): Shape => (rest) => pattern.test(rest);

/** Marks that a statement is made of and a sentence is not. */
const sqlMarks = /[*=<>;]|::|\w\(|\(\s*select\b|\$\d|\b[a-z_]\w*\.\w+|"\w+"|\d\s*[-+/]|[-+/]\s*\d/i;
const sqlClauses =
  /\bfrom\s+[\w."]+|\bgroup\s+by\b|\border\s+by\b|\bwhere\b|\bjoin\b|\bunion\b|\blimit\s+\d|\bhaving\b/gi;
const sentenceWords = new RegExp(
  `\\b(?:${
    list(
      "the a an me us my our your their please that which who whose what how of most best than every each about were was are",
    ).join("|")
  })\\b`,
  "gi",
);

const isSentence = (text: string): boolean => count(text, sentenceWords) > 0;

/** More of a statement than of a sentence in it; literals may hold any words. */
const isMostlySql: Shape = (rest) => {
  const text = rest.replace(/'(?:[^']|'')*'?/g, "''");
  return (sqlMarks.test(text) ? 2 : 0) + count(text, sqlClauses) > count(text, sentenceWords);
};

const name = String.raw`[\w."]+`;
const namesObject = new RegExp(
  "^(?:or\\s+replace\\s+|temp(?:orary)?\\s+|unlogged\\s+|unique\\s+|materialized\\s+|foreign\\s+)*(?:" +
    list(
      `aggregate cast collation database domain event extension function group index language operator owned policy
       procedure publication role rule schema sequence server statistics subscription system table tablespace
       trigger type user view`,
    ).join("|") + ")\\b(?!\\s+(?:of|for|with|that|me)\\b)",
  "i",
);

const shapes: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ["select", isMostlySql],
  ["values", startsWith(/^\(/)],
  ["with", startsWith(/^(?:recursive\s+)?[\w"]+\s*(?:\([^)]*\)\s*)?as\s+(?:(?:not\s+)?materialized\s+)?\(/i)],
  ["explain", (rest) => /^(?:analyze|verbose|\()/i.test(rest) || isFaultyInner(rest)],
  ["insert", startsWith(new RegExp(`^into\\s+${name}`, "i"))],
  ["update", startsWith(new RegExp(`\\bset\\s+${name}\\s*(?:=|$)|^${name}\\s+\\w+\\s+${name}\\s*=`, "i"))],
  ["delete", (rest) => /^from\s+\S/i.test(rest) && !isSentence(rest)],
  ["merge", startsWith(new RegExp(`^into\\s+${name}`, "i"))],
  ["truncate", startsWith(/^table\b/i)],
  ["create", startsWith(namesObject)],
  ["alter", startsWith(namesObject)],
  ["drop", startsWith(namesObject)],
  ["grant", startsWith(new RegExp(`^[\\w\\s,]+\\b(?:on|to)\\s+${name}`, "i"))],
  ["revoke", startsWith(new RegExp(`^[\\w\\s,]+\\b(?:on|from)\\s+${name}`, "i"))],
  ["copy", startsWith(new RegExp(`^(?:\\(|${name}\\s*(?:\\([^)]*\\)\\s*)?(?:from|to)\\b)`, "i"))],
  ["call", startsWith(new RegExp(`^${name}\\s*\\(`))],
  ["do", startsWith(/^(?:\$|'|language\b)/i)],
  ["set", startsWith(/^(?:local\s+|session\s+)?[\w.]+\s*(?:=|to\b)/i)],
  ["begin", startsWith(/^;/)],
  ["commit", startsWith(/^;/)],
  ["rollback", startsWith(/^;/)],
]);

/** Comments, white space and parentheses before a statement. */
const beforeStatement = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/|\()+/;

function isFaultyStatement(text: string): boolean {
  const lead = beforeStatement.exec(text)?.[0] ?? "";
  const statement = text.slice(lead.length);
  const keyword = /^[a-z]+/i.exec(statement)?.[0] ?? "";
  const rest = statement.slice(keyword.length).trimStart();
  const shape = shapes.get(keyword.toLowerCase());
  if (shape === undefined) return false;
  const isCapital = keyword === keyword.toUpperCase() && /[a-z]/.test(rest);
  return shape(rest) || ((isCapital || lead.endsWith("(")) && !isSentence(rest));
}

/** EXPLAIN explains no EXPLAIN; a long row of them must not recurse. */
function isFaultyInner(text: string): boolean {
  return !/^explain\b/i.test(text.replace(beforeStatement, "")) && isFaultyStatement(text);
}

const settings = new Set(list(
  `all application_name archive_mode archive_command array_nulls block_size bonjour bytea_output cluster_name
   commit_delay config_file constraint_exclusion data_checksums data_directory datestyle deadlock_timeout fsync geqo
   hash_mem_multiplier hba_file hot_standby ident_file in_hot_standby integer_datetimes intervalstyle is_superuser jit
   listen_addresses lock_timeout log_destination log_directory log_filename log_statement log_timezone
   logging_collector password_encryption port row_security search_path segment_size server_encoding server_version
   server_version_num session_replication_role ssl standard_conforming_strings statement_timeout
   superuser_reserved_connections temp_buffers temp_file_limit timezone transaction_isolation transaction_read_only
   transaction_timeout work_mem xmlbinary xmloption zero_damaged_pages`,
));
/** What the names of whole families of settings begin with; no table is likely to be called so. */
const settingFamilies = list(
  `autovacuum bgwriter_ checkpoint_ client_encoding client_min_messages cpu_ default_ effective_ enable_ extra_float_
   from_collapse_ full_page_ geqo_ huge_page idle_in_ idle_session_ io_ jit_ join_collapse_ lc_ log_autovacuum_
   log_lock_ log_min_ log_statement_ logical_decoding_ maintenance_ max_ min_parallel_ min_wal_ parallel_leader_
   plan_cache_ primary_conninfo random_page_ recovery_ seq_page_ shared_ ssl_ synchronous_ syslog_ tcp_keepalives_
   track_activit track_functions track_io_ unix_socket_ vacuum_ wal_`,
);
const showsSeveralWords = new Set(["time zone", "transaction isolation level", "session authorization"]);

function isSetting(object: string): boolean {
  return settings.has(object) || showsSeveralWords.has(object) ||
    (!object.includes(" ") && settingFamilies.some((family) => object.startsWith(family)));
}

/**
 * Whether a text that parses is a request all the same: "show customers" would be SHOW of a setting, "fetch 10 orders"
 * FETCH from a cursor. In capitals, with a semicolon, or of a known setting it is the statement.
 */
function isRequestThatParses(text: string): boolean {
  const [verb = "", ...words] = list(text.trim());
  if (!words.every((word) => /^\w+$/.test(word))) return false;
  if (/^[Ff]etch$/.test(verb)) return true;
  return /^[Ss]how$/.test(verb) && !isSetting(words.join(" ").toLowerCase());
}

/**
 * Whether a text is meant as SQL rather than as a request in words. `parses` tells what PostgreSQL's grammar takes;
 * a statement with a fault in it counts as SQL too, so that its author gets PostgreSQL's own error.
 */
export function looksLikeSql(text: string, parses: (sql: string) => boolean): boolean {
  if (text.replace(beforeStatement, "") === "") return false;
  return parses(text) ? !isRequestThatParses(text) : isFaultyStatement(text);
}
