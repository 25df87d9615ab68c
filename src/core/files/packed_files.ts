import { AppError } from "../app_error.ts";
import { ignoreMissing } from "./replace_file.ts";

export type PackedFiles = NonNullable<Awaited<ReturnType<typeof openPackedFiles>>>;

/** Where a file's bytes are: at an offset of the executable, or in a file of this name beside the index. */
export type PackedFile =
  & ({ readonly offset: number; readonly length: number } | { readonly file: string })
  & { readonly gzip: boolean };

/** By name. */
type PackedFileIndex = Readonly<Record<string, PackedFile>>;

/**
 * Opens the large files that come with the executable and the npm package, packed, and that few runs need; undefined for a program that runs from its sources. What is opened stays the same
 * where an upgrade puts another executable in this one's place.
 */
export async function openPackedFiles() {
  const index = await readIndex();
  if (index === undefined) return undefined;
  const executable = await Deno.open(Deno.execPath());
  return {
    /** @throws {AppError} `internal` where the executable is not what was compiled */
    async read(name: string): Promise<Uint8Array<ArrayBuffer>> {
      const packed = index[name];
      if (packed === undefined) throw new AppError("internal", `Cannot read ${name}: it was not packed`);
      try {
        const bytes = "file" in packed
          ? await Deno.readFile(new URL(packed.file, import.meta.url))
          : await readAt(executable, packed);
        if (!packed.gzip) return bytes;
        const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
        return new Uint8Array(await new Response(inflated).arrayBuffer());
      } catch (cause) {
        const message = `Cannot read ${name} from ${Deno.execPath()}: install it again`;
        throw new AppError("internal", message, { cause });
      }
    },
    [Symbol.dispose]: () => executable.close(),
  };
}

async function readIndex(): Promise<PackedFileIndex | undefined> {
  const text = await Deno.readTextFile(new URL("./packed_files.json", import.meta.url)).catch(ignoreMissing);
  return text && JSON.parse(text);
}

async function readAt(
  file: Deno.FsFile,
  { offset, length }: { offset: number; length: number },
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  await file.seek(offset, Deno.SeekMode.Start);
  for (let filled = 0; filled < length;) {
    const count = await file.read(bytes.subarray(filled));
    if (count === null) throw new RangeError(`The file ends within ${length} bytes at ${offset}`);
    filled += count;
  }
  return bytes;
}
