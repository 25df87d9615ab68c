import assert from "node:assert/strict";
import { v8Flags } from "../../src/app/processes/runtime.ts";

/** The program under test: the compiled executable where POSTERN_EXECUTABLE names it, else main.ts under this Deno. */
const executable = Deno.env.get("POSTERN_EXECUTABLE");
const root = new URL("../../", import.meta.url);

export function command(args: readonly string[], options: Deno.CommandOptions = {}): Deno.Command {
  const line = commandLine(args);
  return new Deno.Command(line.command, { args: line.args, stdin: "null", ...options });
}

/** What to spawn and with which arguments, for clients that start the program themselves. */
export function commandLine(args: readonly string[]): { command: string; args: string[] } {
  const main = new URL("main.ts", root).pathname;
  return executable === undefined
    ? {
      command: Deno.execPath(),
      args: ["run", "--quiet", "-A", "--no-prompt", `--v8-flags=${v8Flags}`, main, ...args],
    }
    : { command: executable, args: [...args] };
}

/** Runs the program to its end. */
export async function runProgram(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await command(args, { env }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

export interface ServerProcess {
  readonly url: string;
  readonly pid: number;
  /** Everything written so far. */
  stderr(): string;
  stdout(): string;
  /** Sends SIGTERM and resolves with the exit code. */
  stop(): Promise<number>;
  kill(signal: Deno.Signal): Promise<number>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface StartOptions {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  /** How many files the program may have open; what the system allows where it is not given. */
  readonly descriptors?: number;
}

function limited(descriptors: number, line: { command: string; args: string[] }): string[] {
  return ["-c", `ulimit -n ${descriptors}; exec "$@"`, "limited", line.command, ...line.args];
}

/** Starts the program and resolves once it listens. */
export async function startServer(
  args: readonly string[],
  options: StartOptions = {},
): Promise<ServerProcess> {
  const { descriptors, ...spawning } = options;
  const piped: Deno.CommandOptions = { ...spawning, stdin: "null", stdout: "piped", stderr: "piped" };
  const child =
    (descriptors === undefined
      ? command(args, piped)
      : new Deno.Command("bash", { ...piped, args: limited(descriptors, commandLine(args)) })).spawn();
  let stderr = "";
  let stdout = "";
  const listening = Promise.withResolvers<string>();
  let isListening = false;
  const collectors = [
    collect(child.stderr, (text) => {
      stderr += text;
      // a log that grows under load is not to be searched anew with each part
      if (isListening) return;
      const url = /listening on (https?:\/\/[^\s"]+)/.exec(stderr)?.[1];
      isListening = url !== undefined;
      if (url !== undefined) listening.resolve(url);
    }),
    collect(child.stdout, (text) => stdout += text),
  ];
  const ended = child.status.then(async ({ code }) => {
    await Promise.all(collectors);
    return code;
  });
  const url = await Promise.race([
    listening.promise,
    ended.then((code) => assert.fail(`the server ended with ${code} before it listened:\n${stderr}`)),
  ]);
  const kill = (signal: Deno.Signal) => {
    try {
      child.kill(signal);
    } catch {
      // it has ended already
    }
    return ended;
  };
  return {
    url: url.replace("0.0.0.0", "127.0.0.1"),
    pid: child.pid,
    stderr: () => stderr,
    stdout: () => stdout,
    stop: () => kill("SIGTERM"),
    kill,
    [Symbol.asyncDispose]: async () => void await kill("SIGKILL"),
  };
}

async function collect(stream: ReadableStream<Uint8Array>, take: (text: string) => void): Promise<void> {
  for await (const text of stream.pipeThrough(new TextDecoderStream())) take(text);
}
