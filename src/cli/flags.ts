import {
  credentialFlags,
  databaseFlags,
  httpFlags,
  logFlags,
  processFlags,
  ragFlags,
  type SettingFlag,
} from "../config/schema/setting_flags.ts";

/** What the program is to do; `run` serves. */
export type Operation =
  | "run"
  | "help"
  | "version"
  | "config-schema"
  | "init"
  | "check-config"
  | "add-token"
  | "list-tokens"
  | "remove-token"
  | "add-user"
  | "update-user"
  | "enable-user"
  | "disable-user"
  | "delete-user"
  | "list-users"
  | "list-clients"
  | "revoke-client"
  | "verify-audit"
  | "probe"
  | "openapi"
  | "index-pipeline"
  | "drop-index"
  | "ingest"
  | "evaluate"
  | "setup-role"
  | "check-role"
  | "setup-state"
  | "doctor";

/** A flag that selects an operation; with a placeholder it takes a value. */
interface OperationFlag {
  readonly flag: string;
  readonly operation: Operation;
  readonly placeholder?: string;
  readonly help: string;
}

/** A flag that is neither a setting nor an operation. */
interface OptionFlag {
  readonly flag: OptionName;
  readonly placeholder?: string;
  readonly help: string;
}

export type OptionName =
  | "config"
  | "demo"
  | "rag"
  | "allow-insecure"
  | "token-note"
  | "token-database"
  | "token-expiry"
  | "username"
  | "password"
  | "user-note"
  | "json"
  | "source"
  | "dry-run"
  | "confirm-removal"
  | "queries"
  | "qrels"
  | "claims"
  | "overwrite"
  | "check-token";

export type Flag = SettingFlag | OperationFlag | OptionFlag;

/** Flags that the help shows together. */
interface FlagGroup {
  readonly title: string;
  readonly flags: readonly Flag[];
}

