import type { QueryReply, SearchReply, StreamEvent } from "../../src/rag_server/api/rag_replies.ts";
import { ask, askJson, jsonBody } from "../server.ts";

/** A document of an answer, or a passage of a search: that has where each search had it. */
export type Source = NonNullable<QueryReply["sources"]>[number] & Partial<SearchReply["passages"][number]>;

export type Citation = NonNullable<QueryReply["citations"]>[number];

/** What comes with an answer's end, or of a search alone. */
export type Done = Omit<Extract<StreamEvent, { type: "done" }>, "type" | "sources"> & {
  /** Optional: none where the pipeline does not show its documents. */
  readonly sources?: readonly Source[] | undefined;
};

/** The body of a question. */
export interface Question {
  readonly query: string;
  readonly top_n?: number;
  readonly disable_hybrid?: true;
  readonly filter?: Filter;
  readonly messages?: readonly object[];
}

export interface Filter {
  readonly conditions: readonly Condition[];
  readonly logic: string;
}

export interface Condition extends Readonly<Record<"column" | "operator", string>> {
  readonly value?: string | readonly string[];
}

export interface Asked {
  readonly pipeline: string;
  readonly question: Question;
}

const pathOf = ({ pipeline }: Asked) => `v1/pipelines/${encodeURIComponent(pipeline)}`;

/** The passages that an answer would be made of. */
export async function search(asked: Asked, signal: AbortSignal): Promise<Done> {
  const path = `${pathOf(asked)}/search`;
  const { passages, ...reply } = await askJson<SearchReply>(path, jsonBody(asked.question, signal));
  return { ...reply, sources: passages };
}

/**
 * Asks with a streamed answer.
 *
 * @param onChunk gets each part of the answer as it comes
 * @throws {Refused} where the server refuses it; an error where the answer fails or breaks off
 */
export async function streamAnswer(
  asked: Asked,
  signal: AbortSignal,
  onChunk: (text: string) => void,
): Promise<Done> {
  const body = { ...asked.question, stream: true, include_sources: true };
  const { body: stream } = await ask(pathOf(asked), jsonBody(body, signal));
  for await (const event of readEvents(stream)) {
    if (event.type === "done") return event;
    if (event.type === "error") throw new Error(`The answer failed: ${event.error}.`);
    onChunk(event.content);
  }
  throw new Error("The answer broke off before its end.");
}

/** Events of one line `data: ` each, as the server sends them. */
export async function* readEvents(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<StreamEvent> {
  const reader = stream?.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { value } = await reader?.read() ?? {};
    if (value === undefined) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data: ")) yield JSON.parse(line.slice(6));
    }
  }
}
