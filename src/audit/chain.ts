import { sha256 } from "../core/sha256.ts";
import type { LineMembers } from "./audit_event.ts";

/** Where a chain of lines stands: the last line's number, and its SHA-256 in hex digits. */
export interface ChainEnd {
  readonly sequence: number;
  readonly hash: string;
}

/** Before a chain's first line. */
export const chainStart: ChainEnd = { sequence: 0, hash: "0".repeat(64) };

/** What the chain needs to know of a line. */
export interface ChainLine extends ChainEnd {
  /** The SHA-256 of the line before. */
  readonly previous: string;
  readonly event: string;
  /** Of a `recovery`: the SHA-256 of the bytes that a crash left before it. */
  readonly unreadable: string | undefined;
}

/**
 * The next line of a chain, without a line end: a JSON object that starts with its `sequence` and ends with `previous`, the
 * SHA-256 of the whole line before, and `seal`, the SHA-256 of its own text up to the seal.
 */
export function linkLine(members: LineMembers, after: ChainEnd): { line: string; end: ChainEnd } {
  const sequence = after.sequence + 1;
  const sealed = `{"sequence":${sequence},${members},"previous":"${after.hash}"`;
  const line = `${sealed}${sealStart}${sha256(sealed)}${sealEnd}`;
  return { line, end: { sequence, hash: sha256(line) } };
}

/** Reads a line, without its line end; undefined where it is not as it was written. */
export function readLine(bytes: Uint8Array): ChainLine | undefined {
  const sealed = bytes.subarray(0, Math.max(0, bytes.length - sealLength));
  const seal = `${sealStart}${sha256(sealed)}${sealEnd}`;
  if (asText(bytes.subarray(sealed.length)) !== seal) return undefined;
  const line = parseObject(bytes);
  if (line === undefined) return undefined;
  const { sequence, previous, event, unreadable } = line;
  if (typeof sequence !== "number" || typeof previous !== "string" || typeof event !== "string") {
    return undefined;
  }
  return {
    sequence,
    previous,
    event,
    unreadable: typeof unreadable === "string" ? unreadable : undefined,
    hash: sha256(bytes),
  };
}

const sealStart = `,"seal":"`;
const sealEnd = `"}`;
const sealLength = sealStart.length + 64 + sealEnd.length;

function asText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function parseObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    return JSON.parse(asText(bytes));
  } catch {
    return undefined;
  }
}
