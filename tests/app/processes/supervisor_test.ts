import assert from "node:assert/strict";
import { choosePorts } from "../../../src/app/processes/supervisor.ts";

Deno.test("two servers get two ports from a system that gives the same free one again and again", () => {
  const address = { host: "127.0.0.1", port: 0 };
  const listen = Deno.listen;
  const port = listen({ hostname: "127.0.0.1", port: 0 });
  const free = (port.addr as Deno.NetAddr).port;
  port.close();
  const held = new Set<number>();
  // the lowest that is free from there on
  Deno.listen = ((options: Deno.TcpListenOptions) => {
    let chosen = options.port || free;
    while (held.has(chosen)) chosen++;
    held.add(chosen);
    const addr = { transport: "tcp", hostname: options.hostname, port: chosen };
    return { addr, close: () => void held.delete(chosen) };
  }) as unknown as typeof Deno.listen;
  try {
    const chosen = choosePorts({ http: { enabled: true, address }, server: { address }, rag: true });
    assert.deepEqual(chosen, { http: free, server: free + 1 });
    assert.deepEqual(choosePorts({ http: { enabled: false, address }, server: { address }, rag: false }), {
      http: 0,
      server: 0,
    });
    assert.equal(held.size, 0);
  } finally {
    Deno.listen = listen;
  }
});
