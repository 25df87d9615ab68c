import type { Browser, FrameLocator, Page } from "playwright-core";

export interface ViewHostOptions {
  /** The page, as `resources/read` gave it. */
  readonly html: string;
  readonly capabilities?: unknown;
  readonly context?: unknown;
  /** Answers the view's calls of tools. */
  readonly callTool?: (params: { name: string; arguments: unknown }) => Promise<unknown>;
  readonly width?: number;
}

export interface HostMessage {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface ViewHost extends AsyncDisposable {
  readonly page: Page;
  readonly view: FrameLocator;
  /** Whatever the browser asked a network for, but for the two pages. */
  readonly requests: readonly string[];
  /** What the console said, and errors that nothing caught. */
  readonly complaints: readonly string[];
  notify(method: string, params: unknown): Promise<void>;
  /** Sends a request to the view, and returns the message that answers it. */
  request(method: string): Promise<unknown>;
  /** Those that the view has sent, but for answers. */
  messages(): Promise<HostMessage[]>;
}

/** The policy that hosts put on views that name no domains (MCP Apps, "Host Behavior"). */
const policy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data:; media-src 'self' data:; connect-src 'none'";

const hostPage =
  `<!DOCTYPE html><title>Host</title><link rel="icon" href="data:,"><style>body { margin: 0 }</style>
<iframe src="/view" sandbox="allow-scripts" style="border: 0; width: 100%; height: 300px"></iframe><script type="module">
const frame = document.querySelector("iframe");
const sent = [], answers = new Map();
let initialized, lastId = 0;
const ready = new Promise((resolve) => initialized = resolve);
const post = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
globalThis.host = {
  sent,
  notify: async (method, params) => (await ready, post({ method, params })),
  request: (method) => new Promise((resolve) => (answers.set(++lastId, resolve), post({ id: lastId, method, params: {} }))),
};
addEventListener("message", async ({ source, data }) => {
  if (source !== frame.contentWindow) return;
  if (data.method === undefined) return answers.get(data.id)(data);
  sent.push({ method: data.method, params: data.params });
  if (data.method === "ui/initialize") {
    return post({ id: data.id, result: await initializeResult() });
  }
  if (data.method === "ui/notifications/initialized") return initialized();
  if (data.method === "ui/notifications/size-changed") frame.style.height = data.params.height + "px";
  if (data.method !== "tools/call") return;
  try {
    post({ id: data.id, result: await callTool(data.params) });
  } catch (error) {
    post({ id: data.id, error: { code: -32000, message: error.message } });
  }
});
</script>`;

/** A host that shows a view: it plays the host's side of MCP Apps, revision 2026-01-26. */
export async function openViewHost(browser: Browser, options: ViewHostOptions): Promise<ViewHost> {
  const { html, capabilities = {}, context = {}, callTool, width = 800 } = options;
  await using cleanup = new AsyncDisposableStack();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, ({ url }) => {
    const { pathname } = new URL(url);
    const headers = { "content-type": "text/html; charset=utf-8" };
    if (pathname === "/host") return new Response(hostPage, { headers });
    if (pathname !== "/view") return new Response(null, { status: 404 });
    return new Response(html, { headers: { ...headers, "content-security-policy": policy } });
  });
  cleanup.defer(() => server.shutdown());
  const page = await browser.newPage({ viewport: { width, height: 900 } });
  cleanup.defer(() => page.close());
  const origin = `http://127.0.0.1:${server.addr.port}`;
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => {
    const url = request.url();
    if (url !== `${origin}/host` && url !== `${origin}/view`) requests.push(url);
  });
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.exposeFunction("initializeResult", () => ({
    protocolVersion: "2026-01-26",
    hostInfo: { name: "test", version: "1" },
    hostCapabilities: capabilities,
    hostContext: context,
  }));
  await page.exposeFunction("callTool", (params: { name: string; arguments: unknown }) => {
    if (callTool === undefined) throw new Error("no tools here");
    return callTool(params);
  });
  await page.goto(`${origin}/host`);
  const kept = cleanup.move();
  return {
    page,
    view: page.frameLocator("iframe"),
    requests,
    complaints,
    async notify(method, params) {
      await page.evaluate(`host.notify(${JSON.stringify(method)}, ${JSON.stringify(params)})`);
    },
    request: (method) => page.evaluate(`host.request(${JSON.stringify(method)})`),
    messages: () => page.evaluate("host.sent"),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
