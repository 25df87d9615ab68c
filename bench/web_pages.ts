/**
 * How well a page's text is told from what is around it. FOLDER has `evaldata.json`, which names files in its folders
 * `cache` and `eval`, with strings that their text must have (`with`) and must not have (`without`): the layout of
 * trafilatura's tests. Counted as its evaluation does.
 *
 * Of its 990 pages in November 2026: precision 0.868, recall 0.961, F1 0.912, 15 ms a page and 0.5 s at most on two
 * busy cores; all of each page: 0.625, 0.982, 0.764. Readability 0.6: 0.861, 0.909, 0.884; Defuddle 0.19: 0.830, 0.931,
 * 0.878. Of the 1,550 pages of documentation of PostgreSQL, Git, Node and Rust nothing differs.
 *
 *     deno run -A --config tests/deno.json bench/web_pages.ts FOLDER
 */
import { join } from "node:path";
import { readDocument } from "../src/rag_server/ingest/formats/read_document.ts";
import { print } from "./measure.ts";

interface Judged {
  readonly file: string;
  readonly with: readonly string[];
  readonly without: readonly string[];
}

const normal = (text: string) => text.replace(/\s+/g, " ").trim();

async function bytesOf(folder: string, file: string): Promise<Uint8Array | undefined> {
  for (const within of ["cache", "eval"]) {
    const bytes = await Deno.readFile(join(folder, within, file)).catch(() => undefined);
    if (bytes !== undefined) return bytes;
  }
  return undefined;
}

async function textOf(bytes: Uint8Array): Promise<string> {
  const reading = await readDocument("page.html", bytes);
  if (reading.kind !== "document") return "";
  return normal(
    reading.document.sections.flatMap(({ headings, blocks }) => [
      headings.at(-1) ?? "",
      ...blocks.map(({ text }) => text),
    ]).join("\n"),
  );
}

const [folder] = Deno.args;
if (folder === undefined) throw new Error("Cannot measure: name the folder with evaldata.json");
const judged: Record<string, Judged> = JSON.parse(await Deno.readTextFile(join(folder, "evaldata.json")));
let [found, wrong, lost, absent] = [0, 0, 0, 0];
const times: number[] = [];
for (const page of Object.values(judged)) {
  const bytes = await bytesOf(folder, page.file);
  if (bytes === undefined) {
    absent++;
    continue;
  }
  const start = performance.now();
  const text = await textOf(bytes);
  times.push(performance.now() - start);
  const has = (part: string) => text.includes(normal(part));
  found += page.with.filter(has).length;
  lost += page.with.filter((part) => !has(part)).length;
  wrong += page.without.filter(has).length;
}
times.sort((a, b) => a - b);
const ms = (at: number) => `${(times.at(at) ?? 0).toFixed(0)} ms`;
print("pages, absent", `${times.length}, ${absent}`);
print("precision", (found / (found + wrong)).toFixed(3));
print("recall", (found / (found + lost)).toFixed(3));
print("F1", (2 * found / (2 * found + wrong + lost)).toFixed(3));
print("a page, at most", `${ms(times.length >> 1)}, ${ms(-1)}`);
