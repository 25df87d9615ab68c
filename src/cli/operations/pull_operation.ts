import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { AppError } from "../../core/app_error.ts";
import { untilAborted } from "../../core/async/abort.ts";
import { withDeadline } from "../../core/async/deadline.ts";
import { knownModel } from "../../llm/onnx/read_model_folder.ts";
import type { Print } from "../output.ts";
import type { ParsedFlags } from "../parse_flags.ts";

/** Of what is fetched, and of what is unpacked from it. */
const mostBytes = 8 * 1024 ** 3;
const stallMs = 60_000;

export interface PullOptions {
  /** Of a file, or of an archive `.tar`, `.tar.gz` or `.tgz`. */
  readonly url: string;
  /** Hexadecimal. */
  readonly sha256: string;
  /** A file goes into it; an archive becomes it. */
  readonly folder: string;
  /** Optional; the default is 8 GiB. */
  readonly maxBytes?: number;
}

/**
 * Fetches a file or an archive, and uses nothing of it before its sum is right. What it has fetched when it is killed stands
 * beside the place in a file whose name begins with a dot; the next run goes on with that.
 *
 * @throws {AppError} `invalid` for an address, a sum or an archive that cannot be used, `conflict` where something stands in
 * its place, `unavailable` where it cannot be fetched
 */
export async function pull(options: PullOptions, print: Print): Promise<void> {
  const { url, folder, maxBytes = mostBytes } = options;
  const sha256 = options.sha256.toLowerCase();
  const parsed = URL.parse(url);
  if (!/^https?:$/.test(parsed?.protocol ?? "")) {
    throw fault("invalid", url, `expected an address with https, or ${knownModel.name} alone`);
  }
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw fault("invalid", url, "-sha256 has 64 hexadecimal digits");
  const name = basename(parsed?.pathname ?? "");
  if (!/^[\w][\w.+-]*$/.test(name)) throw fault("invalid", url, "its path ends with no name of a file");
  const isArchive = /\.(tar|tar\.gz|tgz)$/.test(name);
  const target = isArchive ? folder : join(folder, name);
  if (await exists(target)) {
    if (!isArchive && await sumOf(target) === sha256) return print(`${target} is there already`);
    throw fault("conflict", url, `there is ${target} already; remove it, or name another folder with -into`);
  }
  const parent = join(target, "..");
  await Deno.mkdir(parent, { recursive: true });
  const part = join(parent, `.${sha256.slice(0, 16)}.part`);
  const { isFile = true } = await Deno.lstat(part).catch(() => ({}) as Partial<Deno.FileInfo>);
  if (!isFile) throw fault("conflict", url, `${part} is no file; remove it`);
  await fetchRest(url, part, maxBytes);
  const sum = await sumOf(part);
  if (sum !== sha256) {
    await Deno.remove(part);
    throw fault("invalid", url, `its SHA-256 is ${sum}, and not ${sha256}; nothing of it was kept`);
  }
  if (!isArchive) await Deno.rename(part, target);
  else {
    const unpacked = join(parent, `.${sha256.slice(0, 16)}.unpacked`);
    await Deno.remove(unpacked, { recursive: true }).catch(() => {});
    await unpack(part, unpacked, name, maxBytes).catch(async (cause) => {
      await Deno.remove(unpacked, { recursive: true });
      throw fault("invalid", url, `cannot unpack it: ${cause instanceof Error ? cause.message : cause}`);
    });
    await Deno.rename(unpacked, target);
    await Deno.remove(part);
  }
  print(`${target} is there, with the SHA-256 ${sha256}`);
}

/**
 * What `-pull` fetches: all files of the model that it knows by its name, or what an address names.
 *
 * @param hub the address of a mirror of the model's; its publisher's where empty or absent
 */
export function filesToPull({ subject: url, options }: ParsedFlags, hub = ""): PullOptions[] {
  const { sha256 = "", into = "" } = options;
  if (url !== knownModel.name || sha256 !== "") return [{ url, sha256, folder: into }];
  const base = `${(hub || "https://huggingface.co").replace(/\/+$/, "")}/${knownModel.address}`;
  return Object.entries(knownModel.files).map(([path, sha256]) => (
    { url: `${base}/${path}`, sha256, folder: join(into || knownModel.folder, path, "..") }
  ));
}

/** Fetches what a file lacks of what an address has. */
async function fetchRest(url: string, path: string, maxBytes: number): Promise<void> {
  using file = await Deno.open(path, { create: true, write: true });
  let size = await file.seek(0, Deno.SeekMode.End);
  const left = new AbortController();
  try {
    const headers: HeadersInit = size > 0 ? { range: `bytes=${size}-` } : {};
    const reply = await withDeadline(
      stallMs,
      undefined,
      (signal) => fetch(url, { headers, signal: AbortSignal.any([signal, left.signal]) }),
    );
    // it has all of it already, or is another one: the sum tells
    if (reply.status === 416) return await reply.body?.cancel();
    if (!reply.ok || reply.body === null) {
      const isOver = reply.status >= 400 && reply.status < 500 && ![408, 425, 429].includes(reply.status);
      if (isOver) {
        throw fault("invalid", url, `the server answers ${reply.status} for ${new URL(url).pathname}`);
      }
      throw new TypeError(`the server answers ${reply.status}`);
    }
    if (reply.status !== 206) {
      await file.truncate(0);
      size = await file.seek(0, Deno.SeekMode.Start);
    }
    const reader = reply.body.getReader();
    for (;;) {
      const { done, value } = await withDeadline(
        stallMs,
        undefined,
        (signal) => untilAborted(reader.read(), signal),
      );
      if (done) break;
      size += value.length;
      if (size > maxBytes) {
        await Deno.remove(path);
        throw fault("invalid", url, `it is larger than ${maxBytes} bytes`);
      }
      for (let at = 0; at < value.length;) at += await file.write(value.subarray(at));
    }
    await file.syncData();
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    const reason = cause instanceof Error ? cause.message : cause;
    throw fault("unavailable", url, `${reason}; the same command goes on with it`);
  } finally {
    left.abort();
  }
}

async function unpack(path: string, folder: string, name: string, maxBytes: number): Promise<void> {
  const { unpackTar } = await import("modern-tar/fs");
  let bytes = 0;
  const files = unpackTar(folder, {
    strict: true,
    fmode: 0o644,
    dmode: 0o755,
    filter({ type, size, name }) {
      bytes += size;
      if (bytes > maxBytes) throw new TypeError(`it holds more than ${maxBytes} bytes`);
      if (type === "file" || type === "directory") return true;
      throw new TypeError(`${name} is neither a file nor a folder`);
    },
  });
  const source = createReadStream(path);
  await (name.endsWith(".tar") ? pipeline(source, files) : pipeline(source, createGunzip(), files));
}

async function sumOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

const exists = (path: string) => Deno.lstat(path).then(() => true, () => false);

function fault(code: "invalid" | "conflict" | "unavailable", url: string, reason: string): AppError {
  return new AppError(code, `Cannot pull ${URL.parse(url)?.origin ?? url}…: ${reason}`);
}
