import assert from "node:assert/strict";
import type { OperationOutput } from "../../../src/cli/output.ts";
import { addToken, listTokens, removeToken } from "../../../src/cli/operations/token_operations.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

const start = Date.UTC(2026, 0, 15, 8, 30);
const hashes = { a: "0123456789abcdef".repeat(4), b: "f".repeat(64), c: "e".repeat(64) };
const threeTokens = `tokens:
  token-1768465800:
    hash: ${hashes.a}
    annotation: Production API
    database: staging
    created_at: 2026-01-15T08:30:00Z
    expires_at: 2026-12-31T23:59:59+01:00
  token-1768465801:
    hash: ${hashes.b}
    annotation: "日本 \\e[31mred"
    created_at: 2026-01-15T08:30:01Z
    expires_at: 2026-01-15T08:30:01Z
  old:
    hash: ${hashes.c}
`;

/** Runs an operation on a token file with a text; absent: no file. */
async function run(
  text: string | undefined,
  operation: (tokenFile: string, output: OperationOutput) => Promise<void>,
) {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  if (text !== undefined) await Deno.writeTextFile(path, text, { mode: 0o600 });
  const [printed, warnings]: [string[], string[]] = [[], []];
  const plain = (lines: string[]) => (line: string) => void lines.push(line.replaceAll(path, "PATH"));
  const [print, warn] = [plain(printed), plain(warnings)];
  await operation(path, { print, warn, now: () => start + 60_000 });
  const after = await Deno.readTextFile(path).catch(() => undefined);
  return { printed, warnings, after };
}

Deno.test("-list-tokens prints an aligned table", async () => {
  const { printed, warnings } = await run(
    threeTokens,
    (tokenFile, output) => listTokens({ tokenFile, json: false }, output),
  );
  assert.deepEqual(warnings, []);
  assert.deepEqual(printed, [
    "ID                NOTE                DATABASE  ONLY  CREATED               EXPIRES               STATUS   HASH",
    "token-1768465800  Production API      staging   -     2026-01-15 08:30 UTC  2026-12-31 22:59 UTC  valid    01234567",
    "token-1768465801  日本 \\u001b[31mred  -         -     2026-01-15 08:30 UTC  2026-01-15 08:30 UTC  expired  ffffffff",
    "old               -                   -         -     -                     never                 valid    eeeeeeee",
  ]);
});

Deno.test("-list-tokens -json prints an array, without a hash or a secret", async () => {
  const { printed } = await run(
    threeTokens,
    (tokenFile, output) => listTokens({ tokenFile, json: true }, output),
  );
  assert.equal(printed.length, 1);
  assert.deepEqual(JSON.parse(printed[0] ?? ""), [
    {
      id: "token-1768465800",
      annotation: "Production API",
      database: "staging",
      created_at: "2026-01-15T08:30:00Z",
      expires_at: "2026-12-31T22:59:59Z",
      status: "valid",
      hash_prefix: "01234567",
    },
    {
      id: "token-1768465801",
      annotation: "日本 \u001b[31mred",
      database: null,
      created_at: "2026-01-15T08:30:01Z",
      expires_at: "2026-01-15T08:30:01Z",
      status: "expired",
      hash_prefix: "ffffffff",
    },
    {
      id: "old",
      annotation: null,
      database: null,
      created_at: null,
      expires_at: null,
      status: "valid",
      hash_prefix: "eeeeeeee",
    },
  ]);
});

for (const text of [undefined, "", "tokens: {}\n"]) {
  Deno.test(`-list-tokens says that there are none: ${JSON.stringify(text) ?? "no file"}`, async () => {
    const list = (json: boolean) => run(text, (tokenFile, output) => listTokens({ tokenFile, json }, output));
    assert.deepEqual((await list(false)).printed, ["no tokens in PATH"]);
    assert.deepEqual((await list(true)).printed, ["[]"]);
    assert.equal((await list(false)).after, text);
  });
}

Deno.test("-list-tokens warns of entries that do not load and of a file that others can read", async () => {
  const { printed, warnings } = await run(
    "tokens:\n  a: { hash: x }\n",
    async (tokenFile, output) => {
      await Deno.chmod(tokenFile, 0o644);
      await listTokens({ tokenFile, json: true }, output);
    },
  );
  assert.deepEqual(printed, ["[]"]);
  assert.deepEqual(warnings, [
    "Other users of this machine can access PATH (mode 0644); run: chmod 600 PATH",
    `Cannot load token "a" (PATH, line 2): hash: expected the 64 hex digits of the token's SHA-256`,
  ]);
});

