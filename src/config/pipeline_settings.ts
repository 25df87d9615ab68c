import { defined } from "../core/defined.ts";
import { basename } from "node:path";
import { AppError } from "../core/app_error.ts";
import type { CompletionKind, EmbeddingKind, RerankKind } from "../llm/provider_kinds.ts";
import type { Pooling } from "../llm/onnx/pooling_kinds.ts";
import type { ParsedConfig } from "./schema/config_schema.ts";
import { noName } from "./schema/identity.ts";

/** Queries at the same time have their searches wait for each other beyond this; a search takes milliseconds. */
const defaultPoolMaxConns = 10;

type Parsed = ParsedConfig["pipelines"][number];
type ParsedSource = NonNullable<Parsed["sources"]>[number];
/** Of one that is no folder, `path` is what tells it from others. */
type SourceConfig = Omit<ParsedSource, "name" | "path"> & { readonly name: string; readonly path: string };
type ParsedCompletion = NonNullable<Parsed["rag_llm"]>;

/** Of `onnx`: a model of this machine. */
interface ModelFiles {
  /** Absolute. */
  readonly model_path?: string | undefined;
  readonly pooling?: Pooling | undefined;
  readonly query_prefix?: string | undefined;
  readonly passage_prefix?: string | undefined;
}

/** What sections of the file say about every kind of provider. */
interface ParsedProvider<Kind extends string> extends ModelFiles {
  readonly provider?: Kind | undefined;
  readonly model?: string | undefined;
  readonly base_url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly request_timeout?: number | undefined;
  readonly per_attempt_timeout?: number | undefined;
  readonly api_key_file?: string | undefined;
}

/** How to reach a provider, with every level of the configuration laid over the one below. Times in milliseconds. */
export interface ProviderSettings<Kind extends string> extends ModelFiles {
  readonly provider: Kind;
  readonly model: string;
  readonly base_url?: string;
  /** Of `defaults`, of the pipeline and of the provider itself; later ones win. */
  readonly headers: readonly Readonly<Record<string, string>>[];
  readonly request_timeout: number;
  /** 0: no limit. */
  readonly per_attempt_timeout: number;
  /** The file that holds the key of the provider's kind: of the pipeline, else of `defaults`, else of `api_keys`. */
  readonly api_key_file?: string;
  /** The file that the provider's own section names, which counts before the kind's. */
  readonly own_api_key_file?: string;
}

export interface CompletionSettings extends ProviderSettings<CompletionKind> {
  readonly max_tokens?: number;
  readonly context_tokens?: number;
  readonly temperature?: number;
}

/** What tells row-level security who asks. */
export type RowSecurity =
  & Pick<
    ParsedConfig["databases"][number],
    "role_from_user" | "role_from_claim" | "allowed_roles" | "session_settings"
  >
  & {
    /** A caller without the claim keeps the login's role. */
    readonly role_is_optional?: boolean;
  };

/** A pipeline with nothing left to look up elsewhere. */
export interface PipelineConfig extends RowSecurity {
  readonly name: string;
  readonly description: string;
  readonly examples?: string[] | undefined;
  /** Usernames, and `group:NAME`; empty: everyone. */
  readonly available_to_users: readonly string[];
  readonly database: Omit<Parsed["database"], "host" | "port" | "hosts"> & {
    readonly pool_max_conns: number;
    readonly hosts: readonly { readonly host: string; readonly port: number }[];
  };
  readonly tables: Parsed["tables"];
  /** Paths of folders are absolute. */
  readonly sources?: readonly SourceConfig[];
  /** By columns. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly chunks?: { max_tokens?: number; overlap_tokens?: number };
  /** A program and its arguments. */
  readonly ocr_command?: readonly string[];
  readonly embedding_llm: ProviderSettings<EmbeddingKind>;
  /** The model that is to take its place, and the column of its vectors in each table. */
  readonly reembed?: {
    readonly embedding_llm: ProviderSettings<EmbeddingKind>;
    readonly vector_column: string;
    /** In place of the one in `search`, while questions are searched by this model. */
    readonly vector_weight: number;
  };
  /** The one to ask, then those that take its place where it fails. */
  readonly rag_llm: readonly CompletionSettings[];
  readonly rerank?: ProviderSettings<RerankKind> & { readonly top_k?: number };
  readonly token_budget: number;
  readonly top_n: number;
  readonly system_prompt?: string;
  readonly search: {
    hybrid_enabled: boolean;
    vector_weight: number;
    bm25_k1?: number;
    bm25_b?: number;
    min_similarity?: number;
    rewrite_follow_ups: boolean;
    /** 0: none. Absent: it is learned. */
    answer_threshold?: number;
  };
  readonly allow_include_sources: boolean;
}

