import OpenAI from "openai";

/** OpenAI's own client of a server's `/v1`; it tries nothing again. */
export function createOpenaiClient(url: string, token = "none"): OpenAI {
  return new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: token,
    maxRetries: 0,
    // a pool may open a connection that it then has no use for, which Deno 2.4 waits for when a server stops
    defaultHeaders: { connection: "close" },
  });
}
