import assert from "node:assert/strict";
import { createLogger } from "../../src/core/logger.ts";
import {
  createOpenConnections,
  type OpenConnection,
  type OpenConnections,
} from "../../src/http/open_connections.ts";

const logger = createLogger({ level: "error", format: "text" });

/** Connections of a process that may open `descriptors` files. */
function withDescriptors(descriptors: number) {
  let time = 0;
  const closed: string[] = [];
  let held = 0;
  const open = createOpenConnections({
    logger,
    now: () => time,
    freeDescriptors: (atMost) => Math.min(atMost, Math.max(descriptors - held, 0)),
  });
  return {
    open,
    closed,
    pass: (ms: number) => void (time += ms),
    /** One whose handshake does not end. */
    addSilent(): OpenConnection {
      held++;
      return open.add();
    },
    add(name: string): OpenConnection {
      const connection = this.addSilent();
      connection.serve(() => {
        held--;
        closed.push(name);
      });
      return connection;
    },
    [Symbol.dispose]: open.close,
  };
}

Deno.test("connections that leave the reserve free are left alone", () => {
  using many = withDescriptors(10_000);
  for (let n = 0; n < 2_000; n++) {
    assert.equal(many.open.makeRoom(), true);
    many.add(`${n}`);
  }
  many.pass(10_000);
  assert.equal(many.open.makeRoom(), true);
  assert.deepEqual(many.closed, []);
});

Deno.test("connections in their handshake count, and none is closed", () => {
  using few = withDescriptors(40);
  let silent = 0;
  for (; few.open.makeRoom(); silent++) few.addSilent();
  assert.ok(silent >= 8 && silent <= 40 - 16, `${silent} let in`);
  few.pass(40_000);
  assert.equal(few.open.makeRoom(), false);
  assert.deepEqual(few.closed, []);
});

Deno.test("the connection that is idle for the longest is closed first, and none with a request under way", () => {
  using few = withDescriptors(40);
  const names: string[] = [];
  const connections: OpenConnection[] = [];
  while (few.open.makeRoom()) {
    names.push(`${names.length}`);
    connections.push(few.add(`${names.length - 1}`));
    few.pass(1);
  }
  assert.ok(names.length >= 8 && names.length < 40 - 16);
  // the first is busy, the second was
  connections[0]?.beginRequest();
  connections[1]?.beginRequest();
  connections[1]?.endRequest();
  assert.equal(few.open.makeRoom(), false, "all are new");
  few.pass(2_000);
  for (const place of names.keys()) {
    if (!few.open.makeRoom()) break;
    few.add(`new ${place}`);
  }
  assert.deepEqual(few.closed, [...names.slice(2), "1"]);
});

Deno.test("what a connection held is free once it has gone, and again only once", () => {
  using few = withDescriptors(40);
  const connections: OpenConnection[] = [];
  while (few.open.makeRoom()) {
    const connection = few.add("one");
    connection.beginRequest();
    connections.push(connection);
  }
  few.pass(60_000);
  assert.equal(few.open.makeRoom(), false, "all are busy");
  connections[0]?.leave();
  connections[0]?.leave();
  connections[0]?.endRequest();
  assert.equal(few.open.makeRoom(), true);
  few.add("another").beginRequest();
  assert.equal(few.open.makeRoom(), false);
  assert.deepEqual(few.closed, []);
});

/** Resolves with whether replies are settled at this time. */
async function areSettled(open: OpenConnections): Promise<boolean> {
  const looking = new AbortController();
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), 120);
  const settled = await Promise.race([open.repliesSettled(looking.signal).then(() => true), late.promise]);
  clearTimeout(timer);
  looking.abort();
  return settled;
}

Deno.test("replies are settled where there were none", async () => {
  using none = withDescriptors(40);
  none.add("silent");
  assert.equal(await areSettled(none.open), true);
});

Deno.test("replies are settled a while after the last one ended, whether its connection is there or not", async () => {
  using two = withDescriptors(40);
  const [first, second] = [two.add("first"), two.add("second")];
  first.beginRequest();
  second.beginRequest();
  first.endRequest();
  two.pass(5_000);
  assert.equal(await areSettled(two.open), false);
  second.leave();
  second.endRequest();
  assert.equal(await areSettled(two.open), false);
  two.pass(2_999);
  assert.equal(await areSettled(two.open), false);
  two.pass(1);
  assert.equal(await areSettled(two.open), true);
});
