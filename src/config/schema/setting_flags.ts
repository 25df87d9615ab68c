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

/** A setting as a flag gave it. */
export interface FlagSetting {
  readonly text: string;
  /** With its dash, as faults name it. */
  readonly flag: string;
}

export const httpFlags: readonly SettingFlag[] = [
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

export const ragFlags: readonly SettingFlag[] = [
  { flag: "rag-listen", setting: "server.listen_address", placeholder: "HOST" },
  { flag: "rag-port", setting: "server.port", placeholder: "PORT" },
];

export const credentialFlags: readonly SettingFlag[] = [
  { flag: "token-file", setting: "http.auth.token_file", placeholder: "FILE" },
  { flag: "user-file", setting: "http.auth.user_file", placeholder: "FILE" },
];

export const databaseFlags: readonly SettingFlag[] = [
  { flag: "db-host", setting: "databases[0].host", placeholder: "HOST" },
  { flag: "db-port", setting: "databases[0].port", placeholder: "PORT" },
  { flag: "db-name", setting: "databases[0].database", placeholder: "NAME" },
  { flag: "db-user", setting: "databases[0].user", placeholder: "ROLE" },
  { flag: "db-password", setting: "databases[0].password", placeholder: "PASSWORD" },
  { flag: "db-sslmode", setting: "databases[0].sslmode", placeholder: "MODE" },
  { flag: "db-hosts", setting: "databases[0].hosts", placeholder: "HOST:PORT,…" },
  { flag: "db-target-session-attrs", setting: "databases[0].target_session_attrs", placeholder: "KIND" },
];

export const processFlags: readonly SettingFlag[] = [
  { flag: "processes", setting: "processes", placeholder: "NUMBER" },
];

export const logFlags: readonly SettingFlag[] = [
  { flag: "log-level", setting: "log.level", placeholder: "LEVEL" },
  { flag: "log-format", setting: "log.format", placeholder: "FORMAT" },
  { flag: "debug", setting: "log.level", on: "debug", help: "Log everything, as -log-level debug does" },
];
