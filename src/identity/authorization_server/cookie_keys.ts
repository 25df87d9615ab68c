import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import { AppError } from "../../core/app_error.ts";
import { findOpenFile } from "../../core/files/file_access.ts";
import { withFileLock } from "../../core/files/file_lock.ts";
import { readRegularFile } from "../../core/files/read_regular_file.ts";
import { replaceFile } from "../../core/files/replace_file.ts";
import type { Logger } from "../../core/logger.ts";

/** The keys in `data_dir` that the authorization server signs cookies with; tokens are looked up and not signed. */
export const keyFile = (dataDir: string): string => join(dataDir, "oauth_keys.json");

/** How long a key signs, and how long after that what it signed is still accepted. */
const signsForMs = 90 * 24 * 3_600_000;
const acceptedForMs = 7 * 24 * 3_600_000;

const keySchema = z.object({
  made_at: z.iso.datetime(),
  /** Base64url of 32 random bytes. */
  cookie_secret: z.string().regex(/^[\w-]{43,}$/),
});
const fileSchema = z.object({ keys: z.array(keySchema) });

type CookieKey = z.output<typeof keySchema>;

/**
 * The keys, the newest first, which signs. The first is made at the first start, another when the newest is 90 days old;
 * two processes that start at once get the same.
 *
 * @throws {AppError} `invalid` for a file that is none of ours, `forbidden` for one that others may read, `unavailable`
 * where it cannot be written
 */
export async function openCookieKeys(dataDir: string, nowMs: number): Promise<readonly CookieKey[]> {
  const path = keyFile(dataDir);
  await Deno.mkdir(dataDir, { recursive: true, mode: 0o700 }).catch((cause) => {
    throw new AppError("unavailable", `Cannot make the folder ${dataDir}: the file system refused`, {
      cause,
    });
  });
  return await withFileLock(path, async () => {
    const known = await readKeys(path);
    const ageMs = (key: CookieKey) => nowMs - Date.parse(key.made_at);
    const [newest] = known;
    const isFresh = newest !== undefined && ageMs(newest) < signsForMs;
    const accepted = known.filter((key) => ageMs(key) < signsForMs + acceptedForMs);
    const keys = isFresh ? accepted : [makeKey(nowMs), ...accepted];
    if (!isFresh || keys.length !== known.length) {
      await replaceFile(path, `${JSON.stringify({ keys }, null, 2)}\n`);
    }
    return keys;
  });
}

/** The secrets of the moment, the newest first, which signs. */
export interface CookieKeys extends Disposable {
  readonly secrets: readonly string[];
  /** Reads them again, and makes a new one where it is time. It also happens by itself, and never throws. */
  renew(): Promise<void>;
}

const renewEveryMs = 3_600_000;

/** Opens the keys, and keeps to them as they change while the process runs. @throws {AppError} as openCookieKeys */
export async function keepCookieKeys(
  { dataDir, now, logger }: {
    readonly dataDir: string;
    /** Milliseconds since 1970. */
    readonly now: () => number;
    readonly logger: Logger;
  },
): Promise<CookieKeys> {
  const read = async () => (await openCookieKeys(dataDir, now())).map((key) => key.cookie_secret);
  let secrets = await read();
  async function renew(): Promise<void> {
    try {
      secrets = await read();
    } catch (error) {
      logger.warn("Cannot renew the keys of the login page's cookies; trying again later", { error });
    }
  }
  const timer = setInterval(renew, renewEveryMs);
  Deno.unrefTimer(timer);
  return {
    get secrets() {
      return secrets;
    },
    renew,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** Whether the file could be used, without making it. @throws {AppError} as openCookieKeys */
export async function checkCookieKeys(dataDir: string): Promise<void> {
  await readKeys(keyFile(dataDir));
}

async function readKeys(path: string): Promise<readonly CookieKey[]> {
  let text: string;
  try {
    text = await readRegularFile(path);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return [];
    if (cause instanceof AppError) throw cause;
    throw new AppError("unavailable", `Cannot read ${path}: the file system refused`, { cause });
  }
  const open = await findOpenFile(path);
  if (open !== undefined) throw new AppError("forbidden", `${open.fault}; run: ${open.remedy}`);
  const { data } = fileSchema.safeParse(parseJson(text));
  if (data === undefined) {
    const remedy = "restore it, or remove it to make new keys, which ends logins that are under way";
    throw new AppError("invalid", `Cannot read ${path}: it is not a file of this server's keys; ${remedy}`);
  }
  return data.keys.toSorted((one, other) => Date.parse(other.made_at) - Date.parse(one.made_at));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function makeKey(nowMs: number): CookieKey {
  return { made_at: new Date(nowMs).toISOString(), cookie_secret: randomBytes(32).toString("base64url") };
}
