import type { InterruptFlags } from "./interrupt_flags.ts";
import type { TransactionStatus } from "./wire_protocol.ts";

/** What the worker is started with, together with the port that everything else goes through. */
export interface WorkerStart {
  readonly dataDir: "memory" | string;
  /** A data directory as a tar file, gzip'd or not; initdb makes one where it is absent. */
  readonly snapshot: Uint8Array | undefined;
  /** One int32 in shared memory: the bytes of output sent and not yet taken. */
  readonly outstanding: SharedArrayBuffer;
}

export type WorkerRequest =
  | { readonly kind: "execute"; readonly bytes: Uint8Array }
  | { readonly kind: "dump" }
  | { readonly kind: "close" };

/** Each request is answered by one `done` or `broken`; `execute` sends `data` before it. */
export type WorkerReply =
  | { readonly kind: "data"; readonly bytes: Uint8Array }
  /**
   * `status` where the output ended with ReadyForQuery; `bytes` of a dump, and of the start (ParameterStatus messages);
   * `isNew` of the start where no database was there before, and its `interruptFlags`.
   */
  | {
    readonly kind: "done";
    readonly status?: TransactionStatus;
    readonly bytes?: Uint8Array;
    readonly isNew?: boolean;
    readonly interruptFlags?: InterruptFlags;
  }
  /** The instance can't be used any more. */
  | { readonly kind: "broken"; readonly reason: string };
