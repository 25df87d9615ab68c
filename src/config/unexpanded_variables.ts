import { defined } from "../core/defined.ts";
import { libpqVariables } from "./environment_variables.ts";
import { configSchema } from "./schema/config_schema.ts";
import type { Fault } from "./fault.ts";
import { shellReference } from "./row_security_faults.ts";
import { ownField, schemaAt, sectionFields } from "./schema/schema_walk.ts";
import { listSettings } from "./schema/settings_table.ts";
import { formatPath, isMap, type SettingPath, type ValueMap } from "../core/yaml/value_tree.ts";
import type { PlaceOf } from "../core/yaml/file_fault.ts";

/** What to tell of a value that was written as if variables were replaced in it. */
export interface VariableHint {
  /** As in `databases[0].user`. */
  readonly path: string;
  /** The same as the file calls it: `databases[0].username`. */
  readonly writtenPath: string;
  readonly line?: number;
  /** Never the value: it may be a password after all. */
  readonly message: string;
}

const reference = /\$\{[^{}]+\}/;

/** One hint for each text of a file that holds `${…}`, which Compose and shells replace and this server does not. */
export function variableHints(tree: ValueMap, place: PlaceOf): VariableHint[] {
  return [...textsOf(tree, [])].filter(([path, text]) => isMeantForShell(path, text)).map(([path]) => {
    const { line, path: writtenPath = formatPath(path) } = place(path) ?? {};
    return {
      path: formatPath(path),
      writtenPath,
      ...defined({ line }),
      message: `variables such as \${NAME} are not replaced here: ${instead(path)}`,
    };
  });
}

/** The placeholders of `session_settings` are filled in, and have a fault of their own where a `$` stands before them. */
function isMeantForShell(path: SettingPath, text: string): boolean {
  return reference.test(text) && !(path.at(-2) === "session_settings" && shellReference.test(text));
}

/** Hints as lines for the log. */
export function hintWarnings(hints: readonly VariableHint[]): string[] {
  return hints.map(({ writtenPath, line, message }) =>
    `${writtenPath}${line === undefined ? "" : ` (line ${line})`} is used as it is written: ${message}`
  );
}

/** Faults, those of a value with a hint with that hint: it says why the value does not fit. */
export function withHints(faults: readonly Fault[], hints: readonly VariableHint[]): Fault[] {
  return faults.map((fault) => {
    const hint = fault.line === undefined
      ? undefined
      : hints.find(({ writtenPath }) => writtenPath === fault.path);
    return hint === undefined ? fault : { ...fault, message: `${fault.message}; ${hint.message}` };
  });
}

function* textsOf(value: unknown, path: SettingPath): Generator<[SettingPath, string]> {
  if (typeof value === "string") yield [path, value];
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* textsOf(item, [...path, index]);
  } else if (isMap(value)) {
    for (const [key, item] of Object.entries(value)) yield* textsOf(item, [...path, key]);
  }
}

function instead(path: SettingPath): string {
  const file = `${path.at(-1)}_file`;
  const section = schemaAt(configSchema, path.slice(0, -1));
  const hasFile = section !== undefined && ownField(sectionFields(section) ?? {}, file) !== undefined;
  const variables = variablesOf(path);
  const ways = [
    ...(hasFile ? [`set ${file} to a file that holds the value`] : []),
    ...(variables.length === 0 ? [] : [`leave it out and set ${variables.join(" or ")}`]),
  ];
  return ways.length === 0 ? "write the value itself" : ways.join(", or ");
}

/** The environment variables that give a setting. */
function variablesOf(path: SettingPath): string[] {
  const [first, index, key = ""] = path;
  const isDatabase = first === "databases" && typeof index === "number" && path.length === 3;
  const name = isDatabase ? `databases[0].${key}` : formatPath(path);
  // of the variables of the first database, the password's is for all
  const isGiven = !isDatabase || index === 0 || key === "password";
  const own = isGiven ? listSettings().find((setting) => setting.name === name)?.variable : undefined;
  const libpq = isDatabase
    ? Object.entries(libpqVariables).filter(([, setting]) => setting === key).map(([variable]) => variable)
    : [];
  return [...(own === undefined ? [] : [own]), ...libpq];
}
