import type { Config } from "../../config/mod.ts";
import { AppError } from "../../core/app_error.ts";
import { readRegularBytes } from "../../core/files/read_regular_file.ts";
import type { FileWatch, Look, WatchedFiles } from "../../core/files/watch_files.ts";
import type { Logger } from "../../core/logger.ts";
import type { CheckScheduler } from "../../postgres/guard/check_scheduler.ts";
import {
  definitionFaultText,
  type ReadDefinitions,
  readDefinitions,
} from "../../tool_server/definitions/read_definitions.ts";
import { createSemanticModels } from "../../tool_server/questions/models/semantic_models.ts";
import type { Knowledge } from "../../tool_server/questions/prompt_knowledge.ts";
import { createVerifiedQuestions } from "../../tool_server/questions/verified/verified_questions.ts";
import { builtinTools } from "../../tool_server/builtin_kinds.ts";
import { type Fault, faultText } from "../../core/yaml/file_fault.ts";
import { didYouMean } from "../../core/text/near_name.ts";
import { sizeText } from "../../core/text/units.ts";

interface DefinitionsOptions {
  readonly path: string;
  readonly config: Config;
  readonly files: FileWatch;
  readonly guard: Pick<CheckScheduler, "check">;
  /** Names of the databases as they are now. */
  readonly databases: () => readonly string[];
  /** Puts definitions in the place of those before. */
  readonly offer: (definitions: ReadDefinitions, knowledge: Knowledge) => void;
  readonly logger: Logger;
}

/** Largest file that is read: to parse it takes half a second, in which nobody else is answered. */
const maxBytes = 256 * 1024;

/**
 * Offers what the file of `custom_definitions_path` defines, and again whenever it changes. A definition with a fault is
 * left out, with a line in the log. A file that cannot be read or parsed leaves what was offered before.
 * @throws {AppError} `invalid` where scopes are set for a tool that is nowhere
 */
export async function watchDefinitions(options: DefinitionsOptions) {
  const { path, config, files, guard, databases, offer, logger } = options;
  let loaded: string | undefined;
  let logged = "";
  let isFirst = true;
  let scopeFault: string | undefined;

  async function load({ asked, isCurrent }: Look): Promise<void> {
    const signal = new AbortController().signal;
    try {
      const text = await readText(path);
      const content = JSON.stringify([text, databases()]);
      if (content === loaded && !asked) return;
      const { definitions, faults } = await readDefinitions(text, { guard, signal, databases: databases() });
      if (!await isCurrent()) return;
      loaded = content;
      if (definitions === undefined) throw unusable(path, faults);
      scopeFault = whyNoScopes(config, definitions);
      if (isFirst && scopeFault !== undefined) return;
      if (scopeFault !== undefined) logger.error(scopeFault);
      for (const fault of faults) {
        logger.error(`Cannot use a definition: ${definitionFaultText(path, fault)}`);
      }
      offer(definitions, knowledgeOf(definitions, logger));
      logged = "";
      const loadedText = `${isFirst ? "Loaded" : "Reloaded"} ${path}: ${countsOf(definitions)}`;
      const leftOut = leftOutBy(faults);
      if (leftOut === undefined) logger.info(loadedText);
      else logger.warn(`${loadedText}; ${leftOut}, each with a line above; -check-config tells of them too`);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error.message !== logged || asked) {
        logger.error(
          `${error.message}; ${isFirst ? "nothing of it is offered" : "what it defined before stays"}`,
        );
      }
      logged = error.message;
    }
  }

  const watch: WatchedFiles = await files.watch({ paths: [path], onChange: load });
  isFirst = false;
  if (scopeFault !== undefined) {
    await watch.end();
    throw new AppError("invalid", scopeFault);
  }
  return {
    /** To be called when there are other databases: a definition may name one. */
    databasesChanged: () => load({ asked: false, isCurrent: () => Promise.resolve(true) }),
    [Symbol.asyncDispose]: () => watch.end(),
  };
}

/** Offers the questions over the demo's shop, which have no fault. */
export async function offerDemoDefinitions(
  guard: DefinitionsOptions["guard"],
  offer: DefinitionsOptions["offer"],
  logger: Logger,
): Promise<void> {
  const { readShopQuestions } = await import("../../demo/demo_shop.ts");
  const { signal } = new AbortController();
  const { definitions, faults } = await readDefinitions(await readShopQuestions(), {
    guard,
    signal,
    databases: undefined,
  });
  if (definitions === undefined || faults.length > 0) throw unusable("shop_questions.yaml", faults);
  offer(definitions, knowledgeOf(definitions, logger));
}

