import { AppError, type ErrorCode } from "../../../core/app_error.ts";
import { isTimeout, withDeadline } from "../../../core/async/deadline.ts";
import type { Principal } from "../../../core/principal.ts";
import { type AccessObject, accessTo, grantedTo } from "../../../identity/access_rules.ts";
import { ProviderError } from "../../../llm/provider_error.ts";
import type { Pipeline, RunningPipelines } from "../../../rag_server/mod.ts";
import type { CallContext } from "../../call_context.ts";
import { z } from "zod";
import { queryLimits } from "../../../rag_server/query_limits.ts";

/** A pipeline as the configuration has it. */
export type PipelineEntry = Pick<
  Pipeline,
  keyof AccessObject | "description" | "allowsSources" | "rightsKey"
>;

/** The pipelines that the process answers from, of one configuration after the other. */
export interface Pipelines {
  /** Those of now; opens nothing. */
  readonly list: () => readonly PipelineEntry[];
  readonly open: () => Promise<Pick<RunningPipelines, "find">>;
  /** How long one may take for a call; 0: no limit. */
  readonly timeoutMs: number;
}

export type PipelineDirectory = ReturnType<typeof createPipelineDirectory>;

/** The pipelines that each caller may use. */
export function createPipelineDirectory({ list, open, timeoutMs }: Pipelines) {
  const granted = (principal: Principal): readonly PipelineEntry[] => grantedTo(principal, list());
  const showing = (principal: Principal): readonly PipelineEntry[] =>
    granted(principal).filter(({ allowsSources }) => allowsSources);

  /** The same for one that does not exist and one that may not be used; undefined for one that was not named. */
  function notFound(entries: readonly PipelineEntry[], name: string | undefined): AppError {
    const known = entries.map(({ name, description }) =>
      description === "" ? JSON.stringify(name) : `${JSON.stringify(name)} (${description})`
    );
    const available = known.length === 0 ? "none is available to you" : `name one of ${known.join(", ")}`;
    return new AppError(
      "not_found",
      name === undefined
        ? `Cannot choose a pipeline: ${available}`
        : `Cannot use pipeline ${
          JSON.stringify(name.slice(0, 100))
        }: there is no such pipeline; ${available}`,
    );
  }

  /** Without a name, the only one. @throws {AppError} `not_found`, naming those that there are */
  function resolve(principal: Principal, name: string | undefined): PipelineEntry {
    const entries = granted(principal);
    const entry = name === undefined && entries.length === 1
      ? entries[0]
      : entries.find((candidate) => candidate.name === name);
    if (entry === undefined) throw notFound(entries, name);
    return entry;
  }

  /**
   * Runs work on a pipeline that the caller may use, for as long as a query may take.
   *
   * @throws {AppError} with what the caller may hear, after the log has heard the whole; the signal's reason
   */
  async function use<T>(
    { name }: Pick<PipelineEntry, "name">,
    { principal, signal, logger }: Pick<CallContext, "principal" | "signal" | "logger">,
    work: (pipeline: Pipeline, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    try {
      return await withDeadline(timeoutMs, signal, async (soon) => {
        const pipeline = (await open()).find(name);
        // a reload may have come meanwhile
        if (pipeline === undefined || accessTo(principal, pipeline).kind !== "granted") {
          throw notFound(granted(principal), name);
        }
        return await work(pipeline, soon);
      }, () => new AppError("timeout", "the request took too long"));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AppError && isMeantForCallers(error)) throw error;
      const { pipelineError } = await import("../../../rag_server/mod.ts");
      const { code, message } = pipelineError(error);
      const fault = new AppError(
        code === "INVALID_REQUEST" ? "invalid" : codeOf(error),
        `Cannot use pipeline ${JSON.stringify(name)}: ${message}`,
        { cause: error },
      );
      if (fault.code !== "invalid" && fault.code !== "forbidden") {
        const detail = error instanceof ProviderError ? { detail: error.detail } : {};
        logger.error("A query failed", { pipeline: name, error, ...detail });
      }
      throw fault;
    }
  }

  /** The same for principals with one key only where they may read the same documents. */
  function rightsOf(principal: Principal): string {
    const keys = granted(principal).map(({ name, rightsKey }) => [name, rightsKey(principal)]);
    return JSON.stringify(keys.filter(([, key]) => key !== ""));
  }

  return { granted, showing, resolve, use, rightsOf };
}

/** Those of our own making, which hold nothing of a database's. */
function isMeantForCallers({ code }: AppError): boolean {
  return code === "not_found" || code === "overloaded" || code === "quota_exceeded";
}

const knownCodes: readonly ErrorCode[] = ["unavailable", "rate_limited", "forbidden"];

function codeOf(error: unknown): ErrorCode {
  if (isTimeout(error)) return "timeout";
  const isKnown = error instanceof AppError && knownCodes.includes(error.code);
  return isKnown ? error.code : "upstream";
}

const error = `expected a text of 1 to ${queryLimits.queryCharacters} characters, not blank and without NUL`;

/** A question, or what is searched for, in words. */
export const questionArgument = z.string({ error }).min(1, { error }).max(queryLimits.queryCharacters, {
  error,
})
  .refine((text) => text.trim() !== "" && !text.includes("\0"), { error });
