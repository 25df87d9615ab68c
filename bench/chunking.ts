/**
 * How well chunks of several sizes answer the 472 published questions of Chroma's chunking_evaluation. FOLDER is its
 * `general_evaluation_data`, with `questions_df.csv` and `corpora`; MODEL the folder of a model, run by the library in
 * ONNXRUNTIME_NODE. Counted as its evaluation does: recall, precision and intersection over union of the characters of
 * the nearest chunks and of the passages that answer. A SIZE is `400/60`, of a chunk and its overlap in tokens.
 *
 *     MODEL=… ONNXRUNTIME_NODE=… deno run -A --config tests/deno.json bench/chunking.ts FOLDER [SIZE…]
 */
import { join } from "node:path";
// @ts-types="@types/papaparse"
import papaparse from "papaparse";
import { silentLogger } from "../src/core/logger.ts";
import { createEmbeddingProvider } from "../src/llm/create_provider.ts";
import { createOnnxModels } from "../src/llm/onnx/onnx_models.ts";
import { mean } from "../src/rag_server/evaluate/metrics.ts";
import { chunkDocument, countCharacters, type DocumentSection } from "../src/text/chunk_document.ts";
import { print } from "./measure.ts";

/** In characters of a corpus, as Unicode counts them; the end is excluded. */
interface Range {
  readonly corpus: string;
  readonly start: number;
  readonly end: number;
}

interface Question {
  readonly text: string;
  readonly answers: readonly Range[];
}

interface FoundChunk extends Range {
  /** Among those of its corpus. */
  readonly place: number;
}

const [folder, ...given] = Deno.args;
if (folder === undefined) throw new Error("Cannot measure: name the folder with questions_df.csv");
const sizes = given.length > 0 ? given : ["100/15", "200/30", "217/32", "250/40", "400/60"];
const { signal } = new AbortController();
const models = createOnnxModels({ libraryPath: Deno.env.get("ONNXRUNTIME_NODE"), logger: silentLogger });
await using onnx = await models.open({ path: Deno.env.get("MODEL") ?? "", task: "embedding" });
const embedding = createEmbeddingProvider({
  kind: "onnx",
  model: "",
  onnx,
  apiKey: () => undefined,
  requestTimeoutMs: 0,
  perAttemptTimeoutMs: 0,
  logger: silentLogger,
});

async function readQuestions(path: string): Promise<Question[]> {
  const { data } = papaparse.parse<Record<string, string>>(await Deno.readTextFile(path), {
    header: true,
    skipEmptyLines: true,
  });
  return data.map(({ question = "", references = "[]", corpus_id: corpus = "" }) => ({
    text: question,
    answers: JSON.parse(references).map(({ start_index, end_index }: Record<string, unknown>) => ({
      corpus,
      start: Number(start_index),
      end: Number(end_index),
    })),
  }));
}

/** A corpus, each line a block, and WikiText's ` = Heading = ` as headings. */
function readCorpus(text: string) {
  const sections: { headings: string[]; blocks: DocumentSection["blocks"][number][] }[] = [];
  /** Where each line is in the document's text, and in the corpus. */
  const places: { readonly at: number; readonly source: number; readonly length: number }[] = [];
  let [source, at] = [0, 0];
  let headings: string[] = [];
  for (const line of text.split("\n")) {
    const shown = line.trimEnd();
    const [, marks = "", heading] = /^ ((?:= )+)(\S.*?) (?:= ?)+$/.exec(line) ?? [];
    const cleaned = heading?.replace(/\s+/g, " ").trim();
    const length = countCharacters(cleaned ?? shown);
    if (shown !== "") places.push({ at, source, length });
    if (cleaned !== undefined) {
      headings = [...headings.slice(0, marks.length / 2 - 1), cleaned];
      sections.push({ headings, blocks: [] });
    } else if (shown !== "") {
      if (sections.length === 0) sections.push({ headings: [], blocks: [] });
      sections.at(-1)?.blocks.push({ kind: "paragraph", text: shown });
    }
    if (shown !== "") at += length + 2;
    source += countCharacters(line) + 1;
  }
  const sourceOf = (position: number) => {
    const place = places.findLast((line) => line.at <= position);
    return place === undefined ? 0 : place.source + Math.min(position - place.at, place.length);
  };
  return { sections, sourceOf };
}

const lengthOf = (ranges: readonly Range[]) => ranges.reduce((sum, { start, end }) => sum + end - start, 0);

