import {
  acceptedContent,
  type CallToolResult,
  createRequestStateCodec,
  type GetPromptResult,
  inputRequired,
  type InputRequiredResult,
  inputResponse,
  MissingRequiredClientCapabilityError,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";

/**
 * What the suite asks for and the product has no use for: images and sounds, sampling, roots, state that travels with a
 * call. A server of the SDK's own answers it, behind the product's front.
 */
export function createForeignServer(): Server {
  const server = new Server({ name: "postern", title: "Postern", version: "1" }, {
    capabilities: { tools: {}, prompts: {}, resources: {} },
    requestState: { verify: (state, context) => codec.verify(state, context) },
  });
  server.setRequestHandler("tools/call", ({ params }, context) => {
    const answer = tools[params.name];
    if (answer === undefined) throw new Error(`no such tool: ${params.name}`);
    return answer(context);
  });
  server.setRequestHandler("prompts/get", ({ params }, context) => {
    const answer = prompts[params.name];
    if (answer === undefined) throw new Error(`no such prompt: ${params.name}`);
    return answer(params.arguments ?? {}, context);
  });
  server.setRequestHandler("resources/read", ({ params: { uri } }) => ({
    contents: [{ uri, mimeType: "image/png", blob: png }],
    ttlMs: 0,
    cacheScope: "private",
  }));
  return server;
}

/** Whether a request is for that server. */
export function isForeign(name: string): boolean {
  return Object.hasOwn(tools, name) || Object.hasOwn(prompts, name) || name === "test://static-binary";
}

const codec = createRequestStateCodec<{ readonly step: number }>({ key: "k".repeat(32) });
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
const image = { type: "image", data: png, mimeType: "image/png" } as const;

const text = (text: string) => ({ content: [{ type: "text" as const, text }] });
const resource = (uri: string, mimeType: string, text: string) => ({
  type: "resource" as const,
  resource: { uri, mimeType, text },
});
const ask = (message: string, name: string) =>
  inputRequired.elicit({ message, requestedSchema: z.object({ [name]: z.string() }) });
const confirm = inputRequired.elicit({
  message: "Please confirm",
  requestedSchema: z.object({ ok: z.boolean() }),
});
const sample = (question: string, maxTokens: number) =>
  inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text: question } }],
    maxTokens,
  });

type Answer = CallToolResult | InputRequiredResult;

const tools: Readonly<Record<string, (context: ServerContext) => Promise<Answer> | Answer>> = {
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [{ type: "audio", data: wav, mimeType: "audio/wav" }] }),
  test_embedded_resource: () => ({
    content: [resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
  }),
  test_multiple_content_types: () => ({
    content: [
      { type: "text", text: "Multiple content types test:" },
      image,
      resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
  }),
  test_missing_capability: () => {
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
  },
  test_input_required_result_sampling: ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, "capital_question");
    return answer.kind === "missing"
      ? inputRequired({ inputRequests: { capital_question: sample("What is the capital of France?", 100) } })
      : text(JSON.stringify(answer));
  },
  test_input_required_result_list_roots: ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, "client_roots");
    return answer.kind === "missing"
      ? inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })
      : text(JSON.stringify(answer));
  },
  test_input_required_result_request_state: confirmWithState,
  test_input_required_result_tampered_state: confirmWithState,
  test_input_required_result_multiple_inputs: async (context) => {
    const { inputResponses } = context.mcpReq;
    const keys = ["user_name", "greeting", "client_roots"];
    if (keys.every((key) => inputResponse(inputResponses, key).kind !== "missing")) return text("Welcome");
    return inputRequired({
      inputRequests: {
        user_name: ask("What is your name?", "name"),
        greeting: sample("Generate a greeting", 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await codec.mint({ step: 1 }, context),
    });
  },
  test_input_required_result_multi_round: async (context) => {
    const { inputResponses } = context.mcpReq;
    const { step } = context.mcpReq.requestState<{ step: number }>() ?? { step: 0 };
    if (step === 2 && acceptedContent(inputResponses, "step2") !== undefined) {
      return text("All steps are done");
    }
    if (step === 1 && acceptedContent(inputResponses, "step1") !== undefined) {
      return inputRequired({
        inputRequests: { step2: ask("Step 2: What is your favorite color?", "color") },
        requestState: await codec.mint({ step: 2 }, context),
      });
    }
    return inputRequired({
      inputRequests: { step1: ask("Step 1: What is your name?", "name") },
      requestState: await codec.mint({ step: 1 }, context),
    });
  },
  test_input_required_result_capabilities: () =>
    inputRequired({ inputRequests: { greeting: sample("Generate a greeting", 50) } }),
};

async function confirmWithState(context: ServerContext): Promise<Answer> {
  const { requestState, inputResponses } = context.mcpReq;
  if (requestState() !== undefined && acceptedContent(inputResponses, "confirm") !== undefined) {
    return text("state-ok");
  }
  return inputRequired({
    inputRequests: { confirm },
    requestState: await codec.mint({ step: 1 }, context),
  });
}

type Message = GetPromptResult["messages"][number];
const user = (content: Message["content"]): Message => ({ role: "user", content });

type PromptAnswer = GetPromptResult | InputRequiredResult;

const prompts: Readonly<
  Record<string, (args: Readonly<Record<string, string>>, context: ServerContext) => PromptAnswer>
> = {
  test_prompt_with_embedded_resource: ({ resourceUri = "" }) => ({
    messages: [
      user(resource(resourceUri, "text/plain", "Embedded resource content for testing.")),
      user({ type: "text", text: "Please process the embedded resource above." }),
    ],
  }),
  test_prompt_with_image: () => ({
    messages: [user(image), user({ type: "text", text: "Please analyze the image above." })],
  }),
  test_input_required_result_prompt: (_args, { mcpReq }) => {
    const answer = acceptedContent<{ context: string }>(mcpReq.inputResponses, "user_context");
    return answer === undefined
      ? inputRequired({
        inputRequests: { user_context: ask("What context should the prompt use?", "context") },
      })
      : { messages: [user({ type: "text", text: `Context: ${answer.context}` })] };
  },
};
