import { listSettings, type Setting as AnySetting } from "../config/schema/settings_table.ts";
import { type Flag, flagGroups } from "./flags.ts";
import { ownCommand } from "../core/own_command.ts";

/** `tools/bundle_program.ts` writes no more of them into the executable. */
type Setting = Omit<AnySetting, "schema" | "path">;

const width = 100;
const indent = 26;

/** What the program is for, in one sentence. */
export const summary =
  "Postern gives language models read-only tools over PostgreSQL, and answers from documents in it.";

/** What runs with which flags. */
export const modes: readonly (readonly [flags: string, runs: string])[] = [
  ["-init", "asks for a database, and writes config.yaml"],
  ["[flags]", "MCP over standard input and output"],
  ["-http [flags]", "the tool server, at POST /mcp/v1"],
  ["-rag [flags]", "the RAG server, at /v1/pipelines/NAME; with -http, both"],
  ["-demo [flags]", "any of these over sample data"],
  ["-add-token, -ingest, …", "does an administrator's operation, and exits"],
];

export const howToWriteFlags =
  `Write flags as -flag value, -flag=value or --flag. A flag overrides its environment variable, a
variable overrides the configuration file, and the file overrides the default.`;

export const variablesOfSettings =
  `A setting of the configuration file has an environment variable: POSTERN_ and the setting's path in
capitals, such as POSTERN_LOG_LEVEL. For http.auth and http.tls leave HTTP_ out, as in
POSTERN_AUTH_TOKEN_FILE. For the first database write DB, as in POSTERN_DB_HOST. libpq's variables,
such as PGHOST, give what a database leaves out. config.example.yaml shows all settings.`;

/** What `-help` prints: every flag by mode, with its default and environment variable, at most 100 columns wide. */
export function helpText(): string {
  const settings = new Map(listSettings().map((setting): [string, Setting] => [setting.name, setting]));
  const groups = flagGroups.map(({ title, flags }) =>
    [`${title}:`, ...flags.flatMap((flag) => flagLines(flag, settings))].join("\n") + "\n"
  );
  return [`${summary}\n`, usage(), `${howToWriteFlags}\n`, ...groups, `${variablesOfSettings}\n`].join("\n");
}

function usage(): string {
  const { name } = ownCommand();
  const lines = modes.map(([flags, runs]) => `  ${`${name} ${flags}`.padEnd(name.length + 25)}${runs}\n`);
  return `Usage:\n${lines.join("")}`;
}

function flagLines(flag: Flag, settings: ReadonlyMap<string, Setting>): string[] {
  const head = `  -${flag.flag}${flag.placeholder === undefined ? "" : ` ${flag.placeholder}`}`;
  const lines = wrap(flagHelp(flag, settings), width - indent).map((line) => " ".repeat(indent) + line);
  if (head.length > indent - 2) return [head, ...lines];
  const [first = "", ...rest] = lines;
  return [head.padEnd(indent) + first.trimStart(), ...rest];
}

/** What a flag does, with its values, default and environment variable. */
export function flagHelp(flag: Flag, settings: ReadonlyMap<string, Setting>): string {
  if (!("setting" in flag)) return flag.help;
  const setting = settings.get(flag.setting);
  const notes = [
    flag.placeholder === undefined ? undefined : setting?.choices?.join("|"),
    flag.placeholder === undefined || setting?.defaultText === undefined
      ? undefined
      : `default ${setting.defaultText}`,
    flag.on === undefined || flag.on === "true" ? setting?.variable : undefined,
  ].filter((note) => note !== undefined);
  const suffix = notes.length === 0 ? "" : ` (${notes.join(", ")})`;
  return (flag.help ?? setting?.description ?? "") + suffix;
}

/** A text in lines, none longer than its longest word makes it. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
