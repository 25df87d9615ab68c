import { listSettings } from "../../src/config/mod.ts";
import { flagGroups } from "../../src/cli/flags.ts";
import { flagHelp, howToWriteFlags, modes, summary, variablesOfSettings, wrap } from "../../src/cli/help.ts";

export interface ManPageOptions {
  /** What the program is called where it is installed. */
  readonly command: string;
  readonly version: string;
  /** As in `2026-11-22`. */
  readonly date: string;
}

/** The page of section 1, in the macros of man(7). */
export function manPage({ command, version, date }: ManPageOptions): string {
  const settings = new Map(listSettings().map((setting) => [setting.name, setting]));
  const options = flagGroups.flatMap(({ title, flags }) => [
    `.SS ${quoted(title)}`,
    ...flags.flatMap((flag) => [
      ".TP",
      flag.placeholder === undefined
        ? `.B ${quoted(`-${flag.flag}`)}`
        : `.BI ${quoted(`-${flag.flag} `)} ${quoted(flag.placeholder)}`,
      text(flagHelp(flag, settings)),
    ]),
  ]);
  return [
    `.TH ${command.toUpperCase()} 1 ${date} ${quoted(`Postern ${version}`)}`,
    ".SH NAME",
    `${command} \\- read\\-only tools over PostgreSQL, and answers from documents in it`,
    ".SH SYNOPSIS",
    ...modes.flatMap(([flags], index) => [
      ...(index === 0 ? [] : [".br"]),
      `.B ${command}`,
      text(flags),
    ]),
    ".SH DESCRIPTION",
    text(summary),
    ...modes.flatMap(([flags, runs]) => [".TP", `.B ${quoted(`${command} ${flags}`)}`, text(runs)]),
    ".PP",
    text(howToWriteFlags),
    ".SH OPTIONS",
    ...options,
    ".SH EXIT STATUS",
    ...[
      ["0", "It did what it was asked for, or was asked to stop."],
      ["1", "It could not; standard error says why."],
      ["2", "The command line cannot be understood; standard error names the flag."],
    ].flatMap(([code = "", meaning = ""]) => [".TP", `.B ${code}`, text(meaning)]),
    ".SH ENVIRONMENT",
    text(variablesOfSettings),
    ".SH FILES",
    ".TP",
    `.I /etc/${command}/config.yaml`,
    text("The configuration, where neither -config nor POSTERN_CONFIG names another file."),
    ".SH SIGNALS",
    ".TP",
    ".B SIGHUP",
    text("A server reads its configuration, credential files, keys and certificates again."),
    ".TP",
    ".B SIGTERM",
    text("A server lets the requests that run finish, and ends."),
    ".SH EXAMPLES",
    text("Serve sample data over HTTP, without a file, key or network:"),
    ".PP",
    ".RS",
    `.B ${quoted(`${command} -demo -http`)}`,
    ".RE",
    ".PP",
    text("Make a token for an application, then serve it:"),
    ".PP",
    ".RS",
    `.B ${quoted(`${command} -config config.yaml -add-token -token-note "billing agent"`)}`,
    ".br",
    `.B ${quoted(`${command} -config config.yaml -http -addr 127.0.0.1:8080`)}`,
    ".RE",
    ".SH SEE ALSO",
    ".BR psql (1)",
    "",
  ].join("\n");
}

/** Running text: nothing in it is a request or an escape. */
function text(plain: string): string {
  return wrap(plain.replaceAll(/\s+/g, " "), 70).map((line) => escaped(line).replace(/^\./, "\\&.")).join(
    "\n",
  );
}

/** An argument of a macro. */
function quoted(plain: string): string {
  return `"${escaped(plain).replaceAll('"', '""')}"`;
}

function escaped(plain: string): string {
  return plain.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll("…", "...").replaceAll("'", "\\(aq");
}
