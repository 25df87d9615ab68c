import { untilAborted } from "../../core/async/abort.ts";
import { withDeadline } from "../../core/async/deadline.ts";
import type { ReadyMessage, SourceReply, SourceRequest } from "./source_worker.ts";

/** Reads files on a thread of its own, one after the other. */
export interface SourceReader {
  /**
   * A file that takes too long counts as failed, and the thread is started anew.
   *
   * @throws the signal's reason, which ends the thread
   */
  read(request: SourceRequest, signal: AbortSignal): Promise<SourceReply>;
  [Symbol.dispose](): void;
}

interface Thread {
  /** Resolves when the thread has loaded what it needs. */
  readonly ready: Promise<void>;
  read(request: SourceRequest): Promise<SourceReply>;
  close(): void;
}

export function createSourceReader({ timeoutMs }: { readonly timeoutMs: number }): SourceReader {
  let thread: Thread | undefined;

  function stop(): void {
    thread?.close();
    thread = undefined;
  }

  return {
    async read(request, signal) {
      signal.throwIfAborted();
      const running = thread ??= startThread();
      const readOne = (inner: AbortSignal) => untilAborted(running.read(request), inner);
      try {
        await untilAborted(running.ready, signal);
        return await withDeadline(timeoutMs, signal, readOne);
      } catch {
        stop();
        signal.throwIfAborted();
        return { kind: "failed", reason: `reading it took more than ${timeoutMs / 1000} seconds` };
      }
    },
    [Symbol.dispose]: stop,
  };
}

function startThread(): Thread {
  const worker = new Worker(import.meta.resolve("./source_worker.ts"), { type: "module" });
  const { port1: port, port2: workerPort } = new MessageChannel();
  const started = Promise.withResolvers<void>();
  let pending: PromiseWithResolvers<SourceReply> | undefined;
  let failure: SourceReply | undefined;
  port.onmessage = ({ data }: MessageEvent<SourceReply | ReadyMessage>) => {
    if (data === "ready") started.resolve();
    else pending?.resolve(data);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    failure = { kind: "failed", reason: event.message };
    started.resolve();
    pending?.resolve(failure);
  };
  worker.postMessage(undefined, [workerPort]);
  return {
    ready: started.promise,
    read(request) {
      if (failure !== undefined) return Promise.resolve(failure);
      pending = Promise.withResolvers();
      port.postMessage(request);
      return pending.promise;
    },
    close() {
      port.close();
      worker.terminate();
    },
  };
}
