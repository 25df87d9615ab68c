/**
 * Starts a worker that answers one message after another over a port, which comes to it with its first message.
 *
 * @param module address of the worker
 * @param start the first message, without the port
 */
export function startThread<Request, Reply>(
  module: string,
  permissions: Deno.PermissionOptions,
  start?: unknown,
) {
  const worker = new Worker(module, { type: "module", deno: { permissions } });
  const { port1: port, port2: workerPort } = new MessageChannel();
  let pending = Promise.withResolvers<Reply>();
  let broken: Error | undefined;
  port.onmessage = ({ data }: MessageEvent<Reply>) => pending.resolve(data);
  worker.onerror = (event) => {
    event.preventDefault();
    broken = new Error(event.message);
    pending.reject(broken);
  };
  worker.postMessage(start, [workerPort]);
  return {
    /** Its answer to the first message. Rejects where the worker ends before. */
    started: pending.promise,
    /** One request at a time. @param moved buffers that it has for itself, not copied @throws {Error} where the worker has ended, or the request cannot be sent */
    async ask(request: Request, moved: Transferable[] = []): Promise<Reply> {
      if (broken !== undefined) throw broken;
      // it throws where a request cannot be sent, so that there is no answer to wait for
      port.postMessage(request, moved);
      pending = Promise.withResolvers();
      return await pending.promise;
    },
    /** What was asked, and has no answer, is rejected. */
    close(): void {
      port.close();
      worker.terminate();
      pending.reject(new Error("the thread was closed"));
    },
  };
}

/**
 * The other side, for the worker's module: answers each request, once `open` has made the answers from the first message.
 */
export function answerRequests<Start, Request, Reply>(
  open: (start: Start) => Promise<(request: Request) => Reply | Promise<Reply>>,
): void {
  addEventListener("message", async (event) => {
    if (!(event instanceof MessageEvent)) return;
    const [port] = event.ports;
    if (port === undefined) return;
    const answer = await open(event.data);
    port.onmessage = async ({ data }: MessageEvent<Request>) => port.postMessage(await answer(data));
    port.postMessage("ready");
  });
}
