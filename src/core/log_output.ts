/** Where the lines of a log go. Disposing of it writes those that wait. */
export interface LogOutput extends Disposable {
  /** Writes a line with its line end at once, after those that wait. */
  write(line: string): void;
  /** Takes a line that waits for others: to write each by itself costs more than to make it. */
  gather(line: string): void;
}

const longestWaitMs = 100;
/** UTF-16 units. */
const mostGathered = 16 * 1024;

/**
 * Writes lines in the order in which it got them. What waits is written too where an error that nobody caught, or a call of
 * `Deno.exit`, ends the process.
 */
export function createLogOutput(write: (lines: string) => void = writeToStderr): LogOutput {
  let gathered = "";
  let timer: ReturnType<typeof setTimeout> | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const lines = gathered;
    gathered = "";
    if (lines !== "") write(lines);
  }

  for (const event of lastEvents) addEventListener(event, flush);
  return {
    write(line) {
      if (gathered !== "") flush();
      write(line);
    },
    gather(line) {
      gathered += line;
      if (gathered.length >= mostGathered) flush();
      else if (timer === undefined) {
        timer = setTimeout(flush, longestWaitMs);
        // the timer alone does not keep the process alive
        Deno.unrefTimer(timer);
      }
    },
    [Symbol.dispose]() {
      for (const event of lastEvents) removeEventListener(event, flush);
      flush();
    },
  };
}

const lastEvents = ["error", "unhandledrejection", "unload"] as const;

const encoder = new TextEncoder();

/** Writes lines to standard error; what nobody reads is dropped. */
export function writeToStderr(lines: string): void {
  try {
    let rest = encoder.encode(lines);
    while (rest.length > 0) rest = rest.subarray(Deno.stderr.writeSync(rest));
  } catch {
    // nobody reads it any more, or its disk is full: no reason to fail what the line tells of
  }
}
