import { defined } from "../../core/defined.ts";
import { AppError } from "../../core/app_error.ts";
import type { Principal } from "../../core/principal.ts";
import { type AccessObject, accessTo, grantedTo, visibleTo } from "../../identity/access_rules.ts";
import type { CallContext, PromptContent } from "../call_context.ts";
import { didYouMean } from "../../core/text/near_name.ts";

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

/** Prompts that the server offers, whatever the transport. */
export type PromptRegistry = ReturnType<typeof createPromptRegistry>;

/** @param prompts looked at in each call */
export function createPromptRegistry(prompts: () => readonly Prompt[] = () => []) {
  /** @throws {AppError} `invalid`, the same for a prompt that does not exist and one that is hidden */
  function find(name: string, principal: Principal): Prompt {
    const found = prompts().find((prompt) => prompt.name === name);
    if (found !== undefined && accessTo(principal, found).kind === "granted") return found;
    const shown = name.slice(0, 100);
    const hint = didYouMean(shown, grantedTo(principal, prompts()).map(({ name }) => name));
    throw new AppError(
      "invalid",
      `Cannot get prompt ${JSON.stringify(shown)}: there is no such prompt${hint}`,
    );
  }

  return {
    list: (principal: Principal): readonly PromptDescription[] =>
      visibleTo(principal, prompts()).map(({ description }) => description),

    /** @throws {AppError} `invalid` for an unknown prompt, and for arguments that are missing, unknown or no texts */
    async get(name: string, args: Readonly<Record<string, unknown>>, context: CallContext) {
      const prompt = find(name, context.principal);
      const { description } = prompt;
      const messages = await prompt.messages(checkedArguments(description, args), context);
      return {
        ...defined({ description: description.description }),
        messages,
      };
    },

    /** @throws {AppError} `invalid` for an unknown prompt and for an argument that it has not */
    async complete(
      name: string,
      argument: string,
      value: string,
      context: CallContext,
      given: Readonly<Record<string, string>> = {},
    ) {
      const prompt = find(name, context.principal);
      const { arguments: known = [] } = prompt.description;
      if (!known.some(({ name }) => name === argument)) {
        const shown = argument.slice(0, 100);
        const hint = didYouMean(shown, known.map(({ name }) => name));
        throw new AppError(
          "invalid",
          `Cannot complete ${JSON.stringify(shown)}: it is not an argument of prompt ${name}${hint}`,
        );
      }
      return await prompt.complete?.(argument, value, context, given) ?? [];
    },
  };
}

function checkedArguments(
  { name, arguments: known = [] }: PromptDescription,
  args: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  const faults: { argument: string; message: string }[] = [];
  const texts: Record<string, string> = {};
  for (const [argument, value] of Object.entries(args)) {
    const shown = argument.slice(0, 100);
    if (!known.some(({ name }) => name === argument)) {
      const hint = didYouMean(shown, known.map(({ name }) => name));
      faults.push({ argument: shown, message: `is not an argument of this prompt${hint}` });
    } else if (typeof value !== "string") faults.push({ argument: shown, message: "must be a string" });
    else texts[argument] = value;
  }
  for (const { name: argument, required } of known) {
    if (required && !Object.hasOwn(args, argument)) faults.push({ argument, message: "is missing" });
  }
  if (faults.length === 0) return texts;
  const shown = faults.slice(0, 20);
  const list = shown.map(({ argument, message }) => `${argument}: ${message}`).join("; ");
  throw new AppError("invalid", `Cannot get prompt ${name}: ${list}`, { data: { faults: shown } });
}
