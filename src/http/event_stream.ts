// https://html.spec.whatwg.org/multipage/server-sent-events.html; nginx holds back what it may buffer
const headers = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  connection: "keep-alive",
  "x-accel-buffering": "no",
};

export interface EventStreamOptions {
  /** The next event, undefined after the last; asked for only when the client can take it. */
  readonly next: () => Promise<unknown>;
  /** The client has gone before the last event. */
  readonly onLeave: () => void;
}

/** A reply of server-sent events, each one line of JSON. A client that reads slowly slows down what makes the events. */
export function eventStreamReply({ next, onLeave }: EventStreamOptions): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream({
    async pull(controller) {
      const event = await next();
      if (event === undefined) controller.close();
      else controller.enqueue(encoder.encode(`data: ${JSON.stringify(event)}\n\n`));
    },
    cancel: onLeave,
  }, { highWaterMark: 0 });
  return new Response(body, { headers });
}
