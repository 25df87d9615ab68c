import { z } from "@hono/zod-openapi";
import { boundedList, faultText, filledText, flag, optional, parseBody } from "../query.ts";
import { queryLimits } from "../query_limits.ts";
import { chatErrorReply, createChatWire } from "./chat_replies.ts";
import type { QuestionFace } from "./query_endpoint.ts";

const part = z.object({
  type: z.literal("text", { error: "expected text: images, sound and files are not read" }),
  text: z.string({ error: "expected a text" }),
}, { error: "expected an object with type and text" });

const message = z.object({
  role: z.enum(["system", "developer", "user", "assistant"], {
    error: "expected system, developer, user or assistant: no tool is called",
  }),
  content: z.preprocess(
    (given) => typeof given === "string" ? [{ type: "text", text: given }] : given ?? [],
    z.array(part, { error: "expected a text, or a list of parts" }),
  ).transform((parts) => parts.map(({ text }) => text).join("\n")).openapi({
    type: "string",
    description: "Or null, or a list of parts: {type: text, text: …}",
  }),
}, { error: "expected an object with role and content" });

const oneAnswer = { error: "expected 1: there is one answer" };

/** The body of a chat completion. Fields that are not listed are ignored. */
export const chatRequest = z.object({
  model: z.string({ error: "expected the name of a pipeline" }).openapi({ example: "handbook" }),
  messages: boundedList(message, 1, 10_000).refine(
    (list) => list.some(({ role }) => role === "user"),
    { error: "expected one of the role user, the question" },
  ).openapi({
    description:
      `The last one of the user's is the question; the ${queryLimits.messages} before it are the conversation. ` +
      "Those of the roles system and developer are ignored",
  }),
  stream: flag("Answer in parts, as server-sent events"),
  stream_options: optional(z.object({ include_usage: flag("End a stream with what was used") })),
  // what would be answered in another form than it was asked for
  n: optional(z.int(oneAnswer).min(1, oneAnswer).max(1, oneAnswer)),
  tool_choice: optional(z.enum(["auto", "none"], { error: "expected auto or none: no tool is called" })),
  response_format: optional(
    z.object({ type: z.literal("text", { error: "expected text: answers have no other form" }) }),
  ),
}, { error: "expected a JSON object" }).openapi("ChatCompletionRequest");

const question = filledText(queryLimits.queryCharacters);

/** OpenAI's interface: a chat completion is a question to the pipeline that its model names. */
export const chatFace: QuestionFace = {
  read(text, requestId) {
    const parsed = parseBody(text);
    if (parsed.kind === "fault") return parsed;
    const { data, error } = chatRequest.safeParse(parsed.body);
    if (data === undefined) return { kind: "fault", message: faultText(error.issues) };
    const { model, messages: said, stream = false, stream_options } = data;
    const at = said.findLastIndex(({ role }) => role === "user");
    const asked = question.safeParse(said[at]?.content);
    if (!asked.success) {
      return { kind: "fault", message: `messages[${at}].content: ${asked.error.issues[0]?.message}` };
    }
    const messages = said.slice(0, at).flatMap(({ role, content }) =>
      role === "user" || role === "assistant" ? [{ role, content }] : []
    ).slice(-queryLimits.messages);
    const created = Math.floor(Date.now() / 1000);
    const includeUsage = stream_options?.include_usage ?? false;
    return {
      kind: "query",
      model,
      query: { query: asked.data, messages, disableHybrid: false },
      stream,
      includeSources: true,
      wire: createChatWire({ id: `chatcmpl-${requestId}`, model, created, includeUsage }),
    };
  },
  error: chatErrorReply,
};
