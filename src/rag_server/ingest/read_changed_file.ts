import { defined } from "../../core/defined.ts";
import { AppError } from "../../core/app_error.ts";
import { untilAborted } from "../../core/async/abort.ts";
import { isTimeout, withDeadline } from "../../core/async/deadline.ts";
import { startThread } from "../../core/async/thread.ts";
import { readAtMost } from "../../core/files/read_regular_file.ts";
import { chunkerVersion } from "../../text/chunk_document.ts";
import { type FoundFile, reasonOf, tooLarge } from "./find_files.ts";
import type { FileRecord } from "./ingest_record.ts";
import { formatOf } from "./formats/document_formats.ts";
import { noText, readerVersion } from "./formats/read_document.ts";
import type { MetadataRules } from "./metadata_rules.ts";
import type { PageTexts } from "./formats/read_pdf.ts";
import { runOcr } from "./run_ocr.ts";
import type { SourceReply, SourceRequest } from "./source_worker.ts";
import { sha256 } from "../../core/text/sha256.ts";

interface FileReaderOptions {
  /** The model that embeds the chunks. With another model every file counts as changed. */
  readonly model: string;
  readonly maxTokens: number;
  readonly overlapTokens: number;
  /** With other rules every file is read anew. Optional; omit for none. */
  readonly rules?: MetadataRules | undefined;
  /** A larger file is skipped. */
  readonly maxFileBytes: number;
  /** A file that takes longer to read counts as failed. */
  readonly readTimeoutMs: number;
  /** The program that reads pages without text, and its arguments: see `runOcr`. */
  readonly ocrCommand?: readonly string[] | undefined;
}

type FileReading =
  | { readonly kind: "unchanged" }
  | (Extract<SourceReply, { kind: "chunks" }> & {
    readonly hash: string;
    /** Why some of its pages are left out. */
    readonly faults: readonly string[];
  })
  | (Exclude<SourceReply, { kind: "chunks" | "pages" }> & {
    /** Where a program found no text in its pages: with a record of this it is not asked again. */
    readonly hash?: string;
  });

export type FileReader = ReturnType<typeof createFileReader>;

