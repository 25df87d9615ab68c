import { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import { AppError } from "../core/app_error.ts";
import { untilAborted } from "../core/async/abort.ts";
import { withDeadline } from "../core/async/deadline.ts";

const cancelRequestCode = 80877102;

/**
 * Asks a server, over a connection of its own, to cancel what one of its processes runs (PostgreSQL manual, "Canceling
 * Requests in Progress"). Resolves when the server has closed that connection: by then it has sent its signal.
 *
 * @throws {AppError} `unavailable` where the server cannot be reached or does not close in time
 */
export async function sendCancelRequest(
  openTransport: (signal: AbortSignal) => Promise<Duplex>,
  { processId, secretKey }: { readonly processId: number; readonly secretKey: number },
  timeoutMs: number,
): Promise<void> {
  const message = Buffer.alloc(16);
  [message.length, cancelRequestCode, processId, secretKey].forEach((value, at) =>
    message.writeInt32BE(value, 4 * at)
  );
  try {
    await withDeadline(timeoutMs, undefined, async (signal) => {
      const stream = await openTransport(signal);
      const closed = new Promise<void>((resolve, reject) => {
        stream.once("error", reject);
        stream.once("close", resolve);
      });
      stream.resume();
      stream.write(message);
      await untilAborted(closed, signal).finally(() => stream.destroy());
    });
  } catch (cause) {
    throw new AppError("unavailable", "Cannot cancel the statement: the database does not answer", { cause });
  }
}
