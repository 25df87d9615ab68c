import assert from "node:assert/strict";
import { startThread } from "../../../src/core/async/thread.ts";

const doubling = `data:text/javascript,${
  encodeURIComponent(`onmessage = ({ ports: [port] }) => {
    port.onmessage = ({ data }) => port.postMessage(data * 2);
    port.postMessage("ready");
  }`)
}`;

Deno.test("a request that cannot be sent fails alone", async () => {
  const thread = startThread<unknown, number>(doubling, "none");
  await thread.started;
  await assert.rejects(thread.ask(() => {}), { name: "DataCloneError" });
  assert.equal(await thread.ask(21), 42);
  thread.close();
});

Deno.test("a thread that is closed answers no more", async () => {
  const thread = startThread<number, number>(doubling, "none");
  await thread.started;
  const asked = thread.ask(1);
  thread.close();
  await assert.rejects(asked, { message: "the thread was closed" });
});
