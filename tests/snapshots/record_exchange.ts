/** A request by its method, path and what differs from a POST of JSON. */
export interface Exchange {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What a client sends and gets, as text: the request, then on a line status and headers, then the body as it came. */
export async function recordExchange(url: string, exchange: Exchange): Promise<string> {
  const { method = "POST", path, headers = {}, body } = exchange;
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { "content-type": "application/json", connection: "close", ...headers },
    ...(body === undefined ? {} : { body }),
  });
  // Deno 2.4 adds this "vary" by itself
  const received = [...response.headers].filter(([name, value]) =>
    !ofEachReply.has(name) && !(name === "vary" && value === "Accept-Encoding")
  );
  return [
    `> ${method} ${path}`,
    ...Object.entries(headers).map(([name, value]) => `> ${name}: ${value}`),
    ...(body === undefined ? [] : [`> ${body.length > 1_000 ? `${body.length} characters` : body}`]),
    `< ${response.status} ${received.map(([name, value]) => `${name}: ${value}`).join(" | ")}`,
    `${(await response.text()).trimEnd()}\n`,
    "",
  ].join("\n");
}

const ofEachReply: ReadonlySet<string> = new Set(["date", "content-length", "connection"]);