/** Lays a pipeline over `defaults` and `api_keys`. That a provider and a model are there has been checked. */
export function pipelineSettings(pipeline: Parsed, config: ParsedConfig): PipelineConfig {
  const { defaults = {} } = config;
  const { host = "localhost", port = 5432, hosts, ...database } = pipeline.database;
  const { top_k, ...rerank } = pipeline.rerank ?? {};
  const settings = <Kind extends string>(provider: ParsedProvider<Kind>) =>
    providerSettings(provider, pipeline, config);
  const embedding = settings<EmbeddingKind>(layered(pipeline.embedding_llm, defaults.embedding_llm));
  const next = pipeline.reembed && settings<EmbeddingKind>(
    layered(pipeline.reembed.embedding_llm, layered(pipeline.embedding_llm, defaults.embedding_llm)),
  );
  const reembed = pipeline.reembed && next && {
    vector_column: pipeline.reembed.vector_column,
    embedding_llm: next,
    vector_weight: pipeline.search?.vector_weight ?? defaultVectorWeight(next.provider),
  };
  return {
    name: pipeline.name,
    description: pipeline.description ?? "",
    examples: pipeline.examples,
    available_to_users: pipeline.available_to_users ?? [],
    // a RAG server only reads: a standby spares the primary
    database: {
      ...(hosts === undefined ? {} : { target_session_attrs: "prefer-standby" as const }),
      ...database,
      pool_max_conns: database.pool_max_conns ?? defaultPoolMaxConns,
      hosts: hosts ?? [{ host, port }],
    },
    ...rowSecurity(pipeline, config),
    tables: pipeline.tables,
    ...(pipeline.sources === undefined ? {} : {
      sources: pipeline.sources.map((source) => {
        const path = source.path ?? locationOf(source);
        return { ...source, name: (source.name ?? basename(path)).normalize("NFC"), path };
      }),
    }),
    embedding_llm: embedding,
    ...defined({ reembed }),
    rag_llm: completionSettings(layered(pipeline.rag_llm, defaults.rag_llm), settings),
    ...(rerank.provider === undefined
      ? {}
      : { rerank: { ...settings(rerank), ...(top_k ? { top_k } : {}) } }),
    // pgEdge's server takes 0 for a number that is left out
    token_budget: pipeline.token_budget || defaults.token_budget || 4000,
    top_n: pipeline.top_n || defaults.top_n || 10,
    ...defined({
      system_prompt: pipeline.system_prompt,
      chunks: pipeline.chunks && defined(pipeline.chunks),
      metadata: pipeline.metadata,
      ocr_command: pipeline.ocr_command,
    }),
    search: searchSettings(pipeline.search, embedding.provider),
    allow_include_sources: pipeline.allow_include_sources ?? false,
  };
}

/** Of two that lie in each other as paths do, the outer one has the files of the inner one too. */
function locationOf({ git, s3, http }: ParsedSource): string {
  const parts = git !== undefined
    ? [`git:${git.url}${git.branch === undefined ? "" : `@${git.branch}`}`, git.path]
    : s3 !== undefined
    ? [s3.endpoint ?? "s3:/", s3.bucket, s3.prefix]
    : [http?.sitemap ?? http?.pages?.[0]];
  return parts.filter((part) => part !== undefined).join("/");
}

/** With `identity`, claims reach the policies of every pipeline, and a role of its own counts before theirs. */
function rowSecurity(
  { role_from_user = false, role_from_claim, allowed_roles, session_settings = {} }: Parsed,
  { identity }: ParsedConfig,
): RowSecurity {
  const own = {
    role_from_user,
    ...defined({ role_from_claim, allowed_roles }),
    session_settings,
  };
  if (!identity.enabled) return own;
  const hasOwnRole = role_from_user || role_from_claim !== undefined || identity.role_claim === noName;
  return {
    ...own,
    ...(hasOwnRole ? {} : {
      role_from_claim: identity.role_claim,
      role_is_optional: true,
      allowed_roles: identity.allowed_roles,
    }),
    session_settings: { ...session_settings, [identity.claims_setting]: "{claims}" },
  };
}

