import { defined } from "../../core/defined.ts";
import { AppError } from "../../core/app_error.ts";
import type { Principal } from "../../core/principal.ts";
import { type AccessObject, accessTo } from "../../identity/access_rules.ts";
import type { CallContext } from "../call_context.ts";
import type {
  Freshness,
  ResourceDescription,
  ResourceSource,
  ResourceTemplateDescription,
} from "./resource_registry.ts";
import { parseAddress, type ResourceAddress } from "./resource_address.ts";

/** A kind of built-in resources. */
interface BuiltinResource<Kind extends ResourceAddress["kind"]> {
  readonly kind: Kind;
  readonly description: ResourceDescription | ResourceTemplateDescription;
  /** Scopes that reading it needs: those of the tool that tells the same. */
  readonly scopes?: readonly string[] | undefined;
  readonly freshness: Freshness;
  /**
   * The JSON of what stands there; undefined where nothing does that the caller may know of.
   * @throws {AppError} as a tool does that reads the same
   */
  read(
    address: Extract<ResourceAddress, { readonly kind: Kind }>,
    context: CallContext,
  ): Promise<string | undefined>;
  /** Whether the caller has any. Optional: without it, everybody has. */
  isListedFor?(principal: Principal): boolean;
  readonly complete?: (
    variable: string,
    value: string,
    given: Readonly<Record<string, string>>,
    context: CallContext,
  ) => Promise<readonly string[]>;
}

const mimeType = "application/json";

/** Its source, under the name that `builtins.resources` switches it off with. */
export function defineResource<Kind extends ResourceAddress["kind"]>(
  resource: BuiltinResource<Kind>,
): ResourceSource & { readonly name: Kind } {
  const { kind, scopes } = resource;
  const description = { ...resource.description, mimeType };
  const object: AccessObject = { kind: "resource", name: kind, ...defined({ scopes }) };
  const shown = (principal: Principal) =>
    accessTo(principal, object).kind !== "hidden" && (resource.isListedFor?.(principal) ?? true);
  return {
    name: kind,
    list: (principal) => "uri" in description && shown(principal) ? [description] : [],
    templates: (principal) => "uriTemplate" in description && shown(principal) ? [description] : [],
    async read(uri, context) {
      const address = parseAddress(uri);
      if (address === undefined || !isOf(address, kind)) return undefined;
      if (!mayRead(context.principal, object, uri)) return undefined;
      const text = await resource.read(address, context);
      return text === undefined ? undefined : [{ uri, mimeType, text }];
    },
    async complete({ uriTemplate, variable, value, given }, context) {
      if (!("uriTemplate" in description) || description.uriTemplate !== uriTemplate) return undefined;
      if (accessTo(context.principal, object).kind !== "granted") return [];
      return await resource.complete?.(variable, value, given, context);
    },
    freshness: () => resource.freshness,
  };
}

/** Whether there is a resource for a caller. @throws {AppError} `forbidden`, with `scopes`, where its token lacks one */
export function mayRead(principal: Principal, object: AccessObject, uri: string): boolean {
  const access = accessTo(principal, object);
  if (access.kind !== "insufficient_scope") return access.kind === "granted";
  const { scopes, missing } = access;
  const what = JSON.stringify(uri.slice(0, 200));
  throw new AppError("forbidden", `Cannot read resource ${what}: ${missing}`, { data: { scopes } });
}

function isOf<Kind extends ResourceAddress["kind"]>(
  address: ResourceAddress,
  kind: Kind,
): address is Extract<ResourceAddress, { readonly kind: Kind }> {
  return address.kind === kind;
}