/** Each character once. */
function united(ranges: readonly Range[]): Range[] {
  const sorted = ranges.toSorted((one, other) =>
    one.corpus === other.corpus ? one.start - other.start : one.corpus < other.corpus ? -1 : 1
  );
  const joined: Range[] = [];
  for (const range of sorted) {
    const last = joined.at(-1);
    if (last?.corpus !== range.corpus || last.end < range.start) joined.push(range);
    else joined.splice(-1, 1, { ...last, end: Math.max(last.end, range.end) });
  }
  return joined;
}

function figures(questions: readonly Question[], found: readonly (readonly Range[])[]): string {
  const scores = questions.map(({ answers }, at) => {
    const chunks = found[at] ?? [];
    const shared = lengthOf(united(chunks.flatMap((chunk) =>
      answers.flatMap((answer) => {
        const [start, end] = [Math.max(chunk.start, answer.start), Math.min(chunk.end, answer.end)];
        return chunk.corpus === answer.corpus && start < end ? [{ corpus: chunk.corpus, start, end }] : [];
      })
    )));
    const [wanted, read] = [lengthOf(answers), lengthOf(chunks)];
    return [shared / wanted, shared / read, shared / (read + wanted - shared)];
  });
  const [recall, precision, iou] = [0, 1, 2].map((place) => mean(scores.map((score) => score[place] ?? 0)));
  const percent = (value = 0) => `${(100 * value).toFixed(1)} %`;
  return `recall ${percent(recall)}, precision ${percent(precision)}, IoU ${percent(iou)}`;
}

const questions = await readQuestions(join(folder, "questions_df.csv"));
const names = [...new Set(questions.flatMap(({ answers }) => answers.map(({ corpus }) => corpus)))];
const corpora = await Promise.all(names.map(async (corpus) => {
  const text = await Deno.readTextFile(join(folder, "corpora", `${corpus}.md`));
  return { corpus, ...readCorpus(text) };
}));
const texts = questions.map(({ text }) => text);
const asked = (await embedding.embed({ texts, purpose: "query", signal })).vectors;
function dot(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}

for (const size of sizes) {
  const [maxTokens = 0, overlapTokens = 0] = size.split("/").map(Number);
  const chunks = corpora.flatMap(({ corpus, sections, sourceOf }) =>
    chunkDocument({ title: corpus.replaceAll("_", " "), sections }, { maxTokens, overlapTokens })
      .map(({ text, heading, start, end }, place) => ({
        corpus,
        place,
        text,
        bodyAt: heading === "" ? 0 : text.indexOf("\n\n") + 2,
        start: sourceOf(start),
        end: sourceOf(end),
      }))
  );
  for (const isHeaded of [true, false]) {
    const texts = chunks.map(({ text, bodyAt }) => isHeaded ? text : text.slice(bodyAt));
    const { vectors } = await embedding.embed({ texts, purpose: "document", signal });
    const ranked = asked.map((question) =>
      chunks.map((chunk, at) => ({ chunk, nearness: dot(question, vectors[at] ?? new Float32Array()) }))
        .sort((one, other) => other.nearness - one.nearness).map(({ chunk }) => chunk)
    );
    const first = (count: number) => ranked.map((chunks) => chunks.slice(0, count));
    const around = (hits: readonly FoundChunk[]) =>
      united(
        chunks.filter(({ corpus, place }) =>
          hits.some((hit) => hit.corpus === corpus && Math.abs(hit.place - place) <= 1)
        ),
      );
    const name = `${size}${isHeaded ? "" : ", body alone"}`;
    print(`${name} (${chunks.length})`, figures(questions, first(5)));
    const wiki = questions.flatMap(({ answers: [answer] }, at) => answer?.corpus === "wikitexts" ? [at] : []);
    const ofWiki = first(5).filter((_, at) => wiki.includes(at));
    print(`${name}, of WikiText`, figures(questions.filter((_, at) => wiki.includes(at)), ofWiki));
    if (!isHeaded) continue;
    const withNeighbours = first(5).map(around);
    const room = mean(withNeighbours.map(lengthOf)) / mean(first(5).map(lengthOf)) * 5;
    print(`${name}, and neighbours`, figures(questions, withNeighbours));
    print(`${name}, ${room.toFixed(0)} chunks`, figures(questions, first(Math.round(room)).map(united)));
  }
}
