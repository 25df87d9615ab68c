import type { PipelineAnswer, PipelineEvent, PipelineQuery } from "./query.ts";

/** A named way from a question to an answer out of documents. */
export interface Pipeline {
  readonly name: string;
  readonly description: string;
  readonly allowsSources: boolean;
  /**
   * @throws {AppError} `invalid` for a filter that does not fit the tables, naming the field
   * @throws {ProviderError} where a provider fails
   * @throws {AppError} `unavailable` or `upstream` where the database does
   */
  answer(query: PipelineQuery): Promise<PipelineAnswer>;
  /** The same in parts, as `answer` throws. */
  stream(query: PipelineQuery): AsyncIterable<PipelineEvent>;
}

/** Whether a provider answered its ping; `error` is one of the fixed phrases. */
export type Reachability = { readonly reachable: true } | {
  readonly reachable: false;
  readonly error: string;
};

export interface PipelineHealth {
  readonly name: string;
  readonly embedding: Reachability;
  readonly completion: Reachability;
}

/** Tokens since the process began. */
export interface UsageCount {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
  readonly cacheCreationInputTokens: number;
  readonly cacheReadInputTokens: number;
}

export interface PipelineStats {
  readonly name: string;
  readonly description: string;
  readonly embedding: UsageCount;
  readonly completion: UsageCount;
  /** Absent where the pipeline reranks nothing. */
  readonly rerank?: UsageCount;
}

/** The pipelines of one configuration, in its order. */
export interface Pipelines {
  list(): readonly Pipeline[];
  find(name: string): Pipeline | undefined;
  /** Pings every provider at once; callers that arrive while that runs share it. */
  health(): Promise<readonly PipelineHealth[]>;
  stats(): readonly PipelineStats[];
}
