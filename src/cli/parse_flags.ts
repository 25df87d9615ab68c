import { defined } from "../core/defined.ts";
import type { FlagSetting } from "../config/mod.ts";
import { parseClaims } from "../core/claims.ts";
import { type Flag, flagGroups, type Operation, type OptionName, requiredFlags } from "./flags.ts";
import { nearestName } from "../core/text/near_name.ts";
import { parseDuration } from "../core/text/units.ts";
import { knownModel } from "../llm/onnx/read_model_folder.ts";

/** The command line, understood. */
export type ParsedFlags = ReturnType<typeof parseFlags>;

/** A command line that cannot be understood: one line that names the flag; the program exits with 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

interface GivenFlag {
  readonly flag: Flag;
  /** Absent for a flag that takes none and was not given `=false`. */
  readonly text: string;
}

const allFlags: ReadonlyMap<string, Flag> = new Map(
  flagGroups.flatMap(({ flags }) => flags.map((flag) => [flag.flag, flag])),
);

/**
 * Reads flags as Go programs do: `-flag value`, `-flag=value`, the same with two dashes, `-flag=false` to take a switch
 * back; the last of several wins.
 *
 * @throws {UsageError} for an unknown flag, a missing value, flags that do not go together, anything that is no flag
 */
export function parseFlags(args: readonly string[]) {
  const { given, paths } = readArguments(args);
  const operation = chooseOperation(given);
  if (operation !== "help" && operation !== "version") checkTogether(given, operation);
  const options: Partial<Record<OptionName, string>> = {};
  for (const { flag, text } of given.values()) {
    if ("setting" in flag || "operation" in flag) continue;
    checkForm(flag.flag, text);
    options[flag.flag] = text;
  }
  const isOn = (name: OptionName) => options[name] === "true";
  const ofOperation = given.get(operation);
  const takes = ofOperation?.flag.placeholder;
  const subject = takes === undefined ? undefined : ofOperation?.text;
  return {
    operation,
    /** What the operation is about, such as an id, a file or a pipeline; empty where it takes nothing. */
    subject: subject ?? "",
    settings: collectSettings(given),
    /** Those that were given, by name; "true" for a switch. */
    options,
    isOn,
    allowInsecure: isOn("allow-insecure"),
    demo: isOn("demo"),
    rag: isOn("rag"),
    json: isOn("json"),
    ...defined({
      configPath: operation === "check-config" ? subject : options.config,
      /** The one that an operation on a pipeline is about. */
      pipeline: takes === "PIPELINE" ? subject : undefined,
    }),
    /** Files and folders for `-ingest`, none for the pipeline's sources; further files for `-verify-audit`. */
    paths,
  };
}

const takesPaths = ["ingest", "verify-audit"] as const;

/** Flags in the order of the command line, and the paths between and after them that some operations take. */
function readArguments(args: readonly string[]) {
  const given = new Map<string, GivenFlag>();
  const paths: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const argument = args[index] ?? "";
    const match = /^--?([^-=][^=]*)(?:=(.*))?$/s.exec(argument);
    if (
      match === null && takesPaths.some((name) => given.has(name)) && argument !== "" &&
      !argument.startsWith("-")
    ) {
      paths.push(argument);
      continue;
    }
    if (match === null) {
      const before = [...given.keys()].at(-1);
      const isSwitch = before !== undefined && allFlags.get(before)?.placeholder === undefined;
      throw new UsageError(
        `unexpected argument ${quote(argument)}: ` +
          (isSwitch ? `-${before} takes no value` : "every option is a flag such as -http"),
      );
    }
    const [, written = "", inline] = match;
    const name = written === "h" ? "help" : written;
    const flag = allFlags.get(name) ?? unknownFlag(name);
    if (flag.placeholder === undefined) {
      const text = switchText(name, inline);
      given.delete(name);
      if (text === "true" || "setting" in flag) given.set(name, { flag, text });
    } else {
      const text = inline ?? args[++index];
      if (text === undefined) throw new UsageError(`-${name} needs a value: -${name} ${flag.placeholder}`);
      if (inline === undefined && isFlag(text)) {
        throw new UsageError(
          `-${name} needs a value before ${quote(text)}: -${name} ${flag.placeholder}; if it is ${
            quote(text)
          }, write ` +
            `-${name}=${text}`,
        );
      }
      given.delete(name);
      given.set(name, { flag, text });
    }
  }
  return { given, paths };
}

/** Whether a text is a flag without a value of its own in it, and so hardly the value of another. */
function isFlag(text: string): boolean {
  const [, name = ""] = /^--?([a-z-]+)$/.exec(text) ?? [];
  return allFlags.has(name);
}

function unknownFlag(name: string): never {
  const nearest = nearestName(name, allFlags.keys());
  const hint = nearest === undefined ? "-help lists all flags" : `did you mean -${nearest}?`;
  throw new UsageError(`unknown flag ${quote(`-${name}`)}: ${hint}`);
}

