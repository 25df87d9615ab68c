import {
  credentialFlags,
  databaseFlags,
  httpFlags,
  logFlags,
  ragFlags,
  type SettingFlag,
} from "../config/mod.ts";

/** What the program is to do; `run` serves. */
export type Operation =
  | "run"
  | "help"
  | "version"
  | "config-schema"
  | "add-token"
  | "list-tokens"
  | "remove-token"
  | "add-user"
  | "update-user"
  | "enable-user"
  | "disable-user"
  | "delete-user"
  | "list-users"
  | "verify-audit"
  | "openapi"
  | "index-pipeline"
  | "drop-index"
  | "ingest"
  | "evaluate"
  | "doctor";

/** A flag that selects an operation; with a placeholder it takes a value. */
export interface OperationFlag {
  readonly flag: string;
  readonly operation: Operation;
  readonly placeholder?: string;
  readonly help: string;
}

/** A flag that is neither a setting nor an operation. */
export interface OptionFlag {
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
  | "queries"
  | "qrels";

export type Flag = SettingFlag | OperationFlag | OptionFlag;

/** Flags that the help shows together. */
export interface FlagGroup {
  readonly title: string;
  readonly flags: readonly Flag[];
}

/** Every flag there is, in the help's order. */
export const flagGroups: readonly FlagGroup[] = [
  {
    title: "In every mode",
    flags: [
      {
        flag: "config",
        placeholder: "FILE",
        help:
          "Configuration file. Without it: POSTERN_CONFIG, /etc/postern/config.yaml, config.yaml beside the " +
          "executable",
      },
      {
        flag: "demo",
        help:
          "Serve an embedded PostgreSQL with a sample shop and its handbook; needs no file, key or network",
      },
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
      { flag: "rag", help: "Run the RAG server, beside the tool server where -http is given too" },
      ...ragFlags,
      {
        flag: "ingest",
        operation: "ingest",
        placeholder: "PIPELINE",
        help: "Read the files and folders named after it into the pipeline's table; again: what has changed",
      },
      {
        flag: "index-pipeline",
        operation: "index-pipeline",
        placeholder: "PIPELINE",
        help: "Make the indexes that searching the pipeline's tables needs; goes on where it was stopped",
      },
      {
        flag: "drop-index",
        operation: "drop-index",
        placeholder: "PIPELINE",
        help: "Take the pipeline's keyword indexes away",
      },
      {
        flag: "doctor",
        operation: "doctor",
        help: "Check every pipeline and database, and say what to do",
      },
      {
        flag: "evaluate",
        operation: "evaluate",
        placeholder: "PIPELINE",
        help: "Measure the pipeline's retrieval with questions whose answers are known",
      },
      { flag: "queries", placeholder: "FILE", help: "The questions: JSON lines or TSV of id and text" },
      { flag: "qrels", placeholder: "FILE", help: "Their judgements: TSV of query_id, document_id and gain" },
    ],
  },
  { title: "First database", flags: databaseFlags },
  { title: "Credential files", flags: credentialFlags },
  {
    title: "Administrator's operations",
    flags: [
      { flag: "add-token", operation: "add-token", help: "Make an API token and print it, once" },
      { flag: "token-note", placeholder: "TEXT", help: "What the new token is for" },
      { flag: "token-database", placeholder: "NAME", help: "The one database that the new token may use" },
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
        help: "Remove the token with this id, or whose hash begins with these 8 digits or more",
      },
      { flag: "add-user", operation: "add-user", help: "Make a user account; asks for the password" },
      {
        flag: "update-user",
        operation: "update-user",
        help: "Change a user's password, or with -user-note alone the note",
      },
      { flag: "enable-user", operation: "enable-user", help: "Let a disabled or locked user log in again" },
      {
        flag: "disable-user",
        operation: "disable-user",
        help: "End a user's sessions and let them in no more",
      },
      { flag: "delete-user", operation: "delete-user", help: "Remove a user account" },
      { flag: "list-users", operation: "list-users", help: "List the user accounts" },
      { flag: "username", placeholder: "NAME", help: "The user that one of these is about" },
      {
        flag: "password",
        placeholder: "PASSWORD",
        help: "The password, which other users of this machine may see here; without it, it is asked for",
      },
      { flag: "user-note", placeholder: "TEXT", help: "What the account is for" },
      { flag: "json", help: "Print JSON in place of text" },
      {
        flag: "verify-audit",
        operation: "verify-audit",
        placeholder: "FILE",
        help: "Check an audit trail, and name the first line that was changed, removed or inserted",
      },
    ],
  },
  {
    title: "About the program",
    flags: [
      { flag: "help", operation: "help", help: "Print this text; -h does too" },
      { flag: "version", operation: "version", help: "Print name, version, Deno and V8 versions" },
      {
        flag: "config-schema",
        operation: "config-schema",
        help: "Print the JSON Schema of the configuration file, for editors",
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
    "ingest",
    "evaluate",
    "doctor",
  ],
  "queries": ["evaluate"],
  "qrels": ["evaluate"],
};
