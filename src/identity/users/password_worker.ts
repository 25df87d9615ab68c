/** A worker that compares passwords; `password_hashing.ts` is its other side. */
import { type PasswordRequest, verifyPassword } from "./password_hashing.ts";

// requests come one at a time, and each is answered by whether the password matches
addEventListener("message", (event) => {
  if (!(event instanceof MessageEvent)) return;
  const [port] = event.ports;
  if (port === undefined) return;
  port.onmessage = ({ data }: MessageEvent<PasswordRequest>) => {
    port.postMessage(verifyPassword(data.password, data.hash, data.totalCost));
  };
});
