import { formatPath, type SettingPath } from "../value_tree.ts";
import { parseListenAddress } from "../../core/address.ts";
import { aliases } from "./aliases.ts";
import { configSchema } from "./config_schema.ts";
import {
  leafSchemas,
  listElement,
  schemaDescription,
  sectionFields,
  writtenDefault,
  writtenSchema,
} from "./schema_walk.ts";
import { z } from "zod";

/** A setting that one text can give: by its environment variable, and by a flag where the flag table has one. */
export interface Setting {
  /** As in `http.auth.token_file` or `databases[0].host`. */
  readonly name: string;
  readonly path: SettingPath;
  readonly schema: z.core.$ZodType;
  readonly variable: string;
  readonly description: string;
  /** The default as the file would write it; absent where there is none or it is empty. */
  readonly defaultText?: string;
  /** The values it may have, where they are few. */
  readonly choices?: readonly string[];
}

export const variablePrefix = "POSTERN_";
/** Names the configuration file. */
export const configVariable = "POSTERN_CONFIG";

/** libpq's variables: what a database leaves out, its own settings and `POSTERN_DB_*` having been asked first. */
export const libpqVariables: Readonly<Record<string, string>> = {
  PGHOST: "host",
  PGPORT: "port",
  PGDATABASE: "database",
  PGUSER: "user",
  PGPASSWORD: "password",
  PGSSLMODE: "sslmode",
  PGSSLCERT: "sslcert",
  PGSSLKEY: "sslkey",
  PGSSLROOTCERT: "sslrootcert",
  PGTARGETSESSIONATTRS: "target_session_attrs",
};

/** Every setting that an environment variable can give; of lists of sections, those of the first database. */
export function listSettings(): Setting[] {
  const settings = Array.from(
    leafSchemas(configSchema),
    ([path, schema]) => settingOf(path, schema, defaultText(writtenDefault(schema))),
  ).filter((setting) => setting !== undefined);
  return [...settings, ...addressHalves(settings)];
}

function settingOf(path: SettingPath, schema: z.core.$ZodType, byDefault?: string): Setting | undefined {
  const variable = variableOf(path);
  const written = writtenSchema(schema);
  if (variable === undefined || written instanceof z.ZodRecord) return undefined;
  return {
    name: formatPath(path),
    path,
    schema,
    variable,
    description: schemaDescription(schema) ?? "",
    ...(byDefault === undefined ? {} : { defaultText: byDefault }),
    ...(written instanceof z.ZodEnum ? { choices: written.options.map(String) } : {}),
  };
}

/** The settings that give a half of an address alone. */
function addressHalves(settings: readonly Setting[]): Setting[] {
  return aliases.flatMap(({ holder, alias, name, schema }) => {
    if (schema === undefined) return [];
    const whole = settings.find((setting) => setting.name === `${holder}.${name}`)?.defaultText ?? "";
    const { host, port } = parseListenAddress(whole) ?? { host: "", port: "" };
    const half = String(alias === "port" ? port : host);
    return settingOf([holder, alias], schema, half === "" ? undefined : half) ?? [];
  });
}

function variableOf(path: SettingPath): string | undefined {
  const [first, second, third] = path;
  if (first === "databases") {
    if (third === "name") return undefined;
    return `${variablePrefix}DB_${third === "database" ? "NAME" : String(third).toUpperCase()}`;
  }
  if (path.some((part) => typeof part === "number")) return undefined;
  const named = first === "http" && (second === "auth" || second === "tls") ? path.slice(1) : path;
  return variablePrefix + named.join("_").toUpperCase();
}

function defaultText(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : undefined;
}

/**
 * The value that a text from the environment or a flag stands for, as the file would write it. A text that does not
 * fit stays as it is, so that validation names what was expected.
 */
export function valueFromText(schema: z.core.$ZodType, text: string): unknown {
  const written = writtenSchema(schema);
  if (written instanceof z.ZodNumber) return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  const element = listElement(written);
  if (element === undefined) return text;
  const parts = text.split(",").map((part) => part.trim()).filter((part) => part !== "");
  return sectionFields(element) === undefined ? parts : parts.map(hostFromText);
}

function hostFromText(text: string): unknown {
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text);
  if (match === null) return { host: text };
  const host = match[1] ?? match[2] ?? "";
  return match[3] === undefined ? { host } : { host, port: Number(match[3]) };
}

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

export const logFlags: readonly SettingFlag[] = [
  { flag: "log-level", setting: "log.level", placeholder: "LEVEL" },
  { flag: "log-format", setting: "log.format", placeholder: "FORMAT" },
  { flag: "debug", setting: "log.level", on: "debug", help: "Log everything, as -log-level debug does" },
];
