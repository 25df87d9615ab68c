import assert from "node:assert/strict";
import type { Principal } from "../../../../src/core/principal.ts";
import { documentResources } from "../../../../src/tool_server/tools/documents/fetch.ts";
import { contextOf } from "../../resources/resource_fixture.ts";
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

Deno.test("a document as a resource needs the scopes of fetch", async () => {
  const directory = createPipelineDirectory({
    list: () => [{
      kind: "pipeline",
      name: "docs",
      description: "",
      available_to_users: [],
      allowsSources: true,
      rightsKey: () => "",
    }],
    open: () => Promise.reject(new Error("opened")),
    timeoutMs: 0,
  });
  const { read, complete } = documentResources(directory, { fetch: ["docs:read"] });
  const asked = async (...scopes: string[]) => {
    const context = contextOf({
      kind: "issuer",
      issuer: "https://login.example",
      subject: "ann",
      groups: [],
      scopes,
    });
    const argument = {
      uriTemplate: "postern://pipelines/{name}/{id}",
      variable: "name",
      value: "",
      given: {},
    };
    const result = await read("postern://pipelines/docs/1", context).then(
      () => "read",
      ({ message }) => message,
    );
    return [result, await complete?.(argument, context)];
  };
  const [refused, names] = await asked("docs:ask");
  assert.match(String(refused), /does not have the scope docs:read/);
  assert.deepEqual(names, []);
  const internal = 'Cannot use pipeline "docs": an internal error occurred';
  assert.deepEqual(await asked("docs:read"), [internal, ["docs"]]);
});
