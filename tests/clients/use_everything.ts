/** What the clients of every version of the official SDK have in common. */
export interface AnyClient {
  listTools(
    params?: Page,
  ): Promise<
    { tools: { name: string; inputSchema: object }[]; nextCursor?: string | undefined }
  >;
  callTool(
    params: { name: string; arguments: Record<string, unknown> },
  ): Promise<object>;
  listResources(
    params?: Page,
  ): Promise<{ resources: { uri: string }[]; nextCursor?: string | undefined }>;
  readResource(params: { uri: string }): Promise<{ contents: object[] }>;
  listResourceTemplates(
    params?: Page,
  ): Promise<{ resourceTemplates: { uriTemplate: string }[] }>;
  complete(params: {
    ref: { type: "ref/resource"; uri: string };
    argument: { name: string; value: string };
  }): Promise<{ completion: { values: string[] } }>;
  listPrompts(params?: Page): Promise<{ prompts: PromptInList[] }>;
  getPrompt(
    params: { name: string; arguments: Record<string, string> },
  ): Promise<{ messages: object[] }>;
}

interface Page {
  cursor?: string;
}

interface PromptInList {
  name: string;
  arguments?: { name: string; required?: boolean | undefined }[] | undefined;
}

/** What was there, and what a client got of it. */
export interface Everything {
  readonly tools: readonly string[];
  readonly resources: readonly string[];
  readonly templates: readonly string[];
  readonly prompts: readonly string[];
}

/**
 * Lists all that a server offers, and uses each: calls every tool with the arguments that are given for it, reads every
 * resource, completes the first variable of every template, gets every prompt.
 *
 * @throws {Error} where something fails, and for a tool that no arguments are given for
 */
export async function useEverything(
  client: AnyClient,
  toolArguments: Readonly<Record<string, Record<string, unknown>>>,
): Promise<Everything> {
  const { tools } = await client.listTools();
  for (const { name } of tools) {
    const args = toolArguments[name];
    if (args === undefined) {
      throw new Error(`No arguments are given for the tool ${name}`);
    }
    const result = await client.callTool({ name, arguments: args });
    if ("isError" in result && result.isError === true) {
      throw new Error(`The tool ${name} failed: ${JSON.stringify(result)}`);
    }
  }
  const { resources } = await client.listResources();
  for (const { uri } of resources) {
    const { contents } = await client.readResource({ uri });
    if (contents.length === 0) throw new Error(`The resource ${uri} is empty`);
  }
  const { resourceTemplates } = await client.listResourceTemplates();
  for (const { uriTemplate } of resourceTemplates) {
    const [, variable = ""] = /\{(\w+)\}/.exec(uriTemplate) ?? [];
    await client.complete({
      ref: { type: "ref/resource", uri: uriTemplate },
      argument: { name: variable, value: "" },
    });
  }
  const { prompts } = await client.listPrompts();
  for (const { name, arguments: args = [] } of prompts) {
    const required = args.filter(({ required }) => required);
    const given = Object.fromEntries(
      required.map(({ name }) => [name, "orders"]),
    );
    const { messages } = await client.getPrompt({ name, arguments: given });
    if (messages.length === 0) throw new Error(`The prompt ${name} is empty`);
  }
  return {
    tools: tools.map(({ name }) => name),
    resources: resources.map(({ uri }) => uri),
    templates: resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    prompts: prompts.map(({ name }) => name),
  };
}
