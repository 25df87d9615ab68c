import type { CompletionProvider, EmbeddingProvider, RerankProvider } from "../../llm/provider.ts";
import { ProviderError, type ProviderErrorKind } from "../../llm/provider_error.ts";
import { readRows } from "../../postgres/read/read_trusted.ts";
import { serverItself } from "../../core/principal.ts";
import { readCatalog } from "../../postgres/catalog/catalog.ts";
import type { Database } from "../../postgres/database.ts";
import { quoteIdentifier } from "../../postgres/sql_text.ts";
import type { DatabaseOptions } from "../../postgres/database_options.ts";
import type { StatementError } from "../../postgres/read/statement_error.ts";
import type { ReadDefinitions } from "../../tool_server/definitions/read_definitions.ts";
import { missingOfModels } from "../../tool_server/questions/models/semantic_models.ts";
import { type Check, type CheckResult, createCheck, error, note, warning } from "./check.ts";
import { secretFileCheck } from "./file_checks.ts";
import type { Config } from "../../config/mod.ts";
import { builtInIssuer } from "../shared_parts.ts";
import { randomBytes } from "node:crypto";
import { AppError } from "../../core/app_error.ts";
import { fetchJson } from "../../identity/issuer/fetch_json.ts";
import { introspect } from "../../identity/issuer/introspection.ts";
import type { IssuerOptions } from "../../identity/issuer/issuer.ts";
import { createMetadata } from "../../identity/issuer/issuer_metadata.ts";
import { usableAlgorithms } from "../../identity/issuer/key_set.ts";

/**
 * Whether the provider embeds a text.
 *
 * @param embed makes the vector of one
 */
export function embeddingCheck(
  provider: EmbeddingProvider,
  embed: (signal: AbortSignal) => Promise<Float32Array>,
): Check {
  const tellLength = async (signal: AbortSignal) => [note(`${(await embed(signal)).length} dimensions`)];
  return providerCheck("embedding", provider, "error", tellLength);
}

/**
 * Whether a provider begins an answer. A ping would not do: most take the key without a look at the model's name.
 *
 * @param isFallback it answers only where another one fails
 */
export function completionCheck(provider: CompletionProvider, isFallback: boolean): Check {
  const [what, severity] = isFallback
    ? ["fallback completion", "warning"] as const
    : ["completion", "error"] as const;
  return providerCheck(what, provider, severity, async (signal) => {
    const messages = [{ role: "user", content: "Reply with the word yes." }] as const;
    // the rest of the answer is not paid for
    for await (const _ of provider.stream({ messages, signal })) break;
    return [];
  });
}

/** Whether a provider reranks. A pipeline goes on without it where it does not. */
export function rerankCheck(provider: RerankProvider): Check {
  return providerCheck("rerank", provider, "warning", async (signal) => {
    await provider.rerank({ query: "ping", documents: ["ping"], signal });
    return [];
  });
}

/** @param attempt what it resolves with is told; what it throws is an error of the provider's */
function providerCheck(
  what: string,
  { name }: { readonly name: string },
  severity: "error" | "warning",
  attempt: (signal: AbortSignal) => Promise<CheckResult[]>,
): Check {
  return createCheck(`${what} by ${name}`, async (signal) => {
    try {
      return await attempt(signal);
    } catch (thrown) {
      const { message, detail, kind } = providerError(thrown);
      const text = `${name}: ${detail === "" ? message : `${message}: ${detail}`}`;
      return [{ ok: false, severity, message: text, remedy: remedyOf(name, kind) }];
    }
  });
}

function providerError(thrown: unknown): ProviderError {
  if (thrown instanceof ProviderError) return thrown;
  if (thrown instanceof DOMException && thrown.name === "TimeoutError") {
    return new ProviderError("timeout", "");
  }
  throw thrown;
}

const remedies: Readonly<Record<ProviderErrorKind, string>> = {
  credentials: "-- Put a valid key into the provider's key file (api_keys) or its environment variable",
  rate_limit: "-- Wait, or raise the account's limit or balance with the provider",
  invalid_request: "-- Correct model, dimensions and base_url of this provider in the configuration",
  unsupported: "-- Choose a provider that offers this, and check that base_url is the address of its API",
  provider: "-- Look at the provider's status page, then try again",
  unreachable: "-- Correct base_url, and check that this machine reaches it: curl -I BASE_URL",
  timeout: "-- Raise request_timeout and per_attempt_timeout, or choose a faster model",
  internal: "-- Look at the server's log",
};

function remedyOf(name: string, errorKind: ProviderErrorKind): string {
  const [kind, ...model] = name.split("/");
  if (kind !== "ollama") return remedies[errorKind];
  if (errorKind === "unreachable") return "ollama serve";
  return errorKind === "invalid_request" ? `ollama pull ${model.join("/")}` : remedies[errorKind];
}

