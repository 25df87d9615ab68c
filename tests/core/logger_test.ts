import assert from "node:assert/strict";
import { createLogger, type LoggerOptions } from "../../src/core/logger.ts";

function capture(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  const logger = createLogger({
    level: "info",
    format: "text",
    write: (line) => lines.push(line),
    now: () => new Date(0),
    ...options,
  });
  return { logger, lines };
}

Deno.test("the text format writes time, level, message and fields on one line", () => {
  const { logger, lines } = capture();
  logger.info("[AUTH] Reloaded /etc/postern/tokens.yaml");
  logger.with({ request: 7 }).warn("slow", { sql: "select 1" });
  assert.deepEqual(lines, [
    "1970-01-01T00:00:00.000Z INFO  [AUTH] Reloaded /etc/postern/tokens.yaml\n",
    '1970-01-01T00:00:00.000Z WARN  slow request=7 sql="select 1"\n',
  ]);
});

Deno.test("the json format writes one object a line", () => {
  const { logger, lines } = capture({ format: "json" });
  logger.error("failed", { error: new Error("boom"), count: 2n });
  assert.deepEqual(JSON.parse(lines[0] ?? ""), {
    time: "1970-01-01T00:00:00.000Z",
    level: "error",
    message: "failed",
    error: "boom",
    count: "2",
  });
});

Deno.test("lines below the level are left out", () => {
  const { logger, lines } = capture({ level: "warn" });
  logger.info("no");
  logger.debug("no");
  logger.warn("yes");
  assert.equal(lines.length, 1);
});

const secrets: [string, string, Record<string, unknown>][] = [
  ["a field named password", "login", { password: "hunter2hunter2" }],
  ["a nested field", "login", { database: { user: "a", api_key: "hunter2hunter2" } }],
  ["a URL's password", "connect postgres://app:hunter2hunter2@db/app", {}],
  ["a bearer token", "Authorization: Bearer hunter2hunter2", {}],
  ["a connection string", "host=db password=hunter2hunter2 dbname=app", {}],
  ["one of our tokens", "pst_hunter2hunter2hunter2hunter2", {}],
  [
    "a refresh token, with all of its parts",
    "pst_grantgrantgrantgrant.hunter2hunter2hunter2.hunter2hunter2hunter2",
    {},
  ],
  ["a vendor's key", "sk-ant-hunter2hunter2hunter2", {}],
  ["an error's message", "failed", { error: new Error("postgres://app:hunter2hunter2@db/app") }],
];

for (const [what, message, fields] of secrets) {
  for (const format of ["text", "json"] as const) {
    Deno.test(`the ${format} format redacts ${what}`, () => {
      const { logger, lines } = capture({ format });
      logger.info(message, fields);
      assert.match(lines[0] ?? "", /\[redacted\]/);
      assert.doesNotMatch(lines[0] ?? "", /hunter2/);
    });
  }
}

Deno.test("the id of a token is no secret", () => {
  const { logger, lines } = capture();
  logger.info("connection closed", { principal: "token:token-1763735000" });
  assert.match(lines[0] ?? "", /token-1763735000/);
});

Deno.test("a caller's text forges no line and steers no terminal", () => {
  const { logger, lines } = capture();
  logger.info("user \n2026 INFO forged \u001b[31m", { name: "a\nb" });
  assert.equal(lines[0]?.split("\n").length, 2);
  assert.equal(lines[0]?.includes("\u001b"), false);
});

Deno.test("neither a field nor a message forges a line or steers a terminal, in either format", () => {
  const hostile = "a\n2026 ERROR forged\r\u001b[2J\u009b31m\u007f\u2028\u202e\u2066z";
  for (const format of ["text", "json"] as const) {
    const { logger, lines } = capture({ format });
    logger.info(hostile, { field: hostile, nested: { inner: hostile, [hostile]: 1 } });
    const [line = ""] = lines;
    assert.doesNotMatch(line.slice(0, -1), /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
    if (format === "json") assert.equal(JSON.parse(line).field, hostile);
  }
});
