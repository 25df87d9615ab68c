import { defined } from "../../core/defined.ts";
import { basename, dirname, join, resolve } from "node:path";
import { openToolDatabases } from "../../app/open_databases.ts";
import { type Config, ConfigError, listSettings, loadConfig, type LoadOptions } from "../../config/mod.ts";
import { isLoopback } from "../../core/address.ts";
import { AppError } from "../../core/app_error.ts";
import { replaceFile } from "../../core/files/replace_file.ts";
import { createLogger } from "../../core/logger.ts";
import { connect } from "../../postgres/connect/connect.ts";
import { loginRefusal } from "../../postgres/connect/connect_error.ts";
import { askLine, askUnseen } from "../ask_at_terminal.ts";
import type { Print } from "../output.ts";
import type { ParsedFlags } from "../parse_flags.ts";
import { resultLines } from "./doctor_operation.ts";
import { configText, type InitialConfig, pasteLines } from "./initial_config.ts";
import { ragOperation } from "./rag_operations.ts";
import { setupRole } from "./role_operations.ts";
import { addToken } from "./token_operations.ts";
import { sslModes } from "../../postgres/connect/connection_kinds.ts";
import { runChecks } from "../../app/checks/check.ts";
import { readersCheck, unreachable } from "../../app/checks/database_checks.ts";
import { requirePath } from "../../app/checks/path_faults.ts";

type Answers = Omit<InitialConfig, "http" | "password">;
type Environment = Required<Pick<LoadOptions, "env" | "cwd">>;

/** Where the password is kept: in a file of its own, in the configuration, or by whoever starts the server. */
const passwordPlaces = ["file", "config", "environment"] as const;

const asked = [
  ["host", "-db-host"],
  ["database", "-db-name"],
  ["user", "-db-user"],
] as const;

/**
 * Asks for a database at the terminal, or takes what flags and variables say; tries it; writes a configuration file, and for
 * HTTP an API token; runs the doctor; prints what to paste where.
 *
 * @returns the exit code: 1 where the doctor finds an error
 * @throws {AppError} where nothing is written: a value is missing, the database cannot be reached, a file is there already
 */
export async function init(flags: ParsedFlags, environment: Environment, print: Print): Promise<number> {
  const given = givenAnswers(flags, environment.env);
  const hasAllFlags = asked.every(([key]) => flags.settings.has(`databases[0].${key}`));
  const isTerminal = Deno.stdin.isTerminal() && Deno.stderr.isTerminal();
  const isAsking = isTerminal && !hasAllFlags;
  const path = await chooseFile(flags, environment.cwd, isAsking);
  const known = { ...environment, path };
  const found = isAsking
    ? await askUntilReached(given, known, print)
    : await requireReached(given, known, print);
  const { answers, password } = found;
  const http = await chooseHttp(flags, isAsking);
  const place = password === undefined ? "environment" : isAsking ? await askPlace() : "file";
  const passwordFile = join(dirname(path), "db_password");
  if (place === "file" && !flags.isOn("overwrite")) await refuseExisting(passwordFile);

  const text = configText({
    ...answers,
    ...defined({ http }),
    ...(password === undefined || place === "environment"
      ? {}
      : { password: place === "file" ? { file: basename(passwordFile) } : { text: password } }),
  });
  if (place === "file" && password !== undefined) await write(passwordFile, `${password}\n`, flags);
  await write(path, text, flags);
  print(`Wrote ${path}${place === "file" ? `, and the password to ${passwordFile}` : ""}`);
  print("");

  const isUnkept = place === "environment" && password !== undefined;
  const { config } = await loadConfig({
    ...environment,
    env: { ...environment.env, ...(isUnkept ? { POSTERN_DB_PASSWORD: password } : {}) },
    flags: { configPath: path, settings: new Map(), allowInsecure: false },
  });
  if (http !== undefined) {
    const { token_file: tokenFile } = config.http.auth;
    await addToken({ tokenFile, json: false, note: "made by -init", known: {} }, { print });
    print("");
  }
  const exitCode = await ragOperation({ ...flags, operation: "doctor", json: false }, config, { print });
  print("");
  const keepsPassword = place === "environment" && config.databases[0]?.password !== undefined;
  for (const line of pasteLines({ path, http, keepsPassword })) print(line);
  return exitCode;
}