Deno.test("-list-tokens fails on a file that does not parse", async () => {
  await assert.rejects(
    run("tokens: [\n", (tokenFile, output) => listTokens({ tokenFile, json: false }, output)),
    { code: "invalid", message: /tokens\.yaml, line \d+: / },
  );
});

Deno.test("-add-token prints the token once", async () => {
  const { printed, after, warnings } = await run(undefined, (tokenFile, output) =>
    addToken(
      {
        tokenFile,
        json: false,
        note: "CI",
        database: "staging",
        expiry: "30d",
        known: { databases: ["main", "staging"] },
      },
      output,
    ));
  const token = printed.join("\n").match(/pst_[A-Za-z0-9_-]{43}/)?.[0] ?? "none";
  assert.deepEqual(printed.map((line) => line.replace(token, "TOKEN")), [
    "Added a token to PATH",
    "",
    "  Token     TOKEN",
    "  Id        token-1768465860",
    "  Note      CI",
    "  Database  staging",
    "  Expires   2026-02-14 08:31 UTC",
    "",
    "The token is shown only this once: keep it somewhere safe now.",
  ]);
  assert.deepEqual(warnings, []);
  assert.match(after ?? "", /^tokens:\n {2}token-1768465860:\n {4}hash: [0-9a-f]{64}\n/);
  assert.ok(!after?.includes(token));
});

Deno.test("-add-token -json prints one object", async () => {
  const add = (extra: { note?: string; database?: string; expiry?: string }) =>
    run(
      undefined,
      (tokenFile, output) =>
        addToken({ tokenFile, json: true, known: { databases: ["staging"] }, ...extra }, output),
    );
  const parse = async (extra: Parameters<typeof add>[0]) => {
    const { printed } = await add(extra);
    assert.equal(printed.length, 1);
    const { token, ...rest } = JSON.parse(printed[0] ?? "");
    assert.match(token, /^pst_[A-Za-z0-9_-]{43}$/);
    return rest;
  };
  assert.deepEqual(await parse({ note: "CI", database: "staging", expiry: "1h" }), {
    id: "token-1768465860",
    annotation: "CI",
    database: "staging",
    expires_at: "2026-01-15T09:31:00Z",
  });
  const bare = { id: "token-1768465860", annotation: null, database: null, expires_at: null };
  assert.deepEqual(await parse({}), bare);
  assert.deepEqual(await parse({ expiry: "never" }), bare);
});

Deno.test("-add-token limits a token, and says so", async () => {
  const limits = { tools: "query_database", databases: "main,staging", networks: "10.0.0.0/8" };
  const add = (json: boolean) =>
    run(undefined, async (tokenFile, output) => {
      await addToken({
        tokenFile,
        json,
        limits,
        known: { databases: ["main", "staging"], tools: ["query_database"] },
      }, output);
      await listTokens({ tokenFile, json }, output);
    });
  const text = (await add(false)).printed.join("\n");
  const only = "tools: query_database; databases: main, staging; networks: 10.0.0.0/8";
  assert.ok(text.includes(`  Only      ${only}\n`), text);
  assert.match(text, new RegExp(`^token-\\d+ +- +- +${only} +2026`, "m"));
  const { printed, warnings } = await add(true);
  const lists = { tools: ["query_database"], databases: ["main", "staging"], networks: ["10.0.0.0/8"] };
  const [added, [listed]] = printed.map((each) => JSON.parse(each));
  for (const each of [added, listed]) {
    const { tools, databases, networks } = each;
    assert.deepEqual({ tools, databases, networks }, lists);
  }
  assert.deepEqual(warnings, []);
});

Deno.test("-add-token says that a token for pipelines alone reads no database", async () => {
  const { printed } = await run(
    undefined,
    (tokenFile, output) =>
      addToken(
        { tokenFile, json: false, limits: { pipelines: "docs" }, known: { databases: ["main"] } },
        output,
      ),
  );
  assert.match(printed.join("\n"), /^ {2}Database {2}none$/m);
});

