import assert from "node:assert/strict";
import { startRagServer } from "../../support/rag_server.ts";

/** Asks the server that takes claims from these proxies, in each of these ways; what it then says of refusals. */
async function refusalsOf(proxies: readonly string[], asked: readonly Record<string, string>[]) {
  await using rag = await startRagServer({
    pipelines: [],
    audit: { file: "audit.jsonl" },
    identity: { enabled: true, trusted_proxies: proxies, allowed_roles: ["reader"] },
  });
  const statuses: number[] = [];
  for (const headers of asked) {
    const reply = await rag.client.send("/v1/pipelines/notes", { method: "POST", headers, body: "{}" });
    await reply.body?.cancel();
    statuses.push(reply.status);
  }
  assert.equal(await rag.process.stop(), 0);
  const trail = await Deno.readTextFile(`${rag.folder.path}/audit.jsonl`);
  return {
    statuses,
    log: rag.process.stderr().split("\n").flatMap((line) => /A request was refused: .*/.exec(line) ?? []),
    audit: trail.trim().split("\n").map((text) => {
      const line = JSON.parse(text);
      return [line.event, line.outcome, line.address, line.reason];
    }),
  };
}

Deno.test("a peer that is no trusted proxy is named in the log and the audit trail", async () => {
  const { statuses, log, audit } = await refusalsOf(["10.0.0.0/8"], [{ "x-forwarded-user": "alice" }, {}]);
  assert.deepEqual(statuses, [403, 403]);
  const line =
    "A request was refused: identity.trusted_proxies does not list where it came from address=127.0.0.1";
  assert.deepEqual(log, [line, line]);
  const untrusted = ["refusal", "untrusted_peer", "127.0.0.1"];
  assert.deepEqual(audit, [[...untrusted, undefined], [...untrusted, "1 more within a minute"]]);
});

Deno.test("headers of a trusted proxy that are refused are told by their kind, without what they say", async () => {
  const { statuses, log, audit } = await refusalsOf(["127.0.0.1"], [
    {},
    { "x-forwarded-claims": "secret-claim" },
    { "x-forwarded-claims": '{"sub":"secret-claim","role":"secret-role"}' },
  ]);
  assert.deepEqual(statuses, [401, 400, 403]);
  assert.deepEqual(audit.map(([, result]) => result), [
    "no_identity",
    "malformed_identity",
    "role_not_allowed",
  ]);
  assert.equal(log.length, 3);
  assert.doesNotMatch(JSON.stringify([log, audit]), /secret/);
});
