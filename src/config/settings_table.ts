import { z } from "zod";
import { configSchema } from "./config_schema.ts";
import {
  leafSchemas,
  listElement,
  schemaDescription,
  sectionFields,
  writtenDefault,
  writtenSchema,
} from "./schema_walk.ts";
import { formatPath, type SettingPath } from "./setting_path.ts";

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
  const settings: Setting[] = [];
  for (const [path, schema] of leafSchemas(configSchema)) {
    const variable = variableOf(path);
    const written = writtenSchema(schema);
    if (variable === undefined || written instanceof z.ZodRecord) continue;
    const text = defaultText(writtenDefault(schema));
    settings.push({
      name: formatPath(path),
      path,
      schema,
      variable,
      description: schemaDescription(schema) ?? "",
      ...(text === undefined ? {} : { defaultText: text }),
      ...(written instanceof z.ZodEnum ? { choices: written.options.map(String) } : {}),
    });
  }
  return settings;
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
