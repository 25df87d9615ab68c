/** What a check says of one thing. */
export type Finding =
  | {
    readonly ok: true;
    /** What is worth knowing although it is fine. */
    readonly note?: string;
  }
  | {
    readonly ok: false;
    /** `error`: questions fail, or the answers are wrong. */
    readonly severity: "error" | "warning";
    readonly finding: string;
    /** What to run, as SQL or for a shell; what is only to be read stands in lines of `-- `. */
    readonly remedy: string;
  };

export interface Outcome {
  /** None: all is fine. */
  readonly findings: readonly Finding[];
  /** Checks that only make sense with what this one found. */
  readonly next?: readonly Check[];
}

/** A look at one thing. */
export interface Check {
  readonly name: string;
  /** What it throws is a finding too. */
  run(signal: AbortSignal): Promise<Outcome>;
}

export type CheckResult = Finding & { readonly check: string };

export function error(finding: string, remedy: string): Finding {
  return { ok: false, severity: "error", finding, remedy };
}

export function warning(finding: string, remedy: string): Finding {
  return { ok: false, severity: "warning", finding, remedy };
}

export function note(text: string): Finding {
  return { ok: true, note: text };
}
