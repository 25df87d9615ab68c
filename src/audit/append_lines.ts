import { AppError } from "../core/app_error.ts";
import { giveToOwnerOf } from "../core/files/give_to_owner_of.ts";
import { requireRegular } from "../core/files/read_regular_file.ts";
import type { Logger } from "../core/logger.ts";
import { type LineMembers, noteMembers } from "./audit_event.ts";
import { type ChainEnd, chainStart, linkLine } from "./chain.ts";
import { type ChainHead, headPathOf, lockHead } from "./chain_head.ts";
import { readTrailEnd } from "./trail_end.ts";

export interface AppendOptions {
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
}

/**
 * Adds lines to the end of a trail, all or none of them; the file is made, with mode 0600, where it does not exist. Writers
 * in several processes come one after the other, each on the chain that the one before left. The file is opened anew each
 * time: after a rotation by rename the lines go to the new file, whose first line, a `rotation`, goes on with the chain of
 * the old. What a crash left at the end gets a line end and a `recovery` after it.
 *
 * @throws AppError as lockHead, `invalid` for what is no audit trail, `unavailable` where it cannot be written
 */
export async function appendLines(lines: readonly LineMembers[], options: AppendOptions): Promise<void> {
  const { path, now, logger } = options;
  using head = await lockHead(path, "exclusive");
  try {
    using file = await Deno.open(path, { read: true, append: true, create: true, mode: 0o600 });
    const info = await file.stat();
    requireRegular(info, "write", path);
    const { dev, ino, size } = info;
    // as far as one may: only root gives files away
    if (size === 0) await giveToOwnerOf(path, headPathOf(path)).catch(() => {});
    const start = await findStart(file, { dev, ino, size }, await head.read(), path);
    if (lines.length === 0) return;
    if (start.note?.event === "recovery") {
      logger.error(`The end of ${path} is not as it was written`, start.note.facts);
    }
    const note = start.note && noteMembers(start.note.event, now(), start.note.facts);
    let end = start.end;
    let text = start.lineEnd;
    for (const members of note === undefined ? lines : [note, ...lines]) {
      const linked = linkLine(members, end);
      text += `${linked.line}\n`;
      end = linked.end;
    }
    const bytes = new TextEncoder().encode(text);
    await writeWhole(file, bytes, size);
    // one that stays behind costs the next writer a look at the last line, and no event
    await head.write({ ...end, dev, ino, size: size + bytes.length }).catch((error) => {
      logger.warn(`Cannot write the head of ${path}`, { error });
    });
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError("unavailable", `Cannot write ${path}: ${reasonOf(cause)}`, { cause });
  }
}

interface Start {
  readonly end: ChainEnd;
  /** A record about what was found, to stand before the lines. */
  readonly note?: {
    readonly event: "rotation" | "recovery";
    readonly facts: Readonly<Record<string, string | number>>;
  };
  /** What ends a line that a crash cut off. */
  readonly lineEnd: "" | "\n";
}

async function findStart(
  file: Deno.FsFile,
  { dev, ino, size }: Pick<ChainHead, "dev" | "ino" | "size">,
  head: ChainHead | undefined,
  path: string,
): Promise<Start> {
  if (head !== undefined && head.dev === dev && head.ino === ino && head.size === size) {
    return { end: head, lineEnd: "" };
  }
  if (size === 0) {
    if (head === undefined) return { end: chainStart, lineEnd: "" };
    return { end: head, note: { event: "rotation", facts: {} }, lineEnd: "" };
  }
  const { last, unreadable } = await readTrailEnd(file, size);
  if (last === undefined && head === undefined && unreadable?.endsLine) {
    throw new AppError("invalid", `Cannot write ${path}: it is no audit trail`);
  }
  const found = last ?? chainStart;
  // the head is behind where a writer crashed between the two writes; where it is ahead, what it knows was in the file
  const end = head !== undefined && head.sequence >= found.sequence ? head : found;
  if (unreadable === undefined && end.hash === found.hash) return { end, lineEnd: "" };
  const facts = {
    lines_missing: end.sequence - found.sequence,
    ...(unreadable && { unreadable: unreadable.hash, unreadable_bytes: unreadable.bytes }),
  };
  return { end, note: { event: "recovery", facts }, lineEnd: unreadable?.endsLine === false ? "\n" : "" };
}

async function writeWhole(file: Deno.FsFile, bytes: Uint8Array, sizeBefore: number): Promise<void> {
  try {
    for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await file.write(rest));
    // on the disk before the head is: a power cut then leaves no head that is ahead of its file
    await file.syncData();
  } catch (error) {
    // part of it would be found as a crash; where even this fails, it is
    await file.truncate(sizeBefore).catch(() => {});
    throw error;
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof Deno.errors.PermissionDenied) return "permission denied";
  if (error instanceof Error && "code" in error && error.code === "ENOSPC") return "the disk is full";
  return "the file system refused";
}
