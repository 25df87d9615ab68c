import { AppError } from "../../core/app_error.ts";
import type { Principal } from "../../core/principal.ts";
import { didYouMean } from "../../core/text/near_name.ts";
import type { CallContext, JsonObject, ResourceLink } from "../call_context.ts";

/** A resource as `resources/list` shows it. */
export interface ResourceDescription extends Omit<ResourceLink, "type"> {
  readonly _meta?: JsonObject;
}

/** A kind of resources as `resources/templates/list` shows it; `uriTemplate` is of RFC 6570. */
export interface ResourceTemplateDescription extends Omit<ResourceLink, "type" | "uri"> {
  readonly uriTemplate: string;
}

interface ResourceContents extends Pick<ResourceDescription, "uri" | "mimeType" | "_meta"> {
  readonly text: string;
}

/** How long a client may keep what it read, and whether callers may share it (MCP, Caching). */
export interface Freshness {
  readonly ttlMs: number;
  readonly cacheScope: "public" | "private";
}

/** Some of the resources that a server offers: those that one decision is behind. */
export interface ResourceSource {
  /** Those that a principal may know of, without what the templates lead to. */
  list(principal: Principal): readonly ResourceDescription[];
  templates(principal: Principal): readonly ResourceTemplateDescription[];
  /**
   * Undefined where the address is none of this source's, or leads to what the caller may not know of.
   * @throws {AppError} as a tool does that reads the same
   */
  read(uri: string, context: CallContext): Promise<readonly ResourceContents[] | undefined>;
  /**
   * Values of a template's variable that begin with `value`, the best first; `given` has the variables chosen before.
   * Undefined where the template is none of this source's.
   */
  complete?(
    completion: {
      readonly uriTemplate: string;
      readonly variable: string;
      readonly value: string;
      readonly given: Readonly<Record<string, string>>;
    },
    context: CallContext,
  ): Promise<readonly string[] | undefined>;
  /** Of what `read` gives. Optional: without it, nothing may be kept. */
  freshness?(uri: string): Freshness;
}

/** Characters of an address that a client may have made up. */
const maxShown = 200;

/** Resources that the server offers, whatever the transport. */
export type ResourceRegistry = ReturnType<typeof createResourceRegistry>;

/** @param sources asked in their order; looked at in each call */
export function createResourceRegistry(sources: readonly ResourceSource[] = []) {
  const listOf = (principal: Principal) => sources.flatMap((source) => source.list(principal));
  const templatesOf = (principal: Principal) => sources.flatMap((source) => source.templates(principal));

  return {
    list: listOf,
    templates: templatesOf,

    /** @throws {AppError} `not_found`, the same for what does not exist and what the caller may not know of */
    async read(uri: string, context: Parameters<ResourceSource["read"]>[1]) {
      for (const source of sources) {
        const contents = await source.read(uri, context);
        if (contents === undefined) continue;
        return { contents, freshness: source.freshness?.(uri) };
      }
      const shown = uri.slice(0, maxShown);
      const hint = didYouMean(shown, listOf(context.principal).map(({ uri }) => uri));
      throw new AppError(
        "not_found",
        `Cannot read resource ${JSON.stringify(shown)}: there is no such resource${hint}`,
        // this and nothing else is how clients tell it from other faults (MCP, Resources, Error Handling)
        { data: { uri: shown } },
      );
    },

    /**
     * The values that the first source gives that knows the template. An address has no variables, and so no values.
     * @throws {AppError} `invalid` for a template that the caller does not have, and for a variable that is not in it
     */
    async complete(...[completion, context]: Parameters<NonNullable<ResourceSource["complete"]>>) {
      const { uriTemplate, variable } = completion;
      const templates = templatesOf(context.principal).map(({ uriTemplate }) => uriTemplate);
      if (!templates.includes(uriTemplate)) {
        if (listOf(context.principal).some(({ uri }) => uri === uriTemplate)) return [];
        const shown = uriTemplate.slice(0, maxShown);
        throw new AppError(
          "invalid",
          `Cannot complete resource template ${JSON.stringify(shown)}: there is no such template` +
            didYouMean(shown, templates),
        );
      }
      const known = variablesOf(uriTemplate);
      if (!known.includes(variable)) {
        throw new AppError(
          "invalid",
          `Cannot complete ${JSON.stringify(variable.slice(0, 100))}: ${uriTemplate} has ${
            known.join(" and ")
          }`,
        );
      }
      for (const source of sources) {
        const values = await source.complete?.(completion, context);
        if (values !== undefined) return values;
      }
      return [];
    },
  };
}

/** The names between the braces of a template (RFC 6570, section 2). */
function variablesOf(uriTemplate: string): readonly string[] {
  return [...uriTemplate.matchAll(/\{[+#./;?&]?([^{}]*)\}/g)]
    .flatMap(([, list = ""]) => list.split(","))
    .map((name) => name.replace(/\*$|:\d+$/, ""));
}
