import { randomUUID } from "node:crypto";
import { isMap } from "../core/yaml/value_tree.ts";
import type { State } from "./state.ts";

/** Messages that wait are sent together so often. */
const sendEveryMs = 50;
/** Of one sender that wait at a time; more are dropped, so that nobody takes others' room. */
const mostOfSender = 20;
const mostTogether = 500;
/** The longest, in UTF-16 units. */
const longest = 1_000;
/** Who has not heard a message by then has long forgotten what it was about. */
const keptMs = 10_000;

/**
 * Tells the other processes that share a state something, for the moment: one that does not listen then does not hear it, and
 * one that has just begun to may hear it late, or twice.
 *
 * @param onMessage told of what others send
 */
export function createMessages(state: State, topic: string, onMessage: (message: string) => void) {
  const records = state.of(topic);
  const process = randomUUID();
  let waiting = new Map<string, string[]>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  records.follow((_id, record) => {
    const { from, messages } = isMap(record?.value) ? record.value : {};
    if (from === process || !Array.isArray(messages)) return;
    for (const message of messages) if (typeof message === "string") onMessage(message);
  });

  function send(): void {
    timer = undefined;
    const messages = [...waiting.values()].flat().slice(0, mostTogether);
    waiting = new Map();
    // where the state does not answer, others do not either
    records.keep({ id: randomUUID(), value: { from: process, messages }, expiresAt: state.now() + keptMs })
      .catch(() => {});
  }

  return {
    /** @param sender whose share of what waits it takes */
    send(message: string, sender: string): void {
      const own = waiting.get(sender) ?? [];
      if (message.length > longest || own.length >= mostOfSender) return;
      waiting.set(sender, [...own, message]);
      timer ??= setTimeout(send, sendEveryMs);
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
