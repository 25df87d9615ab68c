import assert from "node:assert/strict";
import type { PipelineQuery } from "../../../src/rag_server/query.ts";
import { chunk, createHandbook, done } from "./rag_handbook.ts";
import { script } from "./scripted_pipelines.ts";

export const createAnswering = () => createHandbook(script(chunk("Yes."), done));

/** The message of a refusal, after a check that the pipeline never heard of the query. */
export async function refusal(body: unknown): Promise<string> {
  const { handbook, ask } = createAnswering();
  const { status, text } = await ask(body);
  assert.equal(status, 400, text);
  assert.deepEqual(handbook.asked, []);
  const { error } = JSON.parse(text);
  assert.equal(error.code, "INVALID_REQUEST");
  return error.message;
}

/** What the pipeline heard of a query that was not refused. */
export async function accepted(body: unknown): Promise<Omit<PipelineQuery, "signal">> {
  const { handbook, ask } = createAnswering();
  const { status, text } = await ask(body);
  assert.equal(status, 200, text);
  const [query] = handbook.asked;
  assert.ok(query);
  const { signal: _, caller, ...rest } = query;
  // its address is a getter
  return { ...rest, caller: { kind: "local", address: addressOf(caller) } };
}

function addressOf(caller: PipelineQuery["caller"]): string {
  return caller?.kind === "local" ? caller.address ?? "" : "";
}

export const condition = { column: "a", operator: "=", value: 1 };

export const filtered = (...conditions: unknown[]) => ({ query: "q", filter: { conditions } });