/** Which extensions there are, and which of them have a newer version on the server. */
export function extensionsCheck(database: Database): Check {
  return createCheck("extensions", async (signal) => {
    const rows = await readRows(database, signal, extensionsSql);
    const installed = rows.map(([name, version]) => `${name} ${version}`).join(", ");
    const old = rows.filter(([, , isOld]) => isOld === "t");
    return [
      note(installed === "" ? "none" : installed),
      ...old.map(([name, version, , newest]) =>
        warning(
          `Extension ${name} is at ${version}, and the server has ${newest}`,
          `ALTER EXTENSION ${quoteIdentifier(name ?? "")} UPDATE;`,
        )
      ),
    ];
  });
}

const extensionsSql = `SELECT e.extname, e.extversion,
    a.default_version IS NOT NULL AND a.default_version <> e.extversion, a.default_version
  FROM pg_extension e LEFT JOIN pg_available_extensions a ON a.name = e.extname
  WHERE e.extname <> 'plpgsql' ORDER BY e.extname`;

const namedTables = 5;

/** Whether the planner knows the tables that the role may read. */
export function statisticsCheck(database: Database): Check {
  return createCheck("statistics", async (signal) => {
    const rows = await readRows(database, signal, neverAnalysedSql);
    if (rows.length === 0) return [];
    const names = rows.slice(0, namedTables).map(([name]) => name ?? "");
    const others = rows.length - names.length;
    const more = others > 0 ? ` and ${others} more` : "";
    return [warning(
      `PostgreSQL has never looked at the rows of ${
        names.join(", ")
      }${more}: it may choose slow plans, and estimates ` +
        "of costs and rows are guesses",
      `${names.map((name) => `ANALYZE ${name};`).join("\n")}${
        others > 0 ? "\n-- All tables: vacuumdb --analyze-only DATABASE" : ""
      }`,
    )];
  });
}

// -1 from PostgreSQL 14 on; before that a table without statistics has no pages
const neverAnalysedSql = `SELECT format('%I.%I', n.nspname, c.relname)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'm') AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'postern')
    AND (c.reltuples < 0 OR c.reltuples = 0 AND c.relpages = 0)
    AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') AND pg_relation_size(c.oid) > 0
  ORDER BY pg_relation_size(c.oid) DESC, 1 LIMIT 1000`;

/** A request in words reads the catalog first, and so waits for it; later ones only where it has changed. */
const slowCatalogMs = 2_000;

/** How long it takes to read which tables and columns there are. */
export function catalogCheck(database: Database): Check {
  return createCheck("catalog", async (signal) => {
    const startedAt = performance.now();
    const { tables } = await readCatalog(database, { principal: serverItself, signal });
    const ms = performance.now() - startedAt;
    const text = `${tables.length} tables, read in ${ms.toFixed(0)} ms`;
    if (ms < slowCatalogMs) return [note(text)];
    return [warning(
      `${text}: the first request in words waits for that`,
      "-- Grant the role SELECT on the tables that requests are about, and not on all; VACUUM pg_catalog.pg_attribute;",
    )];
  });
}

/** What a definitions file defines, without what the file itself shows to be wrong. */
export type DoctorDefinitions = Pick<ReadDefinitions, "tools" | "resources" | "questions" | "models">;

/** Whether a database has what the definitions for it name. */
export function definitionsChecks(
  database: Database,
  options: DatabaseOptions,
  isOnly: boolean,
  definitions: DoctorDefinitions,
): Check[] {
  const statements = statementsOn(database.name, isOnly, definitions);
  const models = definitions.models.filter((model) => model.database === database.name);
  return [
    ...(statements.length === 0 ? [] : [statementsCheck(database, options, statements)]),
    ...(models.length === 0 ? [] : [modelsCheck(database, models)]),
  ];
}

/** Plans each statement, without running it and with NULL for each value. */
function statementsCheck(
  database: Database,
  { roleFromUser, roleFromClaim, sessionSettings }: DatabaseOptions,
  statements: readonly DefinitionStatement[],
): Check {
  // where callers have rights of their own, what the server itself may not read they may
  const differs = roleFromUser || roleFromClaim !== undefined || Object.keys(sessionSettings).length > 0;
  const faultOf = differs ? warning : error;
  return createCheck("definitions", async (signal) => {
    const faults: string[] = [];
    for (const { of, sql, parameters } of statements) {
      const result = await database.read({
        principal: serverItself,
        sql: `EXPLAIN ${sql}`,
        parameters: Array.from({ length: parameters }, () => null),
        signal,
      });
      if (!result.ok && isOfStatement(result.error, sql)) faults.push(`${of}: ${result.error.message}`);
    }
    if (faults.length === 0) {
      return [note(statements.length === 1 ? "1 statement" : `${statements.length} statements`)];
    }
    return faults.map((fault) =>
      faultOf(
        `Cannot run the statement of ${fault}`,
        "-- Correct the statement in the file of custom_definitions_path, or grant the role what it reads",
      )
    );
  });
}

