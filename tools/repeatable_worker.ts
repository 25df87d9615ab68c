/**
 * Runs a worker's module, given as `?module=ADDRESS`, with a clock and random numbers that are the same in each run: what
 * PostgreSQL writes then is too.
 */
import crypto from "node:crypto";

let clockMs = Date.UTC(2026, 0, 1);
let random = 1;

/** Time passes with each look at the clock, for whoever waits for it. */
const now = () => clockMs++;
const SystemDate = Date;
globalThis.Date = class extends SystemDate {
  constructor(...parts: [] | [number]) {
    super(...(parts.length === 0 ? [now()] : parts) as [number]);
  }
  static override now = now;
} as DateConstructor;
performance.now = now;
Math.random = () => now() % 997 / 997;
// PGlite's source of random numbers; no secret is made of them
Object.assign(crypto, {
  randomFillSync(bytes: Uint8Array) {
    for (let index = 0; index < bytes.length; index++) {
      random = (random * 48271) % 0x7fffffff;
      bytes[index] = random >>> 8;
    }
    return bytes;
  },
});

// what comes before the module listens
const early: MessageEvent[] = [];
const keep = (event: unknown) => {
  if (event instanceof MessageEvent) early.push(event);
};
self.addEventListener("message", keep);
await import(new URL(import.meta.url).searchParams.get("module") ?? "");
self.removeEventListener("message", keep);
for (const { data, ports } of early) {
  self.dispatchEvent(new MessageEvent("message", { data, ports: [...ports] }));
}