function knowledgeOf({ questions, models }: ReadDefinitions, logger: Logger): Knowledge {
  return {
    questions: createVerifiedQuestions(questions, models),
    models: createSemanticModels(models, { logger }),
  };
}

/** How many definitions have faults and are left out; undefined where none is. */
function leftOutBy(faults: readonly Fault[]): string | undefined {
  const entries = new Set(faults.map(({ path }) => /^\w+\[\d+\]/.exec(path)?.[0] ?? path));
  if (entries.size === 0) return undefined;
  return `${entries.size} ${entries.size === 1 ? "definition is" : "definitions are"} left out`;
}

/** @throws {AppError} that names all faults of the file, for whoever checks a configuration */
export async function checkDefinitionsFile(path: string, config: Config): Promise<void> {
  const { definitions, faults } = await readWithoutServer(path, config);
  if (faults.length > 0) throw unusable(path, faults);
  const scopeFault = definitions && whyNoScopes(config, definitions);
  if (scopeFault !== undefined) throw new AppError("invalid", scopeFault);
}

/**
 * What is wrong with a file of definitions that no configuration names, one line each, and what it defines. Which
 * databases there are is not known.
 */
export async function lookAtDefinitions(path: string): Promise<{ faults: string[]; holds: string }> {
  const { definitions, faults } = await readWithoutServer(path, undefined);
  return {
    faults: faults.map((fault) => faultText(fault)),
    holds: definitions === undefined ? "nothing" : countsOf(definitions),
  };
}

/** What a file defines that can be used; undefined where nothing of it can be read, which `checkDefinitionsFile` tells. */
export async function usableDefinitions(path: string, config: Config): Promise<ReadDefinitions | undefined> {
  try {
    return (await readWithoutServer(path, config)).definitions;
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

async function readWithoutServer(path: string, config: Config | undefined) {
  const { createStatementGuard } = await import("../../postgres/guard/statement_guard.ts");
  return await readDefinitions(await readText(path), {
    guard: await createStatementGuard(),
    signal: new AbortController().signal,
    databases: config?.databases.map(({ name }) => name),
  });
}

/** Scopes for a tool that is misspelt would guard nothing. */
function whyNoScopes({ http, custom_definitions_path: path }: Config, { toolNames }: ReadDefinitions) {
  const known = [...builtinTools, ...toolNames];
  const scopes = http.auth.enabled ? http.auth.identity_provider?.scopes_by_tool : undefined;
  const unknown = Object.keys(scopes ?? {}).find((name) => !known.includes(name));
  if (unknown === undefined) return undefined;
  return `Cannot use http.auth.identity_provider.scopes_by_tool.${unknown}: there is no tool of that name, ` +
    `neither built in nor in ${path}${didYouMean(unknown, known)}`;
}

function unusable(path: string, faults: readonly Fault[]): AppError {
  const lines = faults.map((fault) => `Cannot use a definition: ${definitionFaultText(path, fault)}`);
  return new AppError("invalid", lines.join("\n"), { data: { lines } });
}

/** @throws {AppError} that says why the file cannot be read */
async function readText(path: string): Promise<string> {
  try {
    const bytes = await readRegularBytes(path);
    if (bytes.length > maxBytes) {
      throw new AppError(
        "invalid",
        `Cannot read custom_definitions_path ${path}: it has more than ${sizeText(maxBytes)}`,
      );
    }
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof AppError) throw error;
    const reason = error instanceof Deno.errors.NotFound
      ? "there is no such file"
      : error instanceof Deno.errors.PermissionDenied
      ? "this user may not read it"
      : error instanceof TypeError
      ? "it is not UTF-8 text"
      : "the file system refused";
    throw new AppError("unavailable", `Cannot read custom_definitions_path ${path}: ${reason}`, {
      cause: error,
    });
  }
}

function countsOf({ tools, prompts, resources, questions, models }: ReadDefinitions): string {
  return Object.entries({
    tool: tools,
    prompt: prompts,
    resource: resources,
    question: questions,
    model: models,
  })
    .map(([name, { length }]) => `${length} ${name}${length === 1 ? "" : "s"}`).join(", ");
}