/** Whether an error shows that the statement never runs, with whatever values. */
function isOfStatement({ kind, sqlState = "" }: StatementError, sql: string): boolean {
  if (kind === "refused") return true;
  // nobody can have a plan of these explained
  const isPlanless = sqlState === "42601" && /\b(?:show|explain)\b/i.test(sql);
  // https://www.postgresql.org/docs/current/errcodes-appendix.html: names, types and rights
  return kind === "failed" && /^(?:42|3F)/.test(sqlState) && !isPlanless;
}

function modelsCheck(database: Database, models: DoctorDefinitions["models"]): Check {
  return createCheck("models", async (signal) => {
    const { tables } = await readCatalog(database, { principal: serverItself, signal });
    const missing = missingOfModels(models, tables);
    if (missing.length === 0) return [note(models.length === 1 ? "1 model" : `${models.length} models`)];
    return [warning(
      `Models name what the role does not find, and go without it: ${missing.join("; ")}`,
      "-- Correct the names in the file of custom_definitions_path, or grant the role SELECT on the tables",
    )];
  });
}

/** A definition's statement, for whoever tries it before anybody calls it. */
interface DefinitionStatement {
  /** As in "tool orders_of_customer". */
  readonly of: string;
  readonly sql: string;
  /** How many values it takes: `$1` and on. */
  readonly parameters: number;
}

/**
 * The statements that run on a database. One that names none runs on its caller's current one, which is certain only where
 * there is no other.
 */
function statementsOn(
  database: string,
  isOnly: boolean,
  { tools, resources, questions }: Pick<ReadDefinitions, "tools" | "resources" | "questions">,
): DefinitionStatement[] {
  const runsHere = (named: string | undefined) => named === database || named === undefined && isOnly;
  return [
    ...tools.filter((tool) => runsHere(tool.database))
      .map(({ name, sql, input }) => ({ of: `tool ${name}`, sql, parameters: input.names.length })),
    ...resources.flatMap((resource) =>
      resource.type === "sql" && runsHere(resource.database)
        ? [{ of: `resource ${resource.uri}`, sql: resource.sql, parameters: 0 }]
        : []
    ),
    ...questions.filter((question) => runsHere(question.database))
      .map(({ name, sql, arguments: { length } }) => ({
        of: `question ${JSON.stringify(name)}`,
        sql,
        parameters: length,
      })),
  ];
}

/** An issuer as the configuration has it. */
export type DoctorIssuer = Pick<IssuerOptions, "issuer" | "algorithms" | "jwksUri" | "introspection">;

/** Whether an issuer can be reached, has keys for the algorithms, and answers about opaque tokens. */
export function issuerCheck(settings: DoctorIssuer): Check {
  const { issuer, algorithms, introspection } = settings;
  const metadata = createMetadata(settings);
  return createCheck(`issuer ${issuer}`, async (signal) => {
    try {
      const keys = await fetchJson(await metadata.jwksUri.find(signal), signal);
      const found = note(`keys for ${usableAlgorithms(keys, algorithms).join(", ")}`);
      if (introspection === undefined) return [found];
      return [found, { name: `introspection by ${issuer}`, run: askAboutNothing }];
    } catch (thrown) {
      return [mend(thrown, "issuer, jwks_uri and algorithms")];
    }
  });

  async function askAboutNothing(signal: AbortSignal): Promise<CheckResult[]> {
    if (introspection === undefined) return [];
    const nobodys = `doctor-${randomBytes(16).toString("hex")}`;
    try {
      const endpoint = await metadata.introspectionEndpoint.find(signal);
      const claims = await introspect(nobodys, introspection, endpoint, signal);
      return claims === undefined
        ? []
        : [error("It calls a token active that nobody has", "-- Correct endpoint of introspection")];
    } catch (thrown) {
      return [mend(thrown, "endpoint, client_id and client_secret_file of introspection")];
    }
  }
}

function mend(thrown: unknown, settings: string, section = "identity_provider"): CheckResult {
  if (!(thrown instanceof AppError)) throw thrown;
  return error(
    thrown.message,
    `-- Correct ${settings} of ${section}, and check that this machine reaches the issuer`,
  );
}

/** Whether the issuer can be reached at which people log in. It tells what the issuer has to know of Postern. */
export async function issuerLoginChecks({ enabled, auth }: Config["http"]): Promise<Check[]> {
  const [issuer, { login }] = [builtInIssuer(auth), auth.oauth];
  if (!enabled || issuer === undefined || login === undefined) return [];
  const { issuerLoginSettings } = await import("../open_issuer.ts");
  const { createIssuerClient } = await import("../../identity/issuer_login/issuer_client.ts");
  const settings = issuerLoginSettings(issuer, login);
  const { kind, path } = settings.credential;
  const reach = createCheck(`login at ${login.issuer}`, () =>
    createIssuerClient(settings).check().then(
      () => [note(`it is to send browsers back to ${settings.redirectUri}`)],
      (thrown) => [mend(thrown, "issuer, client_id and the credential", "http.auth.oauth.login")],
    ));
  return [secretFileCheck(path, kind === "secret" ? "secret" : "key"), reach];
}
