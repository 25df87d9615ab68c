import type { WireRequest } from "../http_connections.ts";

/** A question as every vendor's request puts it. */
export interface AskedCompletion {
  readonly model: string;
  readonly system: string;
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: string }[];
  /** The last message. */
  readonly question: string;
}

/** What the vendor's model is to say. */
export interface VendorScript {
  /** The answer, in the pieces in which a stream brings it. */
  answer(asked: AskedCompletion): readonly string[];
  embed(texts: readonly string[], dimensions: number | undefined): readonly (readonly number[])[];
  score(query: string, documents: readonly string[]): readonly number[];
  /** The answer reached the longest one allowed. */
  readonly isCut: boolean;
}

/** A reply before it is bytes. */
export type VendorReply =
  | { readonly status: number; readonly json: unknown; readonly retryAfter?: string }
  /** `items` are whole events or lines, their ends included; the last is the vendor's end mark. */
  | { readonly contentType: string; readonly items: readonly string[] };

/** One vendor's wire format, as its documentation has it. */
export interface VendorWire {
  /** What follows the server's address in a base URL. */
  readonly basePath: string;
  /** @throws {WireRefusal} what the vendor would refuse */
  handle(request: WireRequest, script: VendorScript, key: string | undefined): VendorReply;
  errorBody(status: number, message: string): unknown;
  /** An error in the middle of a stream; absent where the vendor has no streams. */
  errorItem?(message: string): string;
}

/** What a vendor answers to a request that its documentation forbids. */
export class WireRefusal extends Error {
  constructor(readonly status: number, message: string, readonly body?: unknown) {
    super(message);
  }
}

export function event(data: unknown, name?: string): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${text}\n\n`;
}

export function demandKey(given: string | undefined, expected: string | undefined): void {
  if (expected !== undefined && given !== expected) throw new WireRefusal(401, "Incorrect API key provided");
}

/** The body's members, none of them unknown to the vendor and none that it demands missing. */
export function bodyOf(
  request: WireRequest,
  { required, optional }: { required: readonly string[]; optional: readonly string[] },
): Record<string, unknown> {
  if (request.headers.get("content-type")?.split(";")[0] !== "application/json") {
    throw new WireRefusal(400, "the content type is not application/json");
  }
  return membersOf(request.body, { required, optional });
}

export function membersOf(
  value: unknown,
  { required, optional }: { required: readonly string[]; optional: readonly string[] },
): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new WireRefusal(400, "expected an object");
  }
  const members = Object.fromEntries(Object.entries(value));
  const unknown = Object.keys(members).find((name) => !required.includes(name) && !optional.includes(name));
  if (unknown !== undefined) throw new WireRefusal(400, `Unrecognized request argument supplied: ${unknown}`);
  const missing = required.find((name) => members[name] === undefined);
  if (missing !== undefined) throw new WireRefusal(400, `Missing required parameter: '${missing}'`);
  return members;
}

export function textOf(value: unknown, name: string): string {
  if (typeof value !== "string" || value === "") throw new WireRefusal(400, `${name}: expected a string`);
  return value;
}

export function textsOf(value: unknown, name: string, most: number): string[] {
  if (!Array.isArray(value) || value.length === 0) throw new WireRefusal(400, `${name}: expected a list`);
  if (value.length > most) throw new WireRefusal(400, `${name}: at most ${most} in one batch`);
  return value.map((item) => textOf(item, name));
}

export function numberOf(value: unknown, name: string): number | undefined {
  if (value === undefined || typeof value === "number") return value;
  throw new WireRefusal(400, `${name}: expected a number`);
}

/** The question in a list of `{role, content}`; `roles` are those that the vendor knows besides `system`. */
export function askedOf(model: unknown, system: unknown, messages: unknown): AskedCompletion {
  if (!Array.isArray(messages)) throw new WireRefusal(400, "messages: expected a list");
  const read = messages.map((message) => {
    const { role, content } = membersOf(message, { required: ["role", "content"], optional: [] });
    if (role !== "user" && role !== "assistant") throw new WireRefusal(400, "messages: unknown role");
    return { role, content: textOf(content, "content") } as const;
  });
  const last = read.at(-1);
  if (last?.role !== "user") throw new WireRefusal(400, "messages: the last one is not the user's");
  return {
    model: textOf(model, "model"),
    system: system === undefined ? "" : textOf(system, "system"),
    messages: read,
    question: last.content,
  };
}

/** Takes a leading system message off a list of messages. */
export function splitSystem(messages: unknown): { system: unknown; rest: unknown } {
  if (!Array.isArray(messages)) return { system: undefined, rest: messages };
  const [first, ...rest] = messages;
  return first?.role === "system" ? { system: first.content, rest } : { system: undefined, rest: messages };
}

/** Little-endian 32-bit floats as base64. */
export function base64Floats(vector: readonly number[]): string {
  const bytes = new Uint8Array(Float32Array.from(vector).buffer);
  return btoa(String.fromCharCode(...bytes));
}
