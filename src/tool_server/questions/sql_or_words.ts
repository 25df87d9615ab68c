/** What a text is as a statement: one that runs, one that is never run, or none by PostgreSQL's grammar. */
export type StatementReading = "runs" | "refused" | "none";

/**
 * Whether a text is meant as SQL rather than as a request in words. Plain words that happen to parse ("close deals")
 * are a request where they would not run, unless they have the clear form of a write; a statement with a fault in it
 * counts as SQL, so that its author gets PostgreSQL's own error.
 */
export function looksLikeSql(text: string, reading: StatementReading): boolean {
  if (isEmptyRequest(text)) return false;
  if (reading === "none") return hasStatementForm(text);
  if (!isPlainWords(text)) return true;
  return reading === "runs" ? !showsNoSetting(text) : hasStatementForm(text);
}

/** Whether a text that runs as a SELECT may be a request all the same, as "select best customers" is. */
export function mayBeWords(text: string): boolean {
  return isPlainWords(text) && /^\s*(?:select|table)\s/i.test(text);
}

/** Whether nothing is asked: white space and SQL comments alone. */
export function isEmptyRequest(text: string): boolean {
  return text.replace(blankStart, "") === "";
}

/** Several words without a mark of SQL's, the first not in capitals: people write so, and statements can be so. */
function isPlainWords(text: string): boolean {
  if (!/^[\p{L}\p{M}\p{N}_\s]+$/u.test(text)) return false;
  const [verb = "", ...words] = list(text.trim());
  return words.length > 0 && verb !== verb.toUpperCase();
}

/** "show customers" would be SHOW of a setting. */
function showsNoSetting(text: string): boolean {
  const [verb = "", ...words] = list(text.trim().toLowerCase());
  return verb === "show" && !isSetting(words.join(" "));
}

/** Whether what follows a statement's first keyword has the shape that the keyword asks for. */
type Shape = (rest: string) => boolean;

const list = (words: string): string[] => words.split(/\s+/);
const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/** Marks that a statement is made of and a sentence is not. */
const sqlMarks = /[*=<>;]|::|\w\(|\(\s*select\b|\$\d|\b[a-z_]\w*\.\w+|"\w+"|\d\s*[-+/]|[-+/]\s*\d/i;
const sqlClauses =
  /\bfrom\s+[a-z_"][\w."]*|\bgroup\s+by\b|\border\s+by\b|\bwhere\b|\bjoin\b|\bunion\b|\blimit\s+\d|\bhaving\b/gi;
const sentenceWords =
  /\b(?:the|a|an|me|us|my|our|your|their|please|that|which|who|whose|what|how|of|most|best|than|every|each|about|were|was|are)\b/gi;

/** Words that a SELECT holds in few places, and a sentence in many. */
const likelyWords =
  /\b(?:all|this|these|to|with|in(?!\s*\()|is(?!\s+(?:not|null|true|false|unknown|distinct)\b)|(?<!\b(?:group|order|partition)\s+)by)\b/gi;

const isSentence = (text: string): boolean => count(text, sentenceWords) > 0;

/** More of a statement than of a sentence in it; literals may hold any words. */
const isMostlySql: Shape = (rest) => {
  const text = rest.replace(/'(?:[^']|'')*'?/g, "''");
  return (sqlMarks.test(text) ? 2 : 0) + count(text, sqlClauses) >
    count(text, sentenceWords) + count(text, likelyWords);
};

const name = String.raw`[\w."]+`;

/** Not what people have too: users, roles, groups, rules, events, servers. */
const namesObject = new RegExp(
  "^(?:or\\s+replace\\s+|temp(?:orary)?\\s+|unlogged\\s+|unique\\s+|materialized\\s+|foreign\\s+)*" +
    "(?:database|extension|function|index|procedure|schema|sequence|table|tablespace|trigger|view)\\b" +
    "(?!\\s+(?:about|by|for|from|listing|me|of|showing|that|with)\\b)",
  "i",
);

const shapes: ReadonlyMap<string, RegExp | Shape> = new Map<string, RegExp | Shape>([
  ["select", isMostlySql],
  ["values", /^\(/],
  ["with", /^(?:recursive\s+)?[\w"]+\s*(?:\([^)]*\)\s*)?as\s+(?:(?:not\s+)?materialized\s+)?\(/i],
  ["explain", (rest) => /^(?:analyze|verbose|\()/i.test(rest) || explainsStatement(rest)],
  ["insert", new RegExp(`^into\\s+${name}`, "i")],
  ["update", new RegExp(`\\bset\\s+${name}\\s*(?:=|$)|^${name}\\s+\\w+\\s+${name}\\s*=`, "i")],
  ["delete", (rest) => /^from\s+\S/i.test(rest) && !isSentence(rest)],
  ["merge", new RegExp(`^into\\s+${name}`, "i")],
  ["truncate", new RegExp(`^(?:table\\b|${name}\\s*(?:$|cascade\\b|restrict\\b))`, "i")],
  ["create", namesObject],
  ["alter", namesObject],
  ["drop", namesObject],
  ["grant", new RegExp(`^[\\w\\s,]+\\bon\\s+${name}`, "i")],
  ["revoke", new RegExp(`^[\\w\\s,]+\\bon\\s+${name}`, "i")],
  ["copy", new RegExp(`^(?:\\(|${name}\\s*(?:\\([^)]*\\)\\s*)?(?:from|to)\\s*(?:$|'|std|program\\b))`, "i")],
  ["call", new RegExp(`^${name}\\s*\\(`)],
  ["do", /^(?:\$|'|language\b)/i],
  ["set", setsSetting],
  ["begin", /^;/],
  ["commit", /^;/],
  ["rollback", /^;/],
]);

/** Comments and white space. */
const blank = String.raw`\s+|--[^\n]*(?:\n|$)|/\*[\s\S]*?\*/`;
const blankStart = new RegExp(`^(?:${blank})+`);
const beforeStatement = new RegExp(`^(?:${blank}|\\()+`);

/** Whether it starts as a statement does, faults or not, and goes on as one. */
function hasStatementForm(text: string): boolean {
  const lead = beforeStatement.exec(text)?.[0] ?? "";
  const statement = text.slice(lead.length);
  const keyword = /^[a-z]+/i.exec(statement)?.[0] ?? "";
  const rest = statement.slice(keyword.length).trimStart();
  const shape = shapes.get(keyword.toLowerCase());
  if (shape === undefined) return false;
  const isCapital = keyword === keyword.toUpperCase() && /[a-z]/.test(rest);
  const hasShape = shape instanceof RegExp ? shape.test(rest) : shape(rest);
  return hasShape || ((isCapital || lead.endsWith("(")) && !isSentence(rest));
}

/** EXPLAIN explains no EXPLAIN; a long row of them must not recurse. */
function explainsStatement(text: string): boolean {
  return !/^explain\b/i.test(text.replace(beforeStatement, "")) && hasStatementForm(text);
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

function setsSetting(rest: string): boolean {
  const [, setting = "", sign] = /^(?:local\s+|session\s+)?([\w.]+)\s*(=|to\b)/i.exec(rest) ?? [];
  return sign === "=" || isSetting(setting.toLowerCase());
}
