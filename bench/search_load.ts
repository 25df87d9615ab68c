import type { Vendor } from "../tests/llm/wire/vendors/vendor.ts";
import type { RunningRagServer } from "../tests/support/rag_server.ts";
import { median, print } from "./measure.ts";

/** A server whose pipeline `docs` searches a table of so many rows. */
export interface SearchSubject {
  readonly rows: number;
  readonly running: RunningRagServer;
}

export interface SearchLoadOptions {
  readonly subjects: readonly SearchSubject[];
  /** Of the embeddings and of the answers. */
  readonly vendor: Vendor;
  readonly questions: readonly string[];
}

interface Kind {
  readonly name: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Milliseconds beyond the provider's time, and answers a second, by rows. */
  readonly aims: Readonly<Record<number, { readonly ms?: number; readonly perSecond?: number }>>;
}

const kinds: readonly Kind[] = [
  {
    name: "vectors alone",
    body: { disable_hybrid: true },
    aims: { 11_000: { ms: 8, perSecond: 150 }, 114_000: { ms: 8, perSecond: 150 } },
  },
  {
    name: "both searches",
    body: {},
    aims: { 11_000: { ms: 25, perSecond: 60 }, 114_000: { ms: 40 } },
  },
];

const rounds = 5;
const askedPerRound = 40;
const clients = 8;
const secondsOfLoad = 3;

/**
 * What a question through the whole server takes beyond the provider's time, one after the other, and how many a second
 * clients get at once: the median of five rounds, all sizes and both kinds in turn in each. A round before them warms the
 * caches.
 */
export async function measureSearchLoad({ subjects, vendor, questions }: SearchLoadOptions): Promise<void> {
  const measured = subjects.flatMap((subject) =>
    kinds.map((kind) => ({ subject, kind, added: new Array<number>(), perSecond: new Array<number>() }))
  );
  for (let round = 0; round <= rounds; round++) {
    for (const { subject, kind, added, perSecond } of measured) {
      const asked = Array.from(
        { length: askedPerRound },
        (_, at) => questions[(round * askedPerRound + at) % questions.length] ?? "",
      );
      const ms = await addedMs(subject, kind, vendor, asked);
      const answers = await answersPerSecond(subject, kind, questions);
      if (round === 0) continue;
      added.push(ms);
      perSecond.push(answers);
    }
  }
  for (const { subject: { rows }, kind, added, perSecond } of measured) {
    const { ms, perSecond: least } = kind.aims[rows] ?? {};
    print(
      `${rows} rows, ${kind.name}: beyond the provider's time`,
      `${median(added).toFixed(1)} ms${ms === undefined ? "" : ` (aim: at most ${ms})`}`,
    );
    print(
      `${rows} rows, ${kind.name}: ${clients} clients`,
      `${median(perSecond).toFixed(0)} answers/s${least === undefined ? "" : ` (aim: at least ${least})`}`,
    );
  }
}

async function addedMs(
  { running }: SearchSubject,
  { body }: Kind,
  vendor: Vendor,
  questions: readonly string[],
): Promise<number> {
  const added: number[] = [];
  for (const query of questions) {
    const whole = await timed(() => ask(running, { query, ...body }));
    // what the server sent just now is sent again, to the byte
    const sent = vendor.requests.slice(-2);
    const provider = await timed(async () => {
      for (const { path, body } of sent) {
        await post(`${new URL(vendor.url).origin}${path}`, JSON.stringify(body));
      }
    });
    added.push(whole - provider);
  }
  return median(added);
}

async function answersPerSecond(
  { running }: SearchSubject,
  { body }: Kind,
  questions: readonly string[],
): Promise<number> {
  const startedAt = performance.now();
  let asked = 0;
  let answers = 0;
  await Promise.all(Array.from({ length: clients }, async () => {
    while (performance.now() - startedAt < secondsOfLoad * 1_000) {
      await ask(running, { query: questions[asked++ % questions.length], ...body });
      answers++;
    }
  }));
  return answers / (performance.now() - startedAt) * 1_000;
}

const ask = ({ client: { url } }: RunningRagServer, body: unknown) =>
  post(`${url}/v1/pipelines/docs`, JSON.stringify(body));

async function post(url: string, body: string): Promise<void> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`unexpected reply: ${text}`);
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
