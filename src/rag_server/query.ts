import type { Message } from "../llm/provider.ts";
import type { Logic, Operator } from "./filter/filter_kinds.ts";

/** What a client asks of a pipeline. Bounds have been checked where the request came in. */
export interface PipelineQuery {
  readonly query: string;
  /** Documents to retrieve, in place of the pipeline's own number. */
  readonly topN?: number;
  /** Joined to the pipeline's own filter by AND. */
  readonly filter?: Filter;
  /** Honoured only where the pipeline permits it. */
  readonly includeSources: boolean;
  /** Skips the keyword arm. */
  readonly disableHybrid: boolean;
  /** Earlier turns, oldest first. */
  readonly messages: readonly Message[];
  /** The client's: statements that PostgreSQL does not stop are counted to it. */
  readonly address?: string;
  /** Aborts where the client leaves or the request's time is over. */
  readonly signal: AbortSignal;
}

export interface Condition {
  /** A column's name, or a path into a JSONB column as in `meta->>kind` and `meta.owner.name`. */
  readonly column: string;
  readonly operator: Operator;
  /** A list for IN and NOT IN; absent for IS NULL and IS NOT NULL. */
  readonly value?: unknown;
}

/** Conditions joined by `logic`. */
export interface Filter {
  readonly conditions: readonly Condition[];
  readonly logic: Logic;
}

/** A document that went into the prompt. */
export interface Source {
  /** Absent where the table has no column for it. */
  readonly id?: string;
  readonly content: string;
  /** Higher is better; comparable within one answer only. */
  readonly score: number;
}

export interface PipelineAnswer {
  readonly answer: string;
  /** In the prompt's order; only where asked for and permitted. */
  readonly sources?: readonly Source[];
  /** Of all providers, embedding and reranking among them. */
  readonly tokensUsed: number;
}

/** Any number of chunks, then one `done`; a failure throws. */
export type PipelineEvent =
  | { readonly type: "chunk"; readonly content: string }
  | { readonly type: "done"; readonly sources?: readonly Source[]; readonly tokensUsed: number };
