import type { Logger } from "../core/logger.ts";
import type { ProviderKind } from "./provider_kinds.ts";
import type { OnUsage } from "./read_completion.ts";

/** What makes one provider; times are in milliseconds. */
export interface ProviderOptions {
  readonly kind: ProviderKind;
  readonly model: string;
  /** The vendor's own address where absent. */
  readonly baseUrl?: string;
  /** Asked for each request, so that a key that changes needs no new provider. */
  readonly apiKey: () => string | undefined;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The longest answer, in tokens, thoughts included; where absent what the vendor takes for it, and with `anthropic`, which
   * demands a number, what its model is good for.
   */
  readonly maxTokens?: number;
  /** Of `ollama`, the context window in tokens; where absent as many as the prompts need. */
  readonly contextTokens?: number;
  /** Not sent where absent: some models refuse it. */
  readonly temperature?: number;
  /** How long embeddings must be; asked for and checked where given. */
  readonly dimensions?: number;
  /** For one request with all its attempts. */
  readonly requestTimeoutMs: number;
  readonly perAttemptTimeoutMs: number;
  /** The longest silence inside a stream. */
  readonly stallTimeoutMs?: number;
  /** The longest wait that the vendor may ask for; less where another provider stands by. */
  readonly longestAskedDelayMs?: number;
  /** Told what each request used, failed ones and pings among them. */
  readonly onUsage?: OnUsage;
  /** Told of each piece of a reply; of nothing that answers a GET, which says little about POSTs. */
  readonly onReply?: () => void;
  readonly logger: Logger;
  /** 0 up to 1, for the pauses between attempts. */
  readonly random?: () => number;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}
