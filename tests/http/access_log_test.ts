import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createLogger, createLogOutput } from "../../src/core/logger.ts";
import type { Principal } from "../../src/core/principal.ts";
import { createAccessLog } from "../../src/http/access_log.ts";
import { bindingsOf } from "../support/front.ts";
import { countRequests } from "../../src/http/count_requests.ts";
import type { RouteBindings } from "../../src/http/listener.ts";
import { createForwardedIdentity } from "../../src/rag_server/api/forwarded_identity.ts";

interface Answered {
  readonly format?: "text" | "json";
  readonly bindings?: Partial<RouteBindings>;
  readonly respond?: () => Response;
  /** What the client does with the reply. */
  readonly read?: (response: Response) => Promise<unknown>;
}

/** The lines of a request that came with these bindings, without their times. */
async function linesOf(options: Answered): Promise<string> {
  const { format = "text", bindings = {}, respond = () => new Response(null, { status: 405 }) } = options;
  const { read = (response) => response.arrayBuffer() } = options;
  let text = "";
  using output = createLogOutput((lines) => text += lines);
  const handle = countRequests(respond, () => "/health", () => {}, createAccessLog(format, output));
  const request = new Request("http://127.0.0.1/health");
  const all = { ...bindingsOf(request, { requestId: "id" }), ...bindings };
  await Promise.resolve(handle(request, all)).then(read, () => {});
  output[Symbol.dispose]();
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME").replace(/(\bms"?[=:])[\d.]+/g, "$1MS");
}

Deno.test("a line has a request's method", async () => {
  for (const method of ["GET", "HEAD", "POST", "OPTIONS"]) {
    assert.match(
      await linesOf({ bindings: { method } }),
      new RegExp(` method=${method} route=/health status=405 `),
    );
  }
});

Deno.test("a method of a caller's making is none that a line has", async () => {
  for (const method of ["pst_0123456789abcdef0123456789", "X".repeat(8_000), "get", "!#$%&'*+-.^_`|~"]) {
    assert.match(await linesOf({ bindings: { method } }), / method=other route=\/health status=405 /);
  }
});

const session: Principal = { kind: "session", id: "s1", username: "Ann \"\u202e\n O'Neil" };

Deno.test("a line of text has every field, quoted where it is not plain", async () => {
  assert.equal(
    await linesOf({
      bindings: { principal: session, logFields: { pipeline: "hand book" }, requestId: "a=b" },
    }),
    'TIME INFO  Request answered method=GET route=/health pipeline="hand book" status=405 bytes=0 ms=MS ' +
      'principal=session:s1 user="Ann \\"\\u202e\\n O\'Neil" request="a=b"\n',
  );
  assert.equal(
    await linesOf({ bindings: { principal: { kind: "token", id: "token-1" } } }),
    "TIME INFO  Request answered method=GET route=/health status=405 bytes=0 ms=MS " +
      "principal=token:token-1 request=id\n",
  );
});

Deno.test("a line of JSON is an object with the same fields", async () => {
  const bindings = { principal: session, logFields: { pipeline: "hand\nbook" }, requestId: "a=b" };
  const line = await linesOf({ format: "json", bindings });
  assert.ok(!line.includes("\u202e"));
  assert.deepEqual(JSON.parse(line.replace(":MS", ":1.5")), {
    time: "TIME",
    level: "info",
    message: "Request answered",
    method: "GET",
    route: "/health",
    pipeline: "hand\nbook",
    status: 405,
    bytes: 0,
    ms: 1.5,
    principal: "session:s1",
    user: session.username,
    request: "a=b",
  });
  const few = JSON.parse((await linesOf({ format: "json" })).replace(":MS", ":1.5"));
  assert.deepEqual(Object.keys(few), [
    ...["time", "level", "message", "method", "route", "status", "bytes", "ms", "request"],
  ]);
});

const streamed = () =>
  new Response(
    ReadableStream.from([new Uint8Array(3), new Uint8Array(4)]),
    { status: 200, headers: { "x-test": "kept" } },
  );

Deno.test("bytes are those of the body, and absent where the client left before its end", async () => {
  assert.match(
    await linesOf({ respond: () => new Response("é", { headers: { "content-length": "2" } }) }),
    / status=200 bytes=2 /,
  );
  assert.match(await linesOf({ respond: streamed }), / status=200 bytes=7 /);
  assert.match(
    await linesOf({ respond: streamed, read: (response) => response.body?.cancel() ?? Promise.resolve() }),
    / status=200 ms=MS /,
  );
  const throws = () => {
    throw new Error("a fault");
  };
  assert.match(await linesOf({ respond: throws }), / status=500 ms=MS /);
});

Deno.test("lines come in the order of what they tell", async () => {
  const lines: string[] = [];
  using output = createLogOutput((text) => lines.push(...text.trimEnd().split("\n")));
  const logger = createLogger({ level: "info", format: "text", write: output.write });
  const handle = countRequests(
    () => new Response(null),
    () => "/health",
    () => {},
    createAccessLog("text", output),
  );
  for (const id of ["first", "second"]) {
    logger.info("asked", { request: id });
    const request = new Request("http://127.0.0.1/");
    await handle(request, bindingsOf(request, { requestId: id }));
  }
  output[Symbol.dispose]();
  assert.deepEqual(
    lines.map((line) => `${/INFO {2}(\S+)/.exec(line)?.[1]} ${/request=(\w+)/.exec(line)?.[1]}`),
    ["asked first", "Request first", "asked second", "Request second"],
  );
});

Deno.test("a line stays short, whatever a caller's claims and ids are", async () => {
  const read = createForwardedIdentity({
    claimsHeader: "x-claims",
    subjectClaim: "sub",
    allowedRoles: [],
    trustedProxies: ["127.0.0.1"],
  });
  for (const letter of ["a", '"', "\\", "\u0001", "\u202e", "é"]) {
    for (const length of [255, 256, 1_000]) {
      const claims = Buffer.from(JSON.stringify({ sub: letter.repeat(length) }), "utf8").toString("latin1");
      const result = read("127.0.0.1", new Headers({ "x-claims": claims }));
      assert.ok(result.kind === "caller");
      const bindings = { principal: result.principal, requestId: "a".repeat(128) };
      for (const format of ["text", "json"] as const) {
        const line = await linesOf({ format, bindings });
        assert.ok(line.length < 1_000, line);
      }
    }
  }
});
