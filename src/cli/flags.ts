import { defined } from "../core/defined.ts";

/** A flag that gives a setting; the setting's description, default and variable come from the schema. */
export interface SettingFlag {
  readonly flag: string;
  /** As in `http.address`. */
  readonly setting: string;
  /** What the value is called in the help; absent for a flag that takes none. */
  readonly placeholder?: string;
  /** For a flag without a value: what the setting becomes. `off` is for `-flag=false`. */
  readonly on?: string;
  readonly off?: string;
  /** In place of the setting's own description. */
  readonly help?: string;
}

const httpFlags: readonly SettingFlag[] = [
  { flag: "http", setting: "http.enabled", on: "true", off: "false", help: "Run the tool server" },
  { flag: "addr", setting: "http.address", placeholder: "ADDRESS" },
  { flag: "tls", setting: "http.tls.enabled", on: "true", off: "false" },
  { flag: "cert", setting: "http.tls.cert_file", placeholder: "FILE" },
  { flag: "key", setting: "http.tls.key_file", placeholder: "FILE" },
  { flag: "chain", setting: "http.tls.chain_file", placeholder: "FILE" },
  {
    flag: "no-auth",
    setting: "http.auth.enabled",
    on: "false",
    off: "true",
    help: "Let everyone in without a token; for development only",
  },
];

const ragFlags: readonly SettingFlag[] = [
  { flag: "rag-listen", setting: "server.listen_address", placeholder: "HOST" },
  { flag: "rag-port", setting: "server.port", placeholder: "PORT" },
];

const credentialFlags: readonly SettingFlag[] = [
  { flag: "token-file", setting: "http.auth.token_file", placeholder: "FILE" },
  { flag: "user-file", setting: "http.auth.user_file", placeholder: "FILE" },
];

const databaseFlags: readonly SettingFlag[] = [
  { flag: "db-host", setting: "databases[0].host", placeholder: "HOST" },
  { flag: "db-port", setting: "databases[0].port", placeholder: "PORT" },
  { flag: "db-name", setting: "databases[0].database", placeholder: "NAME" },
  { flag: "db-user", setting: "databases[0].user", placeholder: "ROLE" },
  { flag: "db-password", setting: "databases[0].password", placeholder: "PASSWORD" },
  { flag: "db-sslmode", setting: "databases[0].sslmode", placeholder: "MODE" },
  { flag: "db-hosts", setting: "databases[0].hosts", placeholder: "HOST:PORT,…" },
  { flag: "db-target-session-attrs", setting: "databases[0].target_session_attrs", placeholder: "KIND" },
];

const processFlags: readonly SettingFlag[] = [
  { flag: "processes", setting: "processes", placeholder: "NUMBER" },
];

const logFlags: readonly SettingFlag[] = [
  { flag: "log-level", setting: "log.level", placeholder: "LEVEL" },
  { flag: "log-format", setting: "log.format", placeholder: "FORMAT" },
  { flag: "debug", setting: "log.level", on: "debug", help: "Log everything, as -log-level debug does" },
];

/** A flag that selects an operation; with a placeholder it takes a value. */
function operation<const Name extends string>(operation: Name, help: string, placeholder?: string) {
  return { flag: operation, operation, help, ...defined({ placeholder }) };
}

/** A flag that is neither a setting nor an operation. */
function option<const Name extends string>(option: Name, help: string, placeholder?: string) {
  return { flag: option, help, ...defined({ placeholder }) };
}