/** The sources of other pipelines that write to the same table, with the names of those. */
export function sourcesOfOthers(
  { name: own, ...pipeline }: PipelineConfig,
  pipelines: readonly PipelineConfig[],
): (SourceConfig & { otherPipeline: string })[] {
  const names = new Set(pipeline.sources?.map(({ name }) => name));
  const others = pipelines.filter((other) => other.name !== own && tableOf(other) === tableOf(pipeline));
  return others.flatMap(({ name: otherPipeline, sources = [] }) =>
    sources.filter(({ name }) => !names.has(name)).map((source) => ({ ...source, otherPipeline }))
  );
}

/** What tells the table into which files go from others. */
export function tableOf({ database, tables: [first] }: Pick<PipelineConfig, "database" | "tables">): string {
  return JSON.stringify([database.hosts, database.database, first?.table]);
}

/**
 * The local provider's vectors know of letters and not of meaning. With more weight than this they reorder what BM25 found,
 * mostly for the worse; with this they bring what shares no word with the question, mostly after all that does.
 */
const localVectorWeight = 0.1;

/** How much vectors count against words where the configuration does not say. */
export function defaultVectorWeight(embedding: string): number {
  return embedding === "local" ? localVectorWeight : 0.5;
}

function searchSettings(
  { hybrid_enabled = true, vector_weight, rewrite_follow_ups = true, ...rest }: NonNullable<
    Parsed["search"]
  > = {},
  embedding: EmbeddingKind,
): PipelineConfig["search"] {
  return {
    hybrid_enabled,
    vector_weight: vector_weight ?? defaultVectorWeight(embedding),
    ...defined(rest),
    rewrite_follow_ups,
  };
}

/** One section over another; of another provider than its own a section takes nothing. */
export function layered<Section extends { provider?: string | undefined }>(
  own: Section | undefined,
  base: Section | undefined,
): Section {
  const isOther = own?.provider !== undefined && base?.provider !== undefined &&
    own.provider !== base.provider;
  return { ...(isOther ? undefined : base), ...own } as Section;
}

type Settle = <Kind extends string>(provider: ParsedProvider<Kind>) => ProviderSettings<Kind>;

function completionSettings(completion: ParsedCompletion, settle: Settle): CompletionSettings[] {
  const { fallback = [], max_tokens, temperature, ...first } = completion;
  return [first, ...fallback].map((provider) => ({
    ...settle<CompletionKind>(provider),
    ...defined({ context_tokens: provider.context_tokens, max_tokens, temperature }),
  }));
}

function providerSettings<Kind extends string>(
  section: ParsedProvider<Kind>,
  pipeline: Parsed,
  { defaults, api_keys }: ParsedConfig,
): ProviderSettings<Kind> {
  const { provider, base_url, model_path, pooling, query_prefix, passage_prefix } = section;
  if (provider === undefined) {
    throw new AppError("internal", `Cannot complete pipeline "${pipeline.name}": a provider is missing`);
  }
  const keyFile = [pipeline.api_keys, defaults?.api_keys, api_keys].map((keys) => keyFileOf(keys, provider))
    .find((file) => file !== undefined);
  return {
    provider,
    model: section.model ?? modelName(model_path),
    ...defined({ base_url, model_path, pooling, query_prefix, passage_prefix }),
    headers: [defaults?.llm_headers, pipeline.llm_headers, section.headers].filter((level) =>
      level !== undefined
    ),
    request_timeout: section.request_timeout ?? defaultRequestTimeoutMs,
    per_attempt_timeout: section.per_attempt_timeout ?? 0,
    ...defined({ api_key_file: keyFile, own_api_key_file: section.api_key_file }),
  };
}

/** What a model of this machine is called: as its folder. */
export function modelName(path = ""): string {
  return basename(path.replace(/(\/onnx)?\/[^/]*\.onnx$/, ""));
}

const defaultRequestTimeoutMs = 120_000;

function keyFileOf(keys: ParsedConfig["api_keys"], provider: string): string | undefined {
  return Object.entries(keys ?? {}).find(([vendor]) => vendor === provider)?.[1];
}