/** What flags and variables say, in their order, with the defaults of what has one. */
function givenAnswers(
  { settings }: ParsedFlags,
  env: Environment["env"],
): Partial<Answers> & { readonly password?: string } {
  const valueOf = (key: string, ...variables: string[]) =>
    [settings.get(`databases[0].${key}`)?.text, ...variables.map((name) => env[name])].find(Boolean);
  const entries = {
    host: valueOf("host", "POSTERN_DB_HOST", "PGHOST"),
    port: valueOf("port", "POSTERN_DB_PORT", "PGPORT"),
    database: valueOf("database", "POSTERN_DB_DATABASE", "PGDATABASE"),
    user: valueOf("user", "POSTERN_DB_USER", "PGUSER"),
    sslmode: valueOf("sslmode", "POSTERN_DB_SSLMODE", "PGSSLMODE"),
    password: settings.get("databases[0].password")?.text,
  };
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
}

async function chooseFile({ configPath, isOn }: ParsedFlags, cwd: string, isAsking: boolean) {
  let path = resolve(
    cwd,
    configPath ?? (isAsking ? await askLine("Configuration file", "config.yaml") : "config.yaml"),
  );
  while (isAsking && !isOn("overwrite") && await exists(path)) {
    const other = await askLine(`${path} is there already. Another file, or Enter to leave`);
    if (other === "") break;
    path = resolve(cwd, other);
  }
  await requirePath("-config", path, "made file");
  if (!isOn("overwrite")) await refuseExisting(path);
  return path;
}

async function refuseExisting(path: string): Promise<void> {
  if (!await exists(path)) return;
  throw new AppError(
    "conflict",
    `Cannot write ${path}: it is there already; name another file with -config, or give -overwrite`,
  );
}

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

/** Makes a file that only this user may use. @throws {AppError} `conflict` where somebody made it meanwhile */
async function write(path: string, text: string, { isOn }: ParsedFlags): Promise<void> {
  if (isOn("overwrite")) return await replaceFile(path, text);
  try {
    await Deno.writeTextFile(path, text, { createNew: true, mode: 0o600 });
  } catch (cause) {
    await refuseExisting(path);
    throw new AppError("unavailable", `Cannot write ${path}: this user may not write to its folder`, {
      cause,
    });
  }
}

interface Known extends Environment {
  readonly path: string;
}

interface Reached {
  readonly answers: Answers;
  /** As it was given; undefined where the server asks for none, or a variable or ~/.pgpass has it. */
  readonly password: string | undefined;
}

async function requireReached(
  { password, ...given }: Partial<Answers> & { readonly password?: string },
  known: Known,
  print: Print,
): Promise<Reached> {
  const missing = asked.filter(([key]) => given[key] === undefined).map(([, flag]) => flag);
  if (missing.length > 0) {
    throw new AppError(
      "invalid",
      `Cannot write a configuration without a terminal to ask at: give ${missing.join(", ")}`,
    );
  }
  const answers = withDefaults(given);
  const config = await configOf(answers, password, known);
  const fault = await tryToReach(config, print);
  if (fault === undefined) return { answers, password };
  throw new AppError("unavailable", [fault.message, ...fault.remedy.split("\n")].join("\n"));
}

function withDefaults(
  { host = "localhost", port = "5432", database = "postgres", user = "postgres", sslmode }: Partial<Answers>,
): Answers {
  const isNear = host.startsWith("/") || isLoopback(host) || host === "localhost";
  return { host, port, database, user, sslmode: sslmode ?? (isNear ? "prefer" : "verify-full") };
}

/** Asks, tries, says what is wrong and asks again. */
async function askUntilReached(
  given: Partial<Answers> & { readonly password?: string },
  known: Known,
  print: Print,
): Promise<Reached> {
  let { password, ...last } = given;
  let skips: Partial<Answers> = last;
  for (;;) {
    const answers = await askAnswers(last, skips);
    const config = await configOf(answers, password, known).catch((error) => {
      if (!(error instanceof ConfigError)) throw error;
      print(error.message);
    });
    const fault = config && await tryToReach(config, print);
    if (fault?.isPasswordMissing && password === undefined) {
      password = await askUnseen(`Password of ${answers.user} (it is not shown): `);
      [last, skips] = [answers, answers];
      if (password !== "") continue;
      password = undefined;
    }
    if (config !== undefined && fault === undefined) {
      const role = await offerRole(config, answers, print);
      if (role === undefined) return { answers, password };
      [last, skips, password] = [{ ...answers, user: role }, { ...answers, user: role }, undefined];
      continue;
    }
    if (fault !== undefined) { for (const line of [fault.message, ...fault.remedy.split("\n")]) print(line); }
    print("");
    print("Correct what is wrong; Enter keeps an answer, Ctrl-C ends without a change.");
    [last, skips, password] = [answers, {}, undefined];
  }
}