/** Reads files that have changed and cuts them into chunks, on a thread of its own, one after the other. */
export function createFileReader(options: FileReaderOptions) {
  const { model, maxTokens, overlapTokens, rules = {}, maxFileBytes, readTimeoutMs, ocrCommand } = options;
  const settings = JSON.stringify([readerVersion, chunkerVersion, maxTokens, overlapTokens, model, rules]);
  let thread: ReturnType<typeof startReader> | undefined;

  function stop(): void {
    thread?.close();
    thread = undefined;
  }

  /** Runs on the thread, which restarts after a file that took too long or ended it, and after an abort. */
  async function readOnThread(
    path: string,
    bytes: Uint8Array<ArrayBuffer>,
    pageTexts: PageTexts | undefined,
    signal: AbortSignal,
  ): Promise<SourceReply> {
    const running = thread ??= startReader();
    const request = {
      path,
      bytes,
      options: { maxTokens, overlapTokens },
      rules,
      ...defined({ pageTexts }),
    };
    try {
      await untilAborted(running.started, signal);
      return await withDeadline(
        readTimeoutMs,
        signal,
        (inner) => untilAborted(running.ask(request, mayNeedOcr(path) ? [] : [bytes.buffer]), inner),
      );
    } catch (error) {
      stop();
      signal.throwIfAborted();
      const late = `reading it took more than ${readTimeoutMs / 1000} seconds`;
      return { kind: "failed", reason: isTimeout(error) ? late : reasonOf(error) };
    }
  }

  /** By its name: its bytes are kept then until it is read. */
  function mayNeedOcr(path: string): boolean {
    return ocrCommand !== undefined && formatOf(path) === "PDF";
  }

  function settingsOf(path: string): string {
    return settings + (mayNeedOcr(path) ? JSON.stringify(ocrCommand) : "");
  }

  function hashOf(path: string, bytes: Uint8Array): string {
    return sha256(`${settingsOf(path)} ${sha256(bytes)}`);
  }

  /** @param hash of the file; where a page could not be read, it gets another one, and counts as changed the next time */
  async function readPages(
    path: string,
    bytes: Uint8Array<ArrayBuffer>,
    hash: string,
    signal: AbortSignal,
  ): Promise<FileReading> {
    const first = await readOnThread(path, bytes, mayNeedOcr(path) ? new Map() : undefined, signal);
    if (first.kind === "chunks") return { ...first, hash, faults: [] };
    if (first.kind !== "pages") return first;
    const { texts, faults } = await runOcr(bytes, first.pages, { command: ocrCommand ?? [] }, signal);
    const reply = await readOnThread(path, bytes, texts, signal);
    const isWhole = faults.length === 0;
    if (reply.kind === "chunks") {
      return { ...reply, hash: isWhole ? hash : sha256(`${hash} in part`), faults };
    }
    // what failed may have been all the text
    if (!isWhole || reply.kind === "pages") return { kind: "failed", reason: faults.join("; ") };
    return reply.kind === "skipped" ? blank(hash) : reply;
  }

  const blank = (own: string) => ({ kind: "skipped", reason: noText, hash: sha256(`${own} blank`) }) as const;

  /** What stands for a file's bytes elsewhere can be read from its record. */
  function hashOfMark(path: string, mark: string): string {
    return `${sha256(settingsOf(path))} ${mark}`;
  }

  function markIn(path: string, hash: string): string | undefined {
    const start = hashOfMark(path, "");
    return hash.startsWith(start) ? hash.slice(start.length) : undefined;
  }

  return {
    /** The hash that a record of the file would have; undefined where it cannot be read. */
    async hash({ location, path, remote }: FoundFile, signal: AbortSignal): Promise<string | undefined> {
      if (remote !== undefined) return remote.mark && hashOfMark(path, remote.mark);
      const bytes = await readAtMost(location, maxFileBytes, { signal }).catch(() => undefined);
      signal.throwIfAborted();
      return bytes && hashOf(path, bytes);
    },
    /**
     * @param record of an earlier reading; the file is unchanged where it has the same hash, and all rows are
     * still there
     * @throws the signal's reason
     */
    async read(
      { location, path, remote }: FoundFile,
      record: Pick<FileRecord, "hash" | "isWhole"> | undefined,
      signal: AbortSignal,
    ): Promise<FileReading> {
      let bytes: Uint8Array<ArrayBuffer> | undefined;
      let given: { readonly mark?: string; readonly suffix?: string } = {};
      try {
        if (remote === undefined) bytes = await readAtMost(location, maxFileBytes, { signal });
        else {
          const known = record?.isWhole ? markIn(path, record.hash) : undefined;
          if (known !== undefined && known === remote.mark) return { kind: "unchanged" };
          const reading = await withDeadline(
            readTimeoutMs,
            signal,
            (soon) => remote.read(known, maxFileBytes, soon),
          );
          if (reading === "unchanged") return { kind: "unchanged" };
          if ("skipped" in reading) return { kind: "skipped", reason: reading.skipped };
          bytes = reading.bytes;
          given = reading;
        }
      } catch (error) {
        signal.throwIfAborted();
        const reason = error instanceof AppError ? "it is not a regular file" : reasonOf(error);
        return { kind: "failed", reason };
      }
      if (bytes === undefined) return { kind: "skipped", reason: tooLarge(maxFileBytes) };
      const hash = given.mark === undefined ? hashOf(path, bytes) : hashOfMark(path, given.mark);
      if (record?.isWhole && hash === record.hash) return { kind: "unchanged" };
      if (record?.hash === blank(hash).hash) return blank(hash);
      signal.throwIfAborted();
      const name = given.suffix === undefined ? path : `${path.replace(/\/$/, "")}.${given.suffix}`;
      return await readPages(name, bytes, hash, signal);
    },
    [Symbol.dispose]: stop,
  };
}

// all that it needs comes in messages; YAML's parser looks at two variables, and fails where it may not
const env = ["LOG_TOKENS", "LOG_STREAM"];
const denied = { ffi: false, import: false, net: false, read: false, run: false, sys: false, write: false };
const startReader = () =>
  startThread<SourceRequest, SourceReply>(import.meta.resolve("./source_worker.ts"), { env, ...denied });
