/** A worker that reads files and cuts them into chunks; `read_changed_file.ts` is its other side. */
import { answerRequests } from "../../core/async/thread.ts";
import { type Chunk, chunkDocument, type ChunkOptions } from "../../text/chunk_document.ts";
import { metadataOf, type MetadataRules } from "./metadata_rules.ts";
import type { PageTexts } from "./formats/read_pdf.ts";
import { noText, readDocument } from "./formats/read_document.ts";

export interface SourceRequest {
  /** With `/`; its suffix says what the file is. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly options: ChunkOptions;
  readonly rules: MetadataRules;
  /** Of a PDF's pages without text. Without it, such pages are left out. */
  readonly pageTexts?: PageTexts;
}

export type SourceReply =
  | {
    readonly kind: "chunks";
    readonly title: string;
    readonly metadata: Readonly<Record<string, unknown>>;
    readonly chunks: readonly Chunk[];
  }
  /** These pages of the PDF have no text, nor were they among `pageTexts`. */
  | { readonly kind: "pages"; readonly pages: readonly number[] }
  | { readonly kind: "skipped"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string };

async function reply({ path, bytes, options, rules, pageTexts }: SourceRequest): Promise<SourceReply> {
  try {
    const reading = await readDocument(path, bytes, pageTexts);
    if (reading.kind !== "document") return reading;
    const { title, frontMatter: matter } = reading.document;
    const metadata = metadataOf(rules, { path, matter });
    const chunks = chunkDocument(reading.document, options);
    return chunks.length === 0
      ? { kind: "skipped", reason: noText }
      : { kind: "chunks", title, metadata, chunks };
  } catch (error) {
    return { kind: "failed", reason: error instanceof Error ? error.message : String(error) };
  }
}

answerRequests(() => Promise.resolve(reply));
