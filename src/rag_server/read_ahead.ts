import type { PipelineEvent } from "./pipeline.ts";

/** So much of an answer is made before its client takes it, in characters: far more than a model writes in one. */
const mostAhead = 1_048_576;
/** What an event takes besides its text. */
const eventSize = 64;

/**
 * The events of an answer, which are made whether or not they have been asked for: a client that reads slowly keeps neither
 * the provider's stream open nor its place in the pipeline.
 *
 * @param onMade called once, when the last event was made or there will be none
 */
export async function* readAhead(
  events: AsyncIterable<PipelineEvent>,
  onMade: () => void,
): AsyncGenerator<PipelineEvent, void> {
  const made: PipelineEvent[] = [];
  let ahead = 0;
  let isOver = false;
  let hasLeft = false;
  let fault: { readonly thrown: unknown } | undefined;
  let change = Promise.withResolvers<void>();
  const changed = () => {
    change.resolve();
    change = Promise.withResolvers();
  };

  async function make(): Promise<void> {
    try {
      for await (const event of events) {
        made.push(event);
        ahead += sizeOf(event);
        changed();
        while (ahead > mostAhead && !hasLeft) await change.promise;
        if (hasLeft) return;
      }
    } catch (thrown) {
      fault = { thrown };
    } finally {
      isOver = true;
      onMade();
      changed();
    }
  }

  void make();
  try {
    for (;;) {
      const event = made.shift();
      if (event !== undefined) {
        ahead -= sizeOf(event);
        changed();
        yield event;
      } else if (!isOver) await change.promise;
      else if (fault !== undefined) throw fault.thrown;
      else return;
    }
  } finally {
    hasLeft = true;
    changed();
  }
}

function sizeOf(event: PipelineEvent): number {
  return eventSize + (event.type === "chunk" ? event.content.length : 0);
}
