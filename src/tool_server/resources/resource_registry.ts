import { AppError } from "../../core/app_error.ts";
import type { ResourceSource } from "./resource.ts";

/** Resources that the server offers, whatever the transport. */
export type ResourceRegistry = ReturnType<typeof createResourceRegistry>;

/** @param sources asked in their order; looked at in each call */
export function createResourceRegistry(sources: readonly ResourceSource[] = []) {
  return {
    list: (principal: Parameters<ResourceSource["list"]>[0]) =>
      sources.flatMap((source) => source.list(principal)),
    templates: (principal: Parameters<ResourceSource["templates"]>[0]) =>
      sources.flatMap((source) => source.templates(principal)),

    /** @throws {AppError} `not_found`, the same for what does not exist and what the caller may not know of */
    async read(uri: string, context: Parameters<ResourceSource["read"]>[1]) {
      for (const source of sources) {
        const contents = await source.read(uri, context);
        if (contents === undefined) continue;
        return { contents, freshness: source.freshness?.(uri) };
      }
      throw new AppError(
        "not_found",
        `Cannot read resource ${JSON.stringify(uri.slice(0, 200))}: there is no such resource`,
        { data: { uri: uri.slice(0, 200) } },
      );
    },

    /** Of each source that knows the template, the first one's; an unknown template has no values. */
    async complete(...[completion, context]: Parameters<NonNullable<ResourceSource["complete"]>>) {
      for (const source of sources) {
        const values = await source.complete?.(completion, context);
        if (values !== undefined) return values;
      }
      return [];
    },
  };
}
