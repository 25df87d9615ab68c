import assert from "node:assert/strict";
import type { Principal } from "../../../../src/core/principal.ts";
import { createPipelineDirectory } from "../../../../src/tool_server/tools/documents/pipeline_directory.ts";

Deno.test("rightsOf() tells a caller's tenants apart in pipelines that they may use, and nothing else", () => {
  const entry = (name: string, users: string[] = []) => ({
    kind: "pipeline" as const,
    name,
    description: "",
    available_to_users: users,
    allowsSources: true,
    rightsKey: (principal: Principal) =>
      name === "open" ? "" : JSON.stringify(principal.kind === "issuer" && principal.claims?.["tenant"]),
  });
  const { rightsOf } = createPipelineDirectory({
    list: () => [entry("open"), entry("tenants", ["group:staff"])],
    open: () => Promise.reject(new Error("nothing is opened")),
    timeoutMs: 0,
  });
  const ann = (tenant: string, groups: string[] = ["staff"], exp = 1): Principal => ({
    kind: "issuer",
    issuer: "https://login.example",
    subject: "ann",
    groups,
    claims: { tenant, exp },
  });
  assert.equal(rightsOf(ann("a")), rightsOf(ann("a", ["staff"], 2)));
  assert.notEqual(rightsOf(ann("a")), rightsOf(ann("b")));
  assert.notEqual(rightsOf(ann("a")), rightsOf(ann("a", [])));
  assert.equal(rightsOf(ann("a", [])), rightsOf(ann("b", [])));
});
