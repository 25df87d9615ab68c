import type { z } from "zod";
import { AppError } from "../../core/app_error.ts";
import { didYouMean } from "../../core/document/near_name.ts";

const maxFaults = 20;
/** Of an argument that a fault names; a client may have made it up. */
const maxNameLength = 100;
const notArgument = "is not an argument of this tool";

interface ArgumentFault {
  /** Where it stands: `limit`, or `filter.0.column` further down. */
  readonly argument: string;
  readonly message: string;
}

/**
 * The refusal of a call whose arguments do not fit the tool's schema: each fault with its path.
 * @param known the tool's arguments, for whoever mistyped one
 */
export function invalidArguments(tool: string, error: z.ZodError, known: readonly string[]): AppError {
  const faults = new Map(
    error.issues.flatMap((issue) => faultsOf(issue, [], known))
      .map((fault) => [`${fault.argument}: ${fault.message}`, fault]),
  );
  const shown = [...faults].slice(0, maxFaults);
  const list = shown.map(([text]) => text).join("; ");
  const hasStranger = shown.some(([, { argument, message }]) =>
    message === notArgument && !argument.includes(".")
  );
  return new AppError("invalid", `Cannot call ${tool}: ${list}${hasStranger ? argumentsOf(known) : ""}`, {
    data: { faults: shown.map(([, fault]) => fault) },
  });
}

/** What stands in for an argument that is not there and like none that is. */
function argumentsOf(known: readonly string[]): string {
  if (known.length === 0) return "; it takes no arguments";
  return `; it takes ${known.slice(0, maxFaults).join(", ")}`;
}

function faultsOf(
  issue: z.core.$ZodIssue,
  above: readonly PropertyKey[],
  known: readonly string[],
): readonly ArgumentFault[] {
  const path = [...above, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => {
      const hint = path.length === 0 ? didYouMean(key.slice(0, maxNameLength), known) : "";
      return { argument: pathText([...path, key]), message: `${notArgument}${hint}` };
    });
  }
  const branch = issue.code === "invalid_union" ? nearestBranch(issue.errors) : undefined;
  if (branch !== undefined) return branch.flatMap((each) => faultsOf(each, path, known));
  return [{ argument: pathText(path) || "arguments", message: messageOf(issue) }];
}

function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_type" && issue.message.endsWith("received undefined")) {
    return `is missing; expected ${issue.expected}`;
  }
  return issue.message.replace(/^Invalid input: /, "");
}

/** Of the shapes that a value may have, the one that it comes nearest to: whose faults lie within it, and are fewest. */
function nearestBranch(
  branches: readonly (readonly z.core.$ZodIssue[])[],
): readonly z.core.$ZodIssue[] | undefined {
  return branches
    .filter((issues) => issues.some(({ path, code }) => path.length > 0 || code === "unrecognized_keys"))
    .toSorted((left, right) => left.length - right.length)[0];
}

function pathText(path: readonly PropertyKey[]): string {
  return path.map((part) => String(part).slice(0, maxNameLength)).join(".");
}