function switchText(name: string, inline: string | undefined): "true" | "false" {
  if (inline === undefined || /^(true|t|1)$/i.test(inline)) return "true";
  if (/^(false|f|0)$/i.test(inline)) return "false";
  throw new UsageError(`-${name} is a switch: expected true or false, got ${quote(inline)}`);
}

function chooseOperation(given: ReadonlyMap<string, GivenFlag>): Operation {
  const chosen = [...given.values()].flatMap(({ flag }) => "operation" in flag ? [flag] : []);
  const about = chosen.find(({ operation }) => operation === "help" || operation === "version");
  if (about !== undefined) return about.operation;
  const [first, second] = chosen;
  if (first !== undefined && second !== undefined) {
    throw new UsageError(`-${first.flag} and -${second.flag} exclude each other`);
  }
  return first?.operation ?? "run";
}

const neededFlags: Readonly<Partial<Record<Operation, readonly string[]>>> = {
  evaluate: ["queries", "qrels"],
  pull: ["sha256", "into"],
};

/** Switches that were taken back count as not given. */
function checkTogether(given: ReadonlyMap<string, GivenFlag>, operation: Operation): void {
  const isOn = (name: string) => given.has(name) && given.get(name)?.text !== "false";
  // what a start finds wrong depends on what it serves
  const refused = operation === "run" ? [] : operation === "check-config"
    ? ["demo"]
    // what one server needs, and nothing that it writes into the file besides
    : operation === "init"
    ? ["rag", "demo", "tls", "no-auth", "db-hosts", "db-target-session-attrs"]
    : ["http", "rag", "demo"];
  const serving = refused.find(isOn);
  if (serving !== undefined) throw new UsageError(`-${operation} and -${serving} exclude each other`);
  if (requiredFlags["username"]?.includes(operation) && !given.has("username")) {
    throw new UsageError(`-${operation} needs -username NAME`);
  }
  const once = ["dry-run", "confirm-removal"].find(isOn);
  if (isOn("watch") && once !== undefined) throw new UsageError(`-watch and -${once} exclude each other`);
  const needed = operation === "reembed" && ["queries", "qrels"].some(isOn) ? "evaluate" : operation;
  for (const name of given.get("pull")?.text === knownModel.name ? [] : neededFlags[needed] ?? []) {
    const { placeholder } = allFlags.get(name) ?? {};
    if (!given.has(name)) throw new UsageError(`-${operation} needs -${name} ${placeholder}`);
  }
  for (const name of Object.keys(requiredFlags).filter(isOn)) {
    const missing = missingFor(name, isOn);
    const hint = missing.includes("-http") && isOn("rag")
      ? "; the RAG server has server.tls, which a file alone sets"
      : "";
    if (missing.length > 0) throw new UsageError(`-${name} needs ${missing.join(" and ")}${hint}`);
  }
}

/** What a flag needs and lacks, and what that needs in turn. */
function missingFor(name: string, isOn: (name: string) => boolean): string[] {
  const needed = requiredFlags[name] ?? [];
  if (needed.length === 0 || needed.some(isOn)) return [];
  const [only = "", ...others] = needed;
  return [
    needed.map((flag) => `-${flag}`).join(" or "),
    ...(others.length === 0 ? missingFor(only, isOn) : []),
  ];
}

function collectSettings(given: ReadonlyMap<string, GivenFlag>): ReadonlyMap<string, FlagSetting> {
  const settings = new Map<string, FlagSetting>();
  for (const { flag, text } of given.values()) {
    if (!("setting" in flag)) continue;
    const value = flag.placeholder !== undefined ? text : text === "true" ? flag.on : flag.off;
    if (value !== undefined) settings.set(flag.setting, { text: value, flag: `-${flag.flag}` });
  }
  return settings;
}

const isLasting = (text: string) => (parseDuration(text) ?? 0) > 0;

/** What the texts of some options must be, and whether a text is. */
const forms: Readonly<Record<string, readonly [expected: string, holds: (text: string) => boolean]>> = {
  "switch-to": ["new or old", (text) => text === "new" || text === "old"],
  "token-expiry": [
    "a duration such as 12h, 30d or 1y, or never",
    (text) => text === "never" || isLasting(text),
  ],
  "poll": ["a duration such as 15m", isLasting],
  "claims": [`a JSON object such as '{"tenant":"acme"}'`, (text) => parseClaims(text) !== undefined],
};

function checkForm(name: OptionName, text: string): void {
  const [expected, holds] = forms[name] ?? [];
  if (holds?.(text) ?? true) return;
  // claims may hold what nobody else is to read
  const got = name === "claims" ? "" : `; got ${quote(text)}`;
  throw new UsageError(`-${name} expects ${expected}${got}`);
}

// a line end in an argument must not make two lines of the one that scripts read
function quote(text: string): string {
  return JSON.stringify(text);
}