async function askAnswers(last: Partial<Answers>, skips: Partial<Answers>): Promise<Answers> {
  const { host, port, database, user, sslmode } = withDefaults(last);
  const ask = async (key: keyof Answers, question: string, byDefault: string) =>
    skips[key] ?? await askLine(question, byDefault);
  const answers = {
    host: await ask("host", "Host, or folder of a Unix socket", host),
    port: await ask("port", "Port", port),
    database: await ask("database", "Database", database),
    user: await ask("user", "Role", user),
  };
  const usual = last.sslmode === undefined ? withDefaults(answers).sslmode : sslmode;
  // on this machine nobody listens in
  const isAsked = skips.sslmode === undefined && usual !== "prefer";
  return {
    ...answers,
    sslmode: isAsked ? await askLine(`TLS (${sslModes.join(", ")})`, usual) : skips.sslmode ?? usual,
  };
}

/** The configuration that would be written, checked by the schema. @throws {ConfigError} */
async function configOf(
  answers: Answers,
  password: string | undefined,
  { env, path, cwd }: Known,
): Promise<Config> {
  const variables = listSettings().filter(({ name }) => name.startsWith("databases[0].")).map((
    { variable },
  ) => variable);
  const others = Object.entries(env).filter(([name]) =>
    name === "POSTERN_DB_PASSWORD" || !variables.includes(name)
  );
  const { config } = await loadConfig({
    cwd,
    env: Object.fromEntries(others),
    flags: { configPath: path, settings: new Map(), allowInsecure: false },
    readFile: () =>
      Promise.resolve(configText({ ...answers, ...(password && { password: { text: password } }) })),
  });
  return config;
}

/** Undefined where the database was reached. */
async function tryToReach(config: Config, print: Print) {
  const logger = createLogger(config.log);
  const { signal } = new AbortController();
  await using databases = await openToolDatabases(config, logger);
  const [only] = databases.list;
  if (only === undefined) throw new AppError("internal", "Cannot try the database: there is none");
  const { hosts: [server], database, user } = only.options;
  print(`Trying database ${database} on ${server?.host}, port ${server?.port}, as role ${user}`);
  try {
    await (await connect(only.options, { signal, logger })).close();
    print("It answers");
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return {
      ...unreachable(error, only.options),
      isPasswordMissing: loginRefusal(error.cause) === "no_password",
    };
  }
}

/** Tells of a role that may do more than read, and offers the SQL of one that may not: its name, if it is used from now on. */
async function offerRole(config: Config, { user }: Answers, print: Print): Promise<string | undefined> {
  const { signal } = new AbortController();
  {
    await using databases = await openToolDatabases(config, createLogger(config.log));
    const checks = databases.list.map(({ database, options }) =>
      readersCheck(database, options, () => false)
    );
    const [result] = await runChecks(checks, { limitMs: 10_000, signal });
    if (result === undefined || result.ok) return undefined;
    print(resultLines(result, true)[0]?.trim() ?? "");
  }
  if (!await agrees("Print the SQL that makes a role which may only read", true)) return undefined;
  const role = await askLine(
    "Name of the role",
    user === "postern_reader" ? "postern_read" : "postern_reader",
  );
  await setupRole(config, { role, signal }, print);
  return await agrees(`Go on as ${role} (run the SQL first), or else as ${user}`, false) ? role : undefined;
}

async function agrees(question: string, byDefault: boolean): Promise<boolean> {
  return /^y/i.test(await askLine(`${question} (y/n)`, byDefault ? "y" : "n"));
}

/** The address to listen on; undefined for an assistant that starts the server over stdio. */
async function chooseHttp({ settings }: ParsedFlags, isAsking: boolean): Promise<string | undefined> {
  const address = settings.get("http.address")?.text;
  const given = settings.get("http.enabled")?.text;
  const isHttp = given !== undefined || address !== undefined || !isAsking
    ? given === "true" || address !== undefined
    : /^h/i.test(
      await askLine("For an assistant on this machine, or applications over HTTP (stdio/http)", "stdio"),
    );
  return isHttp ? address ?? "127.0.0.1:8080" : undefined;
}

async function askPlace(): Promise<typeof passwordPlaces[number]> {
  for (;;) {
    const answer = await askLine(
      "Keep the password in a file of its own, in the configuration, or not at all (file/config/no)",
      "file",
    );
    const place = passwordPlaces.find((each) => each.startsWith(answer.toLowerCase()));
    if (place !== undefined && answer !== "") return place;
    if (/^no/i.test(answer)) return "environment";
  }
}
