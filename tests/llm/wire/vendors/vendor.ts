import { anthropicWire } from "./anthropic_wire.ts";
import { geminiWire } from "./gemini_wire.ts";
import { serveWire, type WireRequest } from "../http_connections.ts";
import { ollamaWire } from "./ollama_wire.ts";
import { openaiWire } from "./openai_wire.ts";
import { rerankWire } from "./rerank_wire.ts";
import { sendReply, type VendorFault } from "./send_reply.ts";
import { createScript, type ScriptOptions } from "./vendor_script.ts";
import { type VendorReply, type VendorWire, WireRefusal } from "./vendor_wire.ts";
import { voyageWire } from "./voyage_wire.ts";

const wires = {
  openai: openaiWire,
  anthropic: anthropicWire,
  gemini: geminiWire,
  voyage: voyageWire,
  ollama: ollamaWire,
  /** Cohere's and Jina's interface. */
  rerank: rerankWire,
} satisfies Record<string, VendorWire>;

export type VendorName = keyof typeof wires;
export type { VendorFault } from "./send_reply.ts";

export interface VendorOptions extends ScriptOptions {
  /** Without it, no key is looked at. */
  readonly key?: string;
  /** The body goes out in pieces of so many bytes, which cuts characters and events anywhere. */
  readonly bytesPerWrite?: number;
  /** Awaited before each event of a stream goes out, or each piece of `bytesPerWrite`; counts from 0. */
  readonly beforePiece?: (index: number) => Promise<void>;
}

/** A vendor of completions, embeddings or reranking on this machine, over real HTTP. */
export interface Vendor extends AsyncDisposable {
  /** For `baseUrl`. */
  readonly url: string;
  /** All that came so far, those that were made to fail too. */
  readonly requests: readonly WireRequest[];
  /**
   * From now on requests fail, until `times` of them have, or `mend`.
   * @param options `retryAfter` is the header's text; `echo` is put into every error's message
   */
  fail(fault: VendorFault, options?: { times?: number; retryAfter?: string; echo?: string }): void;
  mend(): void;
  openConnections(): number;
}

interface PlannedFault {
  readonly fault: VendorFault;
  readonly retryAfter?: string;
  readonly echo?: string;
  left: number;
}

export function createVendor(name: VendorName, options: VendorOptions = {}): Vendor {
  const wire: VendorWire = wires[name];
  const requests: WireRequest[] = [];
  let planned: PlannedFault | undefined;

  function takeFault(): PlannedFault | undefined {
    if (planned === undefined || planned.left <= 0) return undefined;
    planned.left--;
    return planned;
  }

  function answerTo(request: WireRequest, taken: PlannedFault | undefined): VendorReply {
    if (typeof taken?.fault === "number") {
      const json = wire.errorBody(taken.fault, taken.echo ?? "something went wrong");
      return { status: taken.fault, json, ...(taken.retryAfter && { retryAfter: taken.retryAfter }) };
    }
    try {
      return wire.handle(request, createScript(options, taken?.fault), options.key);
    } catch (error) {
      if (!(error instanceof WireRefusal)) throw error;
      return { status: error.status, json: error.body ?? wire.errorBody(error.status, error.message) };
    }
  }

  const server = serveWire(async (request, reply) => {
    requests.push(request);
    const taken = takeFault();
    await sendReply(reply, answerTo(request, taken), {
      ...options,
      fault: taken?.fault,
      errorItem: wire.errorItem?.(taken?.echo ?? "something went wrong"),
    });
  });

  return {
    url: `http://127.0.0.1:${server.port}${wire.basePath}`,
    requests,
    fail: (fault, { times = Infinity, ...rest } = {}) => void (planned = { fault, left: times, ...rest }),
    mend: () => void (planned = undefined),
    openConnections: server.openConnections,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
