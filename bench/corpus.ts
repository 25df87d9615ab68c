import { pg } from "../src/postgres/connection.ts";
import { createRandom, pick } from "./random.ts";

/** One of the collection's abstracts. */
export interface CranfieldDocument {
  readonly id: number;
  readonly title: string;
  readonly text: string;
}

/** A collection with questions and judgements. */
export interface Cranfield {
  readonly documents: readonly CranfieldDocument[];
  readonly questions: readonly { readonly id: number; readonly text: string }[];
  /** By question, then by document: 1 to 4, higher is better. */
  readonly gains: ReadonlyMap<number, ReadonlyMap<number, number>>;
}

/** Reads the three files of a folder in Cranfield's shape. */
export async function readCranfield(folder: string): Promise<Cranfield> {
  const read = (name: string) => Deno.readTextFile(`${folder}/${name}`);
  const lines = (text: string) => text.trim().split("\n");
  const documents: CranfieldDocument[] = lines(await read("documents.jsonl")).map((line) => JSON.parse(line));
  const questions: { id: number; text: string }[] = lines(await read("queries.jsonl")).map((line) =>
    JSON.parse(line)
  );
  const gains = new Map<number, Map<number, number>>();
  for (const line of lines(await read("qrels.tsv")).slice(1)) {
    const [question = 0, document = 0, gain = 0] = line.split("\t").map(Number);
    gains.set(question, (gains.get(question) ?? new Map()).set(document, gain));
  }
  return { documents, questions, gains };
}

/** Of small models, such as all-MiniLM-L6-v2. */
export const corpusDimensions = 384;

/** The table that every benchmark of retrieval reads; pgvector must be there. */
export const corpusTable = `
  CREATE EXTENSION IF NOT EXISTS vector;
  CREATE TABLE documents (
    id bigint PRIMARY KEY, title text NOT NULL, body text NOT NULL,
    category text NOT NULL, year int NOT NULL, embedding vector(${corpusDimensions}))`;

const rowsPerInsert = 2_000;

interface FillOptions {
  readonly url: string;
  readonly rows: number;
  readonly cranfield: Cranfield;
  /** A row's vector; without it the column stays empty. */
  readonly embed?: (title: string, body: string) => Iterable<number>;
  readonly onProgress?: (rows: number) => void;
}

/**
 * Fills the table with `rows` distinct documents, the same ones on every run. Each takes words from one abstract, so
 * that words occur together as in real texts; from the whole collection, whose words are Zipfian; and from a long tail
 * of rare words, so that the vocabulary grows with the corpus. Half of the rows are of category `c2`, a twentieth of
 * `c20`, a thousandth of `c1000`.
 */
export async function fillCorpus({ url, rows, cranfield, embed, onProgress }: FillOptions): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const write = createWriter(cranfield);
    for (let from = 1; from <= rows; from += rowsPerInsert) {
      const batch = Array.from(
        { length: Math.min(rowsPerInsert, rows - from + 1) },
        (_, at) => write(from + at),
      );
      const vectors = batch.map(({ title, body }) =>
        embed === undefined ? null : `[${[...embed(title, body)].join(",")}]`
      );
      await client.query(
        `INSERT INTO documents SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::int[], $6::vector[])`,
        [
          batch.map(({ id }) => id),
          batch.map(({ title }) => title),
          batch.map(({ body }) => body),
          batch.map(({ category }) => category),
          batch.map(({ year }) => year),
          vectors,
        ],
      );
      onProgress?.(from + batch.length - 1);
    }
    await client.query("VACUUM ANALYZE documents");
  } finally {
    await client.end();
  }
}

interface CorpusRow {
  readonly id: number;
  readonly title: string;
  readonly body: string;
  readonly category: string;
  readonly year: number;
}

const tailWords = 400_000;

function createWriter({ documents }: Cranfield): (id: number) => CorpusRow {
  const topics = documents.map(({ text }) => text.split(" ").filter((word) => word !== "")).filter((words) =>
    words.length > 20
  );
  const collection = topics.flat();
  return (id) => {
    const random = createRandom(id);
    const topic = pick(topics, random());
    const word = () => {
      const kind = random();
      if (kind < 0.45) return pick(topic, random());
      return kind < 0.93 ? pick(collection, random()) : tailWord(Math.floor(tailWords ** random()));
    };
    const length = Math.round(40 * 2 ** (2 * random()));
    return {
      id,
      title: Array.from({ length: 8 }, word).join(" "),
      body: Array.from({ length }, word).join(" "),
      category: categoryOf(random()),
      year: 1950 + Math.floor(random() * 70),
    };
  };
}

function categoryOf(share: number): string {
  if (share < 0.5) return "c2";
  if (share < 0.55) return "c20";
  return share < 0.551 ? "c1000" : "other";
}

const syllables = [
  "ba",
  "ce",
  "di",
  "fo",
  "gu",
  "ha",
  "je",
  "ki",
  "lo",
  "mu",
  "na",
  "pe",
  "ri",
  "so",
  "tu",
  "vo",
];

// no ending that a stemmer takes off
function tailWord(rank: number): string {
  let word = "x";
  for (let rest = rank; rest > 0; rest = Math.floor(rest / 16)) word += syllables[rest % 16];
  return `${word}q`;
}
