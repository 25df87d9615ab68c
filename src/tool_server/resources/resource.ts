import type { Principal } from "../../core/principal.ts";
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
