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

    /**
     * Of each source that knows the template, the first one's. An address in place of a template has no variables, and so
     * no values.
     * @throws {AppError} `invalid` for a template that there is not for the caller, and for a variable that it has not
     */
    async complete(...[completion, context]: Parameters<NonNullable<ResourceSource["complete"]>>) {
      const { uriTemplate, variable } = completion;
      const templates = sources.flatMap((source) => source.templates(context.principal));
      if (!templates.some((template) => template.uriTemplate === uriTemplate)) {
        const listed = sources.flatMap((source) => source.list(context.principal));
        if (listed.some(({ uri }) => uri === uriTemplate)) return [];
        const shown = JSON.stringify(uriTemplate.slice(0, 200));
        throw new AppError(
          "invalid",
          `Cannot complete resource template ${shown}: there is no such template`,
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
