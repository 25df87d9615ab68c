import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { join } from "node:path";
import { AppError } from "../../../src/core/app_error.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { connect } from "../../../src/postgres/connect/connect.ts";
import { issuedPasswords } from "../../../src/postgres/connect/issued_passwords.ts";
import type { PasswordIssuer } from "../../../src/postgres/database_options.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { startPasswordServer } from "../../support/password_server.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

const shop = { name: "shop", user: "app" };
const host = { host: "db.example.com", port: 5432 };
const path = Deno.env.get("PATH") ?? "";

function command(script: string, changes: { lifetimeMs?: number; env?: Record<string, string> } = {}) {
  const { lifetimeMs = 300_000, env = {} } = changes;
  return {
    by: "password_command",
    command: ["sh", "-c", script],
    lifetimeMs,
    env: { PATH: path, ...env },
  } satisfies PasswordIssuer;
}

const passwordOf = async (issuer: PasswordIssuer) => await (await issuedPasswords(issuer, shop))(host);

/** A script that counts its runs, and prints what they print. */
async function counted(print: string, changes?: Parameters<typeof command>[1]) {
  const folder = await temporaryFolder();
  const file = join(folder.path, "runs");
  const issuer = command(`echo x >> ${file}; ${print}`, changes);
  const runs = async () => (await Deno.readTextFile(file).catch(() => "")).length / 2;
  return { issuer, runs, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

const outputs: [print: string, password: string][] = [
  ["printf 'secret\\nmore\\n'", "secret"],
  ["printf 'secret\\r\\n'", "secret"],
  ["printf ' a b '", " a b "],
  [`printf '{"password":"secret","expires_at":"2100-01-01T00:00:00Z"}'`, "secret"],
  [`printf '{"password":"secret"}'`, "secret"],
  ["printf '{secret'", "{secret"],
];
for (const [print, password] of outputs) {
  Deno.test(`a password command: ${print}`, async () => {
    assert.equal(await passwordOf(command(print)), password);
  });
}

Deno.test("a password command runs once for all who wait, and its password is used until it ends", async () => {
  await using kept = await counted("echo secret");
  const found = await Promise.all(Array.from({ length: 20 }, () => passwordOf(kept.issuer)));
  assert.deepEqual(new Set(found), new Set(["secret"]));
  await passwordOf(kept.issuer);
  assert.equal(await kept.runs(), 1);
  for (const ends of ['"2001-01-01T00:00:00Z"', "1000000000", '"1000000000"']) {
    await using over = await counted(`printf '{"password":"secret","expires_at":${ends}}'`);
    await passwordOf(over.issuer);
    await passwordOf(over.issuer);
    assert.equal(await over.runs(), 2, ends);
  }
  const later = Math.round(Date.now() / 1_000) + 3_600;
  await using lasting = await counted(`printf '{"password":"secret","expires_at":${later}}'`);
  await passwordOf(lasting.issuer);
  await passwordOf(lasting.issuer);
  assert.equal(await lasting.runs(), 1);
});

const refused: [print: string, reason: RegExp][] = [
  ["echo secret; echo secret >&2; exit 3", /^the program ended with exit code 3$/],
  ["true", /^expected a password in the first line/],
  [`printf '{"token":"secret"}'`, /^expected a password in the first line/],
  [`printf '{"password":"secret","expires_at":"secret"}'`, /^expected a time in its expires_at$/],
  ["head -c 70000 /dev/zero | tr '\\0' s; sleep 60", /^expected at most 65536 bytes/],
];
for (const [print, reason] of refused) {
  Deno.test(`a password command that is of no use: ${print}`, async () => {
    const error = await passwordOf(command(print)).catch((error: unknown) => error);
    assert.ok(error instanceof AppError && error.cause instanceof AppError);
    assert.equal(error.code, "unavailable");
    assert.match(error.cause.message, reason);
    assert.equal(error.message, `Cannot reach database "shop": password_command: ${error.cause.message}`);
    assert.doesNotMatch(Deno.inspect(error), /secret/);
  });
}

Deno.test("a password command that there is not is told without its arguments", async () => {
  const issuer = { ...command(""), command: ["/nowhere/at/all", "--key=hidden"] };
  const error = await passwordOf(issuer).catch((error: unknown) => error);
  assert.ok(error instanceof AppError);
  assert.equal(
    error.message,
    'Cannot reach database "shop": password_command: the program cannot be started',
  );
});

Deno.test("a password command gets its arguments as they are, and the variables it is given alone", async () => {
  const issuer = command('printf "%s" "$0 $CLOUD $TEST_DATABASE_URL"', { env: { CLOUD: "yes" } });
  const words = [...issuer.command, "$(id); a 'b'"];
  assert.equal(await passwordOf({ ...issuer, command: words }), "$(id); a 'b' yes ");
});

Deno.test("where a server refuses a password that was kept, the command runs once more", async () => {
  await using server = await startPasswordServer();
  await using folder = await temporaryFolder();
  const file = join(folder.path, "password");
  await Deno.writeTextFile(file, "first");
  const options = databaseOptions("postgres://app@127.0.0.1:1/shop", {
    hosts: [{ host: "127.0.0.1", port: server.port }],
    passwordIssuer: command(`cat ${file}`),
  });
  const logIn = async () => {
    const { signal } = new AbortController();
    const { message } = await connect(options, { signal, logger: silentLogger }).then(
      () => assert.fail(),
      (error) => error,
    );
    return message;
  };
  // the server closes the connection after a login
  const isLoggedIn = 'Cannot reach database "shop": it closed the connection';
  server.accepted.add("first");
  assert.equal(await logIn(), isLoggedIn);
  server.accepted.clear();
  server.accepted.add("second");
  await Deno.writeTextFile(file, "second");
  assert.equal(await logIn(), isLoggedIn);
  assert.deepEqual(server.given, ["first", "first", "second"]);
  // one that was just made is not asked for again
  server.accepted.clear();
  assert.match(await logIn(), /the server refused the credentials of role "app"$/);
  assert.deepEqual(server.given.slice(3), ["second", "second"]);
});

const keys = {
  AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
  AWS_SECRET_ACCESS_KEY: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
};
const rds = (env: Record<string, string>) => ({ by: "aws_rds_iam", region: "eu-central-1", env } as const);

/** Signature Version 4 of a request without a body, by AWS's own description of it. */
function signatureOf(url: URL, secret: string): string {
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
  const hmac = (key: string | Uint8Array, text: string) => createHmac("sha256", key).update(text).digest();
  const encode = (text: string) =>
    encodeURIComponent(text).replace(
      /[!'()*]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  const query = [...url.searchParams].filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => `${encode(name)}=${encode(value)}`).sort().join("&");
  const request = ["GET", "/", query, `host:${url.host}`, "", "host", sha256("")].join("\n");
  const time = url.searchParams.get("X-Amz-Date") ?? "";
  const scope = [time.slice(0, 8), "eu-central-1", "rds-db", "aws4_request"];
  const text = ["AWS4-HMAC-SHA256", time, scope.join("/"), sha256(request)].join("\n");
  const key = scope.reduce<string | Uint8Array>((key, part) => hmac(key, part), `AWS4${secret}`);
  return createHmac("sha256", key).update(text).digest("hex");
}

Deno.test("a token for RDS is signed for the host, the port and the user, for 15 minutes", async () => {
  for (const session of [undefined, "session+/="]) {
    const env = { ...keys, ...(session !== undefined && { AWS_SESSION_TOKEN: session }) };
    const find = await issuedPasswords(rds(env), { name: "shop", user: "app_reader" });
    const token = await find(host);
    assert.match(token, /^db\.example\.com:5432\/\?/);
    const url = new URL(`https://${token}`);
    const parameters = Object.fromEntries(url.searchParams);
    assert.deepEqual([parameters["Action"], parameters["DBUser"], parameters["X-Amz-Expires"]], [
      "connect",
      "app_reader",
      "900",
    ]);
    assert.equal(parameters["X-Amz-Security-Token"], session);
    assert.equal(parameters["X-Amz-Signature"], signatureOf(url, keys.AWS_SECRET_ACCESS_KEY));
    assert.match(await find({ host: "other.example.com", port: 6432 }), /^other\.example\.com:6432\//);
  }
});

Deno.test("credentials come from a container's or an instance's endpoint where the environment has none", async () => {
  const asked: string[] = [];
  const credentials = {
    AccessKeyId: keys.AWS_ACCESS_KEY_ID,
    SecretAccessKey: keys.AWS_SECRET_ACCESS_KEY,
    Token: "t",
    Expiration: "2100-01-01T00:00:00Z",
  };
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const { pathname } = new URL(request.url);
    const given = ["authorization", "x-aws-ec2-metadata-token"].map((name) =>
      request.headers.get(name) ?? ""
    );
    asked.push(`${request.method} ${pathname} ${given.join("")}`.trim());
    if (pathname === "/latest/api/token") return new Response("imds");
    if (pathname.endsWith("/security-credentials/")) return new Response("my-role\n");
    if (pathname === "/none") return new Response("secret", { status: 500 });
    return Response.json(credentials);
  });
  const base = `http://127.0.0.1:${server.addr.port}`;
  const tokenOf = async (env: Record<string, string>) =>
    new URL(`https://${await passwordOf(rds(env))}`).searchParams.get("X-Amz-Security-Token");
  const pod = {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${base}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: "pod",
  };
  assert.equal(await tokenOf(pod), "t");
  assert.equal(await tokenOf({ AWS_EC2_METADATA_SERVICE_ENDPOINT: base }), "t");
  assert.deepEqual(asked, [
    "GET /v1/credentials pod",
    "PUT /latest/api/token",
    "GET /latest/meta-data/iam/security-credentials/ imds",
    "GET /latest/meta-data/iam/security-credentials/my-role imds",
  ]);
  await assert.rejects(tokenOf({ AWS_CONTAINER_CREDENTIALS_FULL_URI: `${base}/none` }), {
    message: 'Cannot reach database "shop": aws_rds_iam: the endpoint of credentials answered 500',
  });
});
