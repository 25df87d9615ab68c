/** A worker that compares passwords; `password_hasher.ts` is its other side. */
import { verifyPassword } from "./password_hash.ts";

/** One comparison; it takes the time of `totalCost`. */
export interface PasswordRequest {
  readonly password: string;
  readonly hash: string;
  readonly totalCost: number;
}

/** Requests come one at a time. Each is answered by whether the password matches. */
export type PasswordReply = boolean;

addEventListener("message", (event) => {
  if (!(event instanceof MessageEvent)) return;
  const [port] = event.ports;
  if (port === undefined) return;
  port.onmessage = ({ data }: MessageEvent<PasswordRequest>) => {
    const reply: PasswordReply = verifyPassword(data.password, data.hash, data.totalCost);
    port.postMessage(reply);
  };
});
