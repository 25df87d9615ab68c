import type { Vendor } from "../tests/llm/wire/vendors/vendor.ts";
import { answerOf } from "../tests/support/rag_client.ts";
import type { RunningRagServer } from "../tests/support/rag_server.ts";
import { median, print, residentBytes } from "./measure.ts";

export interface FirstEventOptions {
  readonly running: RunningRagServer;
  readonly vendor: Vendor;
  readonly retrieve: (question: string) => Promise<unknown>;
  readonly questions: readonly string[];
}

/** What stands between a client and the model's first text, each part in turn for each question. */
export async function measureFirstEvent({ running, vendor, retrieve, questions }: FirstEventOptions) {
  const post = async (path: string, body: unknown) => {
    const response = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
  };
  // a prompt is about as long with the documents
  const content = "word ".repeat(1_600);
  const parts: Record<string, (question: string) => Promise<unknown>> = {
    "first event of a stream": (query) =>
      post(`${running.client.url}/v1/pipelines/docs`, { query, stream: true }),
    "the provider's first token, asked directly": () =>
      post(`${vendor.url}/chat/completions`, {
        model: "m",
        messages: [{ role: "user", content }],
        stream: true,
      }),
    "the provider's embedding, asked directly": (input) =>
      post(`${vendor.url}/embeddings`, { model: "e", input: [input] }),
    "retrieval": retrieve,
  };
  const times = Object.keys(parts).map((): number[] => []);
  for (const question of [...questions, ...questions]) {
    for (const [at, run] of Object.values(parts).entries()) {
      const startedAt = performance.now();
      await run(question);
      times[at]?.push(performance.now() - startedAt);
    }
  }
  const medians = times.map((values) => median(values.slice(questions.length)));
  Object.keys(parts).forEach((name, at) => print(name, `${medians[at]?.toFixed(1)} ms`));
  const [whole = NaN, ...others] = medians;
  const added = whole - others.reduce((sum, ms) => sum + ms, 0);
  print("Postern adds to the first token (aim: under 5 ms)", `${added.toFixed(1)} ms`);
}

export interface ManyStreamsOptions {
  readonly running: RunningRagServer;
  readonly questions: readonly string[];
}

const streams = 64;
const rounds = 6;
const perRound = 5;

/** So many streams at a time, each held against what it must bring. */
export async function measureManyStreams({ running, questions }: ManyStreamsOptions): Promise<void> {
  const { client, process } = running;
  let next = 0;
  async function one(): Promise<void> {
    const number = next++;
    const query = `${questions[number % questions.length]} number ${number}`;
    const answer = answerOf(await client.stream("docs", { query }));
    const expected = Array.from({ length: 20 }, (_, piece) => `${number}.${piece} `).join("");
    if (answer !== expected) throw new Error(`stream ${number} brought ${answer}`);
  }
  for (let round = 1; round <= rounds; round++) {
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: streams }, async () => {
      for (let round = 0; round < perRound; round++) await one();
    }));
    const seconds = (performance.now() - startedAt) / 1_000;
    const megabytes = (await residentBytes(process.pid)).now / 2 ** 20;
    print(
      `${streams} streams at a time, round ${round}`,
      `${(streams * perRound / seconds).toFixed(0)} streams/s, memory ${megabytes.toFixed(0)} MB`,
    );
  }
}