/** Every flag there is, in the help's order. */
export const flagGroups: readonly FlagGroup[] = [
  {
    title: "The first step",
    flags: [
      {
        flag: "init",
        operation: "init",
        help:
          "Ask for a database, try it, and write config.yaml; with -db-host, -db-name and -db-user, or where there is " +
          "no terminal, it asks nothing. With -http for applications over HTTP: then it makes an API token, too",
      },
      { flag: "overwrite", help: "Let -init replace files that are there" },
    ],
  },
  {
    title: "In every mode",
    flags: [
      {
        flag: "config",
        placeholder: "FILE",
        help:
          "Configuration file; without it, the first of POSTERN_CONFIG, /etc/postern/config.yaml and config.yaml " +
          "beside the executable",
      },
      {
        flag: "demo",
        help:
          "Serve sample data, a shop and its handbook, from an embedded PostgreSQL; needs no file, key or network",
      },
      ...processFlags,
      ...logFlags,
    ],
  },
  {
    title: "Tool server over HTTP",
    flags: [
      ...httpFlags,
      { flag: "allow-insecure", help: "Allow -no-auth on an address that other machines can reach" },
    ],
  },
  {
    title: "RAG server",
    flags: [
      { flag: "rag", help: "Run the RAG server; with -http, the tool server too" },
      ...ragFlags,
      {
        flag: "ingest",
        operation: "ingest",
        placeholder: "PIPELINE",
        help:
          "Read the files and folders that follow, or else the pipeline's sources, into its table; on later runs, only " +
          "what has changed",
      },
      {
        flag: "source",
        placeholder: "NAME",
        help:
          "What -ingest calls the folder, instead of its own name; without a folder, which source to ingest",
      },
      { flag: "dry-run", help: "Only print what -ingest would do: write nothing, and ask no provider" },
      {
        flag: "confirm-removal",
        help: "Let -ingest remove most of the known files of a source, or a source that is not configured",
      },
      {
        flag: "index-pipeline",
        operation: "index-pipeline",
        placeholder: "PIPELINE",
        help: "Make the indexes for searches of the pipeline's tables; a run that was stopped continues",
      },
      {
        flag: "drop-index",
        operation: "drop-index",
        placeholder: "PIPELINE",
        help: "Remove the pipeline's keyword indexes",
      },
      {
        flag: "doctor",
        operation: "doctor",
        help: "Check every pipeline, database, provider and file that is configured, and print what to fix",
      },
      {
        flag: "check-token",
        placeholder: "FILE",
        help:
          "Have -doctor say instead whether the identity provider's access token in a file lets its caller in, or what " +
          "refuses it; -: from standard input",
      },
      {
        flag: "evaluate",
        operation: "evaluate",
        placeholder: "PIPELINE",
        help: "Measure the pipeline's retrieval with questions that have known answers",
      },
      { flag: "queries", placeholder: "FILE", help: "The questions, as JSON lines or TSV: id and text" },
      {
        flag: "qrels",
        placeholder: "FILE",
        help: "The known answers, as TSV: query_id, document_id and gain",
      },
      {
        flag: "claims",
        placeholder: "JSON",
        help: 'Claims of the caller that -doctor and -evaluate search as, such as \'{"tenant":"acme"}\'',
      },
    ],
  },
  { title: "First database", flags: databaseFlags },
  {
    title: "PostgreSQL roles",
    flags: [
      {
        flag: "setup-role",
        operation: "setup-role",
        placeholder: "ROLE",
        help: "Print the SQL that makes a role which may only read the databases; Postern runs none of it",
      },
      {
        flag: "check-role",
        operation: "check-role",
        help: "Tell what the configured role of each database may do beyond reading",
      },
      {
        flag: "setup-state",
        operation: "setup-state",
        help:
          "Print the SQL that makes the tables of the state, and the role for them; Postern runs none of it",
      },
    ],
  },
  { title: "Credential files", flags: credentialFlags },
  {
    title: "Administrator's operations",
    flags: [
      { flag: "add-token", operation: "add-token", help: "Make an API token and print it once" },
      { flag: "token-note", placeholder: "TEXT", help: "What the new token is for" },
      { flag: "token-database", placeholder: "NAME", help: "The only database that the new token may use" },
      {
        flag: "token-expiry",
        placeholder: "DURATION",
        help: "How long the new token is valid: 12h, 30d, 2w, 1y or never (default never)",
      },
      { flag: "list-tokens", operation: "list-tokens", help: "List the API tokens, without their secrets" },
      {
        flag: "remove-token",
        operation: "remove-token",
        placeholder: "ID",
        help: "Remove the token with this id, or the one whose hash begins with these digits (at least 8)",
      },
      { flag: "add-user", operation: "add-user", help: "Make a user account; Postern asks for the password" },
      {
        flag: "update-user",
        operation: "update-user",
        help: "Change a user's password; with only -user-note, change the note",
      },
      { flag: "enable-user", operation: "enable-user", help: "Let a disabled or locked user log in again" },
      {
        flag: "disable-user",
        operation: "disable-user",
        help: "End a user's sessions and refuse further logins",
      },
      { flag: "delete-user", operation: "delete-user", help: "Remove a user account" },
      { flag: "list-users", operation: "list-users", help: "List the user accounts" },
      {
        flag: "list-clients",
        operation: "list-clients",
        help: "List the OAuth clients, and who let them in",
      },
      {
        flag: "revoke-client",
        operation: "revoke-client",
        placeholder: "ID",
        help: "Remove the OAuth client with this ID; its access ends at once",
      },
      { flag: "username", placeholder: "NAME", help: "The user to make, change or remove" },
      {
        flag: "password",
        placeholder: "PASSWORD",
        help: "The password; other users of this machine can see it here. Without it, Postern asks for it",
      },
      { flag: "user-note", placeholder: "TEXT", help: "What the account is for" },
      { flag: "json", help: "Print JSON instead of text" },
      {
        flag: "verify-audit",
        operation: "verify-audit",
        placeholder: "FILE",
        help:
          "Check an audit trail, and print the first line that was changed, removed or inserted; of several processes, " +
          "all of their files",
      },
      {
        flag: "probe",
        operation: "probe",
        placeholder: "URL",
        help:
          "Ask a server for its health, as in http://127.0.0.1:8080/health, and fail unless it answers 200; for " +
          "containers without another program",
      },
    ],
  },
  {
    title: "About the program",
    flags: [
      { flag: "help", operation: "help", help: "Print this text; -h does too" },
      { flag: "version", operation: "version", help: "Print the versions of Postern, Deno and V8" },
      {
        flag: "config-schema",
        operation: "config-schema",
        help: "Print the JSON Schema of the configuration file, for editors",
      },
      {
        flag: "check-config",
        operation: "check-config",
        placeholder: "FILE",
        help:
          "Say what this version makes of a configuration file: what it refuses, what it does not use; with -http, " +
          "-rag or both as that start would",
      },
      {
        flag: "openapi",
        operation: "openapi",
        help: "Print the OpenAPI description of the RAG server",
      },
    ],
  },
];

/** Flags that mean something only together with another one. */
export const requiredFlags: Readonly<Record<string, readonly string[]>> = {
  "tls": ["http"],
  "cert": ["tls"],
  "key": ["tls"],
  "chain": ["tls"],
  "rag-listen": ["rag"],
  "rag-port": ["rag"],
  "token-note": ["add-token"],
  "token-database": ["add-token"],
  "token-expiry": ["add-token"],
  "username": ["add-user", "update-user", "enable-user", "disable-user", "delete-user"],
  "password": ["add-user", "update-user"],
  "user-note": ["add-user", "update-user"],
  "json": [
    "add-token",
    "list-tokens",
    "remove-token",
    "add-user",
    "update-user",
    "enable-user",
    "disable-user",
    "delete-user",
    "list-users",
    "list-clients",
    "revoke-client",
    "ingest",
    "evaluate",
    "doctor",
    "check-role",
    "check-config",
    "verify-audit",
  ],
  "source": ["ingest"],
  "dry-run": ["ingest"],
  "confirm-removal": ["ingest"],
  "overwrite": ["init"],
  "queries": ["evaluate"],
  "qrels": ["evaluate"],
  "claims": ["doctor", "evaluate"],
  "check-token": ["doctor"],
};
