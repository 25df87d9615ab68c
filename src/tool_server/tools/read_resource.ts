import { z } from "zod";
import type { Principal } from "../../core/principal.ts";
import { createFence } from "../../text/fence.ts";
import { formatTsv } from "../../text/tsv.ts";
import type { ResourceRegistry } from "../resources/resource_registry.ts";
import { viewMimeType } from "../view/view_resource.ts";
import { defineTool, type Tool } from "./tool.ts";

/** For clients that know tools alone: reads what `resources/read` reads, by the same rights. */
export function readResource(options: { resources: ResourceRegistry }): Tool {
  return defineTool({
    name: "read_resource",
    title: "Read a resource",
    description:
      "Read a resource by its address, such as pg://system_info or the address in another tool's result. " +
      "Without `uri`: list what can be read. For tables, get_schema_info is shorter.",
    input: z.strictObject({
      uri: z.string().min(1).max(5_000).optional().describe("Address of the resource."),
      list: z.boolean().default(false).describe("List the resources, whatever uri says."),
    }),
    output: z.object({
      resources: z.array(z.object({
        uri: z.string().describe("Where it has {names}, replace them, percent-encoded."),
        title: z.string(),
        description: z.string(),
      })).optional(),
      contents: z.array(z.object({ uri: z.string(), mime_type: z.string(), text: z.string() })).optional(),
    }),
    untrusted: ["contents"],
    annotations: { idempotentHint: true },
    async run({ uri, list }, context) {
      if (uri === undefined || list) return listOf(options.resources, context.principal);
      const { contents } = await options.resources.read(uri, context);
      const fence = createFence();
      return {
        text: contents.map(({ text }) => fence.wrap(text)).join("\n\n"),
        data: {
          contents: contents.map(({ uri, mimeType = "text/plain", text }) => ({
            uri,
            mime_type: mimeType,
            text,
          })),
        },
      };
    },
  });
}

function listOf(registry: ResourceRegistry, principal: Principal) {
  const named = (
    { name, title = name, description = "" }: { name: string; title?: string; description?: string },
  ) => ({
    title,
    description,
  });
  const resources = [
    // a view is for hosts: much HTML, and nothing in it
    ...registry.list(principal).filter(({ mimeType }) => mimeType !== viewMimeType)
      .map(({ uri, ...rest }) => ({ uri, ...named(rest) })),
    ...registry.templates(principal).map(({ uriTemplate, ...rest }) => ({
      uri: uriTemplate,
      ...named(rest),
    })),
  ];
  const rows = resources.map(({ uri, title, description }) => [uri, title, description]);
  return {
    text: resources.length === 0
      ? "There is no resource that you may read."
      : `${
        formatTsv(["uri", "title", "description"], rows)
      }\n\nReplace {names} in an address, percent-encoded.`,
    data: { resources },
  };
}
