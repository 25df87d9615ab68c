import { AppError } from "../../core/app_error.ts";
import { readAtMost } from "../../core/files/read_regular_file.ts";
import { chunkerVersion } from "../../text/chunk_document.ts";
import { type FoundFile, reasonOf } from "./find_files.ts";
import { readerVersion } from "./read_source.ts";
import { sha256 } from "../../core/sha256.ts";
import { createSourceReader } from "./source_reader.ts";
import type { SourceReply } from "./source_worker.ts";

export interface FileReaderOptions {
  /** Which model the chunks are embedded with: where it is another one, nothing is unchanged. */
  readonly model: string;
  readonly maxTokens: number;
  readonly overlapTokens: number;
  readonly maxFileBytes: number;
  readonly readTimeoutMs: number;
}

export type FileReading =
  | { readonly kind: "unchanged" }
  | (Extract<SourceReply, { kind: "chunks" }> & { readonly hash: string })
  | Exclude<SourceReply, { kind: "chunks" }>;

export interface FileReader {
  /**
   * @param knownHash what an earlier reading's `hash` was
   * @throws the signal's reason
   */
  read(file: FoundFile, knownHash: string | undefined, signal: AbortSignal): Promise<FileReading>;
  [Symbol.dispose](): void;
}

/** Reads files that have changed. */
export function createFileReader(options: FileReaderOptions): FileReader {
  const { model, maxTokens, overlapTokens, maxFileBytes, readTimeoutMs } = options;
  const source = createSourceReader({ timeoutMs: readTimeoutMs });
  const settings = JSON.stringify([readerVersion, chunkerVersion, maxTokens, overlapTokens, model]);

  return {
    async read({ path, source: name }, knownHash, signal) {
      let bytes: Uint8Array | undefined;
      try {
        bytes = await readAtMost(path, maxFileBytes, { signal });
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof AppError) return { kind: "failed", reason: "it is not a regular file" };
        return { kind: "failed", reason: reasonOf(error) };
      }
      if (bytes === undefined) {
        return { kind: "skipped", reason: `it has more than ${Math.floor(maxFileBytes / 1024)} KiB` };
      }
      const hash = sha256(`${settings} ${sha256(bytes)}`);
      if (hash === knownHash) return { kind: "unchanged" };
      const reply = await source.read({ path: name, bytes, options: { maxTokens, overlapTokens } }, signal);
      return reply.kind === "chunks" ? { ...reply, hash } : reply;
    },
    [Symbol.dispose]: () => source[Symbol.dispose](),
  };
}
