import assert from "node:assert/strict";
import { AppError } from "../../../src/core/app_error.ts";
import { CallEnded, whyEnded } from "../../../src/core/async/abort.ts";

Deno.test("whyEnded() tells a stop, a cancellation, a timeout and a caller that has gone apart", () => {
  const after = (reason?: unknown) => whyEnded(AbortSignal.abort(reason));
  assert.equal(after(new CallEnded("the server stops")), "the server stops");
  assert.equal(after(new CallEnded("its caller cancelled it")), "its caller cancelled it");
  assert.equal(after(new AppError("timeout", "the request took too long")), "it took too long");
  assert.equal(after(new DOMException("timed out", "TimeoutError")), "it took too long");
  for (
    const reason of [
      undefined,
      "gone",
      null,
      new AppError("unavailable", "x"),
      new DOMException("x", "AbortError"),
    ]
  ) {
    assert.equal(after(reason), "its caller disconnected");
  }
});
