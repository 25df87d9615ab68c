/** How far something has come; `done` of `total`, whatever they count. */
interface ProgressState {
  /** What is being counted, such as `files`. */
  readonly phase: string;
  readonly done: number;
  /** As far as is known: where `done` comes to more, none is shown. */
  readonly total: number;
}

export type Progress = ReturnType<typeof createProgress>;

const barWidth = 30;
const barEveryMs = 100;
const lineEveryMs = 5_000;
/** Before that, an estimate of what is left would be a guess. */
const estimateAfterMs = 3_000;
// to the line's start, and erased to its end (ECMA-48, section 8.3.41)
const eraseLine = "\r\x1b[K";

/** Shows how far a long operation has come, on standard error as a rule. */
export function createProgress({ isTerminal, write, now }: {
  /** A bar that moves, if true; else a line every now and then. */
  readonly isTerminal: boolean;
  /** Takes text as it is, control characters and line ends with it. */
  readonly write: (text: string) => void;
  /** Milliseconds. */
  readonly now: () => number;
}) {
  let start: { readonly phase: string; readonly done: number; readonly at: number } | undefined;
  let lastWrite: number | undefined = isTerminal ? -Infinity : now();
  let isShown = false;

  return {
    update(state: ProgressState): void {
      const at = now();
      lastWrite ??= at;
      if (state.phase !== start?.phase) start = { phase: state.phase, done: state.done, at };
      const isOver = isTerminal && state.done === state.total;
      if (!isOver && at - lastWrite < (isTerminal ? barEveryMs : lineEveryMs)) return;
      lastWrite = at;
      const text = progressText(state, { done: state.done - start.done, ms: at - start.at });
      if (!isTerminal) return write(`${text}\n`);
      isShown = true;
      write(`${eraseLine}${bar(state)}${text}`);
    },
    /** Takes the bar away, so that what is printed next begins on an empty line. */
    end(): void {
      if (isShown) write(eraseLine);
      isShown = false;
      start = undefined;
      // the next may begin much later
      if (!isTerminal) lastWrite = undefined;
    },
  };
}

/** From 0 to 1; undefined where the total is too low to be true. */
function shareOf({ done, total }: ProgressState): number | undefined {
  if (done > total) return undefined;
  return total === 0 ? 1 : done / total;
}

function bar(state: ProgressState): string {
  const share = shareOf(state);
  if (share === undefined) return "";
  const filled = Math.floor(share * barWidth);
  return `[${"#".repeat(filled)}${".".repeat(barWidth - filled)}] `;
}

/** @param since what was done since the phase began, and in which time */
function progressText(
  state: ProgressState,
  since: { readonly done: number; readonly ms: number },
): string {
  const { phase, done, total } = state;
  const share = shareOf(state);
  if (share === undefined) return `${grouped(done)} ${phase}`;
  const left = since.done <= 0 || share === 1 || since.ms < estimateAfterMs
    ? ""
    : `, about ${durationText((total - done) * since.ms / since.done)} left`;
  return `${grouped(done)} of ${grouped(total)} ${phase} (${Math.floor(share * 100)} %)${left}`;
}

function durationText(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

function grouped(value: number): string {
  return Math.floor(value).toString().replace(/\B(?=(?:\d{3})+$)/g, ",");
}
