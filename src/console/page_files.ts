import { openPackedFiles } from "../core/files/packed_files.ts";

/** What `tools/build_console.ts` writes, and `tools/compile_program.ts` packs: texts by their names. */
export const pageFiles = new URL("./page_files.json", import.meta.url);

const types: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** The page, and how its other files are answered. */
export type PageFiles = Awaited<ReturnType<typeof readPageFiles>>;

/** Reads the built page. Its files are kept as gzip has them alone. */
export async function readPageFiles() {
  const { "page.html": html = "", ...texts }: Record<string, string> = JSON.parse(await readText());
  const assets = new Map(
    await Promise.all(
      Object.entries(texts).map(async ([name, text]) => [name, await gzipped(text)] as const),
    ),
  );
  return {
    /** With `NONCE` where the reply's nonce has to stand. */
    html,
    /** Undefined where there is no file of that name. Names have a hash of what is in the file. */
    assetReply(name: string, acceptEncoding: string | null): Response | undefined {
      const bytes = assets.get(name);
      if (bytes === undefined) return undefined;
      const isAccepted = /(?:^|[\s,])gzip(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(acceptEncoding ?? "");
      const body = isAccepted
        ? bytes
        : new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      return new Response(body, {
        headers: {
          "content-type": types[name.slice(name.lastIndexOf(".") + 1)] ?? "text/plain; charset=utf-8",
          "cache-control": "public, max-age=31536000, immutable",
          "x-content-type-options": "nosniff",
          vary: "accept-encoding",
          ...(isAccepted && { "content-encoding": "gzip" }),
        },
      });
    },
  };
}

async function readText(): Promise<string> {
  using packed = await openPackedFiles();
  return packed === undefined
    ? await Deno.readTextFile(pageFiles)
    : new TextDecoder().decode(await packed.read("page_files.json"));
}

async function gzipped(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
