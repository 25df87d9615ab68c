import { defined } from "../../core/defined.ts";
import { variableOf } from "../environment_variables.ts";
import { parseListenAddress } from "../../core/address.ts";
import { aliases } from "./pgedge_aliases.ts";
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
import { formatPath, type SettingPath } from "../../core/yaml/value_tree.ts";

/** A setting that one text can give: by its environment variable, and by a flag where the flag table has one. */
export interface Setting {
  /** As in `http.auth.token_file` or `databases[0].host`. */
  readonly name: string;
  readonly path: SettingPath;
  readonly schema: z.core.$ZodType;
  readonly variable: string;
  readonly description: string;
  /** The default as the file would write it. Optional: none where it would be empty. */
  readonly defaultText?: string;
  /** The values it may have, where they are few. */
  readonly choices?: readonly string[];
}

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
    ...defined({ defaultText: byDefault }),
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
