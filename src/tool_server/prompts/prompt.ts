import type { AccessObject } from "../../identity/access_rules.ts";
import type { CallContext, PromptContent } from "../call_context.ts";

/** A prompt as `prompts/list` shows it. */
export interface PromptDescription extends Omit<PromptArgument, "required"> {
  readonly arguments?: readonly PromptArgument[];
}

export interface PromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required?: boolean;
}

export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: PromptContent;
}

export interface Prompt extends AccessObject {
  readonly kind: "prompt";
  readonly description: PromptDescription;
  /**
   * Its messages; all arguments are described ones, and those that are required are there.
   * @throws {AppError} `invalid` for a value that is not as expected
   */
  messages(args: Readonly<Record<string, string>>, context: CallContext): Promise<readonly PromptMessage[]>;
  /** Values of an argument that begin with `value`, the best first; `given` has the arguments filled in before. */
  complete?(
    argument: string,
    value: string,
    context: CallContext,
    given: Readonly<Record<string, string>>,
  ): Promise<readonly string[]>;
}
