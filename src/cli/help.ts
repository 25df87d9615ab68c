import { listSettings, type Setting } from "../config/mod.ts";
import { type Flag, flagGroups } from "./flags.ts";

const width = 100;
const indent = 26;

const introduction =
  `Postern gives language models read-only tools over PostgreSQL, and answers from documents in it.

Usage:
  server [flags]          MCP over standard input and output
  server -http [flags]    the tool server, at POST /mcp/v1
  server -rag [flags]     the RAG server, at /v1/pipelines/NAME; with -http, both
  server -demo [flags]    any of these over sample data
  server -add-token, -ingest, … do an administrator's operation and exit

Write flags as -flag value, -flag=value or --flag. A flag overrides its environment variable, a
variable overrides the configuration file, and the file overrides the default.
`;

const closing =
  `A setting of the configuration file has an environment variable: POSTERN_ and the setting's path in
capitals, such as POSTERN_LOG_LEVEL. For http.auth and http.tls leave HTTP_ out, as in
POSTERN_AUTH_TOKEN_FILE. For the first database write DB, as in POSTERN_DB_HOST. libpq's variables,
such as PGHOST, give what a database leaves out. config.example.yaml shows all settings.
`;

/** What `-help` prints: every flag by mode, with its default and environment variable, at most 100 columns wide. */
export function helpText(): string {
  const settings = new Map(listSettings().map((setting) => [setting.name, setting]));
  const groups = flagGroups.map(({ title, flags }) =>
    [`${title}:`, ...flags.flatMap((flag) => flagLines(flag, settings))].join("\n") + "\n"
  );
  return [introduction, ...groups, closing].join("\n");
}

function flagLines(flag: Flag, settings: ReadonlyMap<string, Setting>): string[] {
  const head = `  -${flag.flag}${flag.placeholder === undefined ? "" : ` ${flag.placeholder}`}`;
  const lines = wrap(flagHelp(flag, settings), width - indent).map((line) => " ".repeat(indent) + line);
  if (head.length > indent - 2) return [head, ...lines];
  const [first = "", ...rest] = lines;
  return [head.padEnd(indent) + first.trimStart(), ...rest];
}

function flagHelp(flag: Flag, settings: ReadonlyMap<string, Setting>): string {
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

function wrap(text: string, columns: number): string[] {
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