Deno.test("-add-token warns of a name where it could not be read which there are", async () => {
  const limits = { tools: "weekly_report", databases: "main" };
  const { warnings } = await run(
    undefined,
    (tokenFile, output) =>
      addToken({ tokenFile, json: true, limits, known: { databases: ["main"] } }, output),
  );
  assert.deepEqual(warnings, [
    'the token is limited to tools "weekly_report"; which there are could not be read',
  ]);
});

const refusals: [
  title: string,
  extra: {
    database?: string;
    expiry?: string;
    limits?: Record<string, string>;
    known?: { tools: string[] } | { pipelines: string[] };
  },
  databases: string[],
  message: string,
][] = [
  [
    "a database that is not configured",
    { database: "stagin" },
    ["main", "staging"],
    'Cannot limit a token to databases "stagin": expected main, staging',
  ],
  [
    "a database where none is configured",
    { database: "main" },
    [],
    'Cannot limit a token to databases "main": the configuration has none',
  ],
  [
    "an empty database name",
    { database: "" },
    ["main"],
    'Cannot limit a token to databases "": expected main',
  ],
  [
    "one of several databases that is not configured",
    { limits: { databases: "main,stagin" } },
    ["main", "staging"],
    'Cannot limit a token to databases "stagin": expected main, staging',
  ],
  [
    "a tool that there is not",
    { limits: { tools: "query_databases" }, known: { tools: ["query_database"] } },
    [],
    'Cannot limit a token to tools "query_databases": expected query_database',
  ],
  [
    "a pipeline that there is not",
    { limits: { pipelines: "docs,dcos" }, known: { pipelines: ["docs"] } },
    [],
    'Cannot limit a token to pipelines "dcos": expected docs',
  ],
  [
    "a pipeline where none is configured",
    { limits: { pipelines: "docs" }, known: { pipelines: [] } },
    [],
    'Cannot limit a token to pipelines "docs": the configuration has none',
  ],
  [
    "a network that is none",
    { limits: { networks: "10.0.0.0/8,office" } },
    [],
    'Cannot limit a token: networks: expected addresses or CIDR blocks such as 10.0.0.0/8, 2001:db8::/32, not "office"',
  ],
  [
    "one database beside others",
    { database: "main", limits: { databases: "main" } },
    ["main"],
    "Cannot limit a token: databases: expected none where database names one",
  ],
  [
    "an expiry of another form",
    { expiry: "tomorrow" },
    [],
    'Cannot read the expiry "tomorrow": expected a duration such as 12h, 30d, 1y, or never',
  ],
];
for (const [title, { known, ...extra }, databases, message] of refusals) {
  Deno.test(`-add-token fails for ${title} and makes no file`, async () => {
    await using folder = await temporaryFolder();
    const tokenFile = `${folder.path}/tokens.yaml`;
    const printed: string[] = [];
    const settings = { tokenFile, json: false, known: { databases, ...known }, ...extra };
    await assert.rejects(addToken(settings, { print: (line) => printed.push(line) }), {
      name: "AppError",
      message,
    });
    assert.deepEqual(printed, []);
    assert.deepEqual([...Deno.readDirSync(folder.path)], []);
  });
}

Deno.test("-remove-token removes by id and by hash prefix", async () => {
  for (const idOrPrefix of ["old", "eeeeeeee"]) {
    const { printed, after } = await run(
      threeTokens,
      (tokenFile, output) => removeToken({ tokenFile, json: false, idOrPrefix }, output),
    );
    assert.deepEqual(printed, ["Removed old from PATH"]);
    assert.equal(after, threeTokens.replace(/ {2}old:\n.*\n/, ""));
  }
});

Deno.test("-remove-token -json prints the id", async () => {
  const { printed } = await run(
    threeTokens,
    (tokenFile, output) => removeToken({ tokenFile, json: true, idOrPrefix: "old" }, output),
  );
  assert.deepEqual(JSON.parse(printed.join("\n")), { id: "old" });
});

Deno.test("-remove-token fails for what is not there", async () => {
  await assert.rejects(
    run(
      threeTokens,
      (tokenFile, output) => removeToken({ tokenFile, json: false, idOrPrefix: "eeeeeee" }, output),
    ),
    { name: "AppError", code: "not_found" },
  );
});