const groups = [
  {
    title: "The first step",
    flags: [
      operation(
        "init",
        "Ask for a database, try it, and write config.yaml; with -db-host, -db-name and -db-user, or where there is " +
          "no terminal, it asks nothing. With -http for applications over HTTP: then it makes an API token, too",
      ),
      option("overwrite", "Let -init replace files that are there"),
    ],
  },
  {
    title: "In every mode",
    flags: [
      option(
        "config",
        "Configuration file; else POSTERN_CONFIG, /etc/postern/config.yaml, or config.yaml beside the program",
        "FILE",
      ),
      option("demo", "Serve a shop and its handbook from an embedded PostgreSQL: no file, key or network"),
      ...processFlags,
      ...logFlags,
    ],
  },
  {
    title: "Tool server over HTTP",
    flags: [
      ...httpFlags,
      option("allow-insecure", "Allow -no-auth on an address that other machines can reach"),
    ],
  },
  {
    title: "RAG server",
    flags: [
      option("rag", "Run the RAG server; with -http, the tool server too"),
      ...ragFlags,
      operation("ingest", "Read the named files, else the pipeline's sources, into its table", "PIPELINE"),
      option("source", "Other name for -ingest's folder; without a folder, the source to ingest", "NAME"),
      option("dry-run", "Only print what -ingest would do: write nothing, and ask no provider"),
      option("confirm-removal", "Let -ingest remove most files of a source, or an unconfigured source"),
      option("watch", "Let -ingest go on and ingest what changes, until it is stopped"),
      option("poll", "How often -watch ingests sources that are no folders (default 5m)", "DURATION"),
      operation("index-pipeline", "Make the pipeline's search indexes; a stopped run continues", "PIPELINE"),
      operation("setup-watch", "Print the SQL of -watch-pipeline's triggers, and run none of it", "PIPELINE"),
      operation("watch-pipeline", "Embed new and changed rows of its tables, until stopped", "PIPELINE"),
      option("retry-failed", "Let -watch-pipeline put rows that were set aside back, and do no more"),
      operation("reembed", "Make a new model's vectors beside the old; a stopped run continues", "PIPELINE"),
      option("switch-to", "Have -reembed switch questions to the new model, or back to the old", "new|old"),
      operation("drop-index", "Remove the pipeline's keyword indexes", "PIPELINE"),
      operation("doctor", "Check what is configured, and print what to fix"),
      option("check-token", "Have -doctor tell what a token reaches, or why not (-: standard input)", "FILE"),
      operation("evaluate", "Measure the pipeline's retrieval by questions with known answers", "PIPELINE"),
      operation("pull", "Fetch all-MiniLM-L6-v2 by its name, or a file or archive by its SHA-256", "URL"),
      option("sha256", "The SHA-256 that -pull expects, in hexadecimal digits", "SUM"),
      option("into", "Folder for what -pull fetches or unpacks (a named model: models/NAME)", "FOLDER"),
      option("queries", "The questions, as JSON lines or TSV: id and text", "FILE"),
      option("qrels", "The known answers, as TSV: query_id, document_id and gain", "FILE"),
      option("answers", "Have -evaluate ask the pipeline's model too, and judge its answers"),
      option("claims", 'Whom -doctor and -evaluate search as, such as \'{"tenant":"acme"}\'', "JSON"),
    ],
  },
  { title: "First database", flags: databaseFlags },
  {
    title: "PostgreSQL roles",
    flags: [
      operation("setup-role", "Print the SQL of a role that may only read, and run none of it", "ROLE"),
      operation("check-role", "Tell what the configured role of each database may do beyond reading"),
      operation("setup-state", "Print the SQL of the state's tables and their role, and run none of it"),
    ],
  },
  { title: "Credential files", flags: credentialFlags },
  {
    title: "Administrator's operations",
    flags: [
      operation("add-token", "Make an API token and print it once"),
      option("token-note", "What the new token is for", "TEXT"),
      option("token-database", "The only database that the new token may use", "NAME"),
      option("token-databases", "The only databases, with commas between them", "NAMES"),
      option("token-pipelines", "The only pipelines that the new token may ask", "NAMES"),
      option("token-tools", "The only tools that the new token may call", "NAMES"),
      option("token-networks", "The only addresses and CIDR blocks that it may come from", "CIDRS"),
      option("token-expiry", "How long it is valid: 12h, 30d, 2w, 1y or never (default never)", "DURATION"),
      operation("list-tokens", "List the API tokens, without their secrets"),
      operation("remove-token", "Remove the token with this id, or at least 8 digits of its hash", "ID"),
      operation("add-user", "Make a user account; Postern asks for the password"),
      operation("update-user", "Change a user's password; with only -user-note, change the note"),
      operation("enable-user", "Let a disabled or locked user log in again"),
      operation("disable-user", "End a user's sessions and refuse further logins"),
      operation("delete-user", "Remove a user account"),
      operation("list-users", "List the user accounts"),
      operation("list-clients", "List the OAuth clients, and who let them in"),
      operation("revoke-client", "Remove the OAuth client with this ID; its access ends at once", "ID"),
      option("username", "The user to make, change or remove", "NAME"),
      option(
        "password",
        "The password, which other users can see here; without it, Postern asks",
        "PASSWORD",
      ),
      option("user-note", "What the account is for", "TEXT"),
      option("json", "Print JSON instead of text"),
      operation("verify-audit", "Check the files of an audit trail, and print the first wrong line", "FILE"),
      operation("probe", "Fail unless a server's health at the URL answers 200; for containers", "URL"),
    ],
  },
  {
    title: "About the program",
    flags: [
      operation("help", "Print this text; -h does too"),
      operation("version", "Print the versions of Postern, Deno and V8"),
      operation("config-schema", "Print the JSON Schema of the configuration file, for editors"),
      operation(
        "check-config",
        "Say what of a configuration file is refused or not used; with -http, -rag or both as that start would",
        "FILE",
      ),
      operation(
        "check-statement",
        "Say without a database whether a statement may run: exit 0 if it may, 1 if not, 3 if its database decides; " +
          "@FILE: the one in a file, -: from standard input",
        "SQL",
      ),
      operation("openapi", "Print the OpenAPI description of the RAG server"),
    ],
  },
];

type KnownFlag = (typeof groups)[number]["flags"][number];
type OperationFlag = Extract<KnownFlag, { readonly operation: string }>;
type OptionFlag = Exclude<KnownFlag, OperationFlag | SettingFlag>;

/** What the program is to do; `run` serves. */
export type Operation = "run" | OperationFlag["operation"];
export type OptionName = OptionFlag["flag"];
export type Flag = SettingFlag | OperationFlag | OptionFlag;

/** Every flag there is, in the help's order, in groups that the help shows together. */
export const flagGroups: readonly { readonly title: string; readonly flags: readonly Flag[] }[] = groups;

/** Flags that mean something only together with another one, by which: one of them is enough. */
const requirements: Readonly<Record<string, string>> = {
  "tls": "http",
  "cert key chain": "tls",
  "rag-listen rag-port": "rag",
  "token-note token-database token-databases token-pipelines token-tools token-networks token-expiry":
    "add-token",
  "username": "add-user update-user enable-user disable-user delete-user",
  "password user-note": "add-user update-user",
  "json":
    "add-token list-tokens remove-token add-user update-user enable-user disable-user delete-user list-users " +
    "list-clients revoke-client ingest evaluate doctor check-role check-config check-statement verify-audit",
  "source dry-run confirm-removal watch": "ingest",
  "poll": "watch",
  "overwrite": "init",
  "retry-failed": "watch-pipeline",
  "switch-to": "reembed",
  "queries qrels": "evaluate reembed",
  "answers": "evaluate",
  "sha256 into": "pull",
  "claims": "doctor evaluate reembed",
  "check-token": "doctor",
};

/** By each such flag, those of which it needs one. */
export const requiredFlags: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(requirements).flatMap(([flags, needed]) =>
    flags.split(" ").map((flag) => [flag, needed.split(" ")])
  ),
);
