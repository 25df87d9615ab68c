import { AwsV4Signer } from "aws4fetch";
import { AppError } from "../../core/app_error.ts";
import { withDeadline } from "../../core/async/deadline.ts";
import { createSingleFlight } from "../../core/async/single_flight.ts";
import type { DatabaseHost, PasswordIssuer } from "../database_options.ts";

/** What was given out: a password, or as JSON the credentials that sign one. Times are those of `Date.now()`. */
interface Issued {
  readonly text: string;
  readonly expiresAt: number;
}

// by the settings of a database, which its pools share; `at` is of `performance.now()`
const keptByIssuer = new WeakMap<PasswordIssuer, Issued & { readonly at: number }>();
const flights = new WeakMap<PasswordIssuer, ReturnType<typeof createSingleFlight<Issued>>>();

// less than a call waits for a connection, so that what hangs is named
const issueTimeoutMs = 20_000;
const maxOutputBytes = 65_536;
/** So much before its end, a password is not used any more. */
const marginMs = 30_000;

/** Forgets what was given out before a moment, since a server refused it; whether there was some. */
export function forgetIssued(issuer: PasswordIssuer, startedAt: number): boolean {
  const { at } = keptByIssuer.get(issuer) ?? { at: Infinity };
  return at < startedAt && keptByIssuer.delete(issuer);
}

/**
 * Passwords for the hosts of a database; asked for once for all who wait, and kept until they end.
 *
 * @throws {AppError} `unavailable`, which says nothing of what a program wrote
 */
export async function issuedPasswords(
  issuer: PasswordIssuer,
  { name, user }: { readonly name: string; readonly user: string },
): Promise<(host: DatabaseHost) => Promise<string>> {
  let issued: Issued | undefined = keptByIssuer.get(issuer);
  if (issued === undefined || issued.expiresAt - marginMs <= Date.now()) {
    const flight = flights.get(issuer) ?? createSingleFlight<Issued>();
    flights.set(issuer, flight);
    issued = await flight.share(() => issue(issuer)).catch((cause) => {
      const reason = cause instanceof AppError ? cause.message : "it cannot be reached";
      const message = `Cannot reach database "${name}": ${issuer.by}: ${reason}`;
      throw new AppError("unavailable", message, { cause });
    });
    keptByIssuer.set(issuer, { ...issued, at: performance.now() });
  }
  const { text } = issued;
  return async (host) => issuer.by === "aws_rds_iam" ? await rdsToken(issuer.region, text, host, user) : text;
}

async function issue(issuer: PasswordIssuer): Promise<Issued> {
  const work = (signal: AbortSignal) =>
    issuer.by === "aws_rds_iam" ? awsCredentials(issuer.env, signal) : runCommand(issuer, signal);
  const tooLong = () => new AppError("unavailable", `no answer within ${issueTimeoutMs / 1_000} s`);
  return await withDeadline(issueTimeoutMs, new AbortController().signal, work, tooLong);
}

async function runCommand(
  { command: [program = "", ...args], env, lifetimeMs }: Extract<PasswordIssuer, { by: "password_command" }>,
  signal: AbortSignal,
): Promise<Issued> {
  const streams = { stdin: "null", stdout: "piped", stderr: "null" } as const;
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(program, { args, env, clearEnv: true, ...streams }).spawn();
  } catch (cause) {
    throw new AppError("unavailable", "the program cannot be started", { cause });
  }
  const reader = child.stdout.getReader();
  const stop = () => {
    // what it started may still hold its output
    reader.cancel().catch(() => {});
    try {
      child.kill("SIGKILL");
    } catch { /* it has ended */ }
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    const bytes: number[] = [];
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      bytes.push(...part.value);
      if (bytes.length > maxOutputBytes) {
        throw new AppError("unavailable", `expected at most ${maxOutputBytes} bytes of output`);
      }
    }
    const { success, code } = await child.status;
    signal.throwIfAborted();
    if (!success) throw new AppError("unavailable", `the program ended with exit code ${code}`);
    return readOutput(new TextDecoder().decode(Uint8Array.from(bytes)), lifetimeMs);
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}

/** A password in the first line, or JSON with `password` and perhaps `expires_at`: a time, or seconds since 1970. */
function readOutput(output: string, lifetimeMs: number): Issued {
  let text: unknown = output.split(/\r?\n/)[0];
  let ends: unknown;
  if (output.trimStart().startsWith("{")) {
    try {
      ({ password: text, expires_at: ends } = JSON.parse(output));
    } catch { /* a password may begin so */ }
  }
  if (typeof text !== "string" || text === "" || text.includes("\0")) {
    throw new AppError("unavailable", "expected a password in the first line of its output, or in JSON");
  }
  if (ends === undefined || ends === null) return { text, expiresAt: Date.now() + lifetimeMs + marginMs };
  const expiresAt = Number.isNaN(Number(ends)) ? Date.parse(String(ends)) : Number(ends) * 1_000;
  if (Number.isNaN(expiresAt)) throw new AppError("unavailable", "expected a time in its expires_at");
  return { text, expiresAt };
}

/** Of the environment, else of the container's endpoint, else of the instance's (IMDSv2), in the order of AWS's own programs. */
async function awsCredentials(env: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Issued> {
  const { AWS_ACCESS_KEY_ID: AccessKeyId, AWS_SECRET_ACCESS_KEY: SecretAccessKey } = env;
  if (AccessKeyId && SecretAccessKey) {
    return {
      text: JSON.stringify({ AccessKeyId, SecretAccessKey, Token: env["AWS_SESSION_TOKEN"] }),
      expiresAt: Infinity,
    };
  }
  const ask = async (url: string, headers: Record<string, string> = {}, method = "GET") => {
    const response = await fetch(url, { method, headers, signal, redirect: "error" });
    const text = await response.text();
    if (response.ok) return text;
    throw new AppError("unavailable", `the endpoint of credentials answered ${response.status}`);
  };
  const { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: path, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file } = env;
  const full = path ? `http://169.254.170.2${path}` : env["AWS_CONTAINER_CREDENTIALS_FULL_URI"];
  let text: string;
  if (full) {
    const token = file ? await Deno.readTextFile(file) : env["AWS_CONTAINER_AUTHORIZATION_TOKEN"];
    text = await ask(full, token ? { authorization: token.trim() } : {});
  } else {
    const base = `${env["AWS_EC2_METADATA_SERVICE_ENDPOINT"] || "http://169.254.169.254"}/latest/`;
    const lifetime = { "x-aws-ec2-metadata-token-ttl-seconds": "60" };
    const headers = { "x-aws-ec2-metadata-token": await ask(`${base}api/token`, lifetime, "PUT") };
    const roles = `${base}meta-data/iam/security-credentials/`;
    text = await ask(roles + (await ask(roles, headers)).split("\n")[0], headers);
  }
  return { text, expiresAt: Date.parse(String(JSON.parse(text).Expiration)) || Date.now() + 2 * marginMs };
}

/** A login to RDS or Aurora, good for 15 minutes: an address that AWS's Signature Version 4 signs, without its scheme. */
async function rdsToken(region: string, credentials: string, { host, port }: DatabaseHost, user: string) {
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, Token } = JSON.parse(credentials);
  const url = new URL(`https://${host}:${port}/?Action=connect&X-Amz-Expires=900`);
  url.searchParams.set("DBUser", user);
  const keys = { accessKeyId, secretAccessKey, ...(Token && { sessionToken: Token }) };
  const signer = new AwsV4Signer({ url: url.href, service: "rds-db", region, signQuery: true, ...keys });
  return (await signer.sign()).url.href.slice("https://".length);
}
