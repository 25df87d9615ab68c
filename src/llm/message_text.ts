import { z } from "zod";

const part = z.object({ type: z.string().nullish(), text: z.string().nullish() });

/** What a model says in OpenAI's interface; in parts where the server shows the model's thoughts too, as Mistral's does. */
export const wireMessage = z.object({
  content: z.union([z.string(), z.array(part)]).nullish(),
  refusal: z.string().nullish(),
});

/** The text of it: no thoughts, and a refusal in words only where nothing else is said. */
export function textOf(message: z.infer<typeof wireMessage> | null | undefined): string {
  const { content, refusal } = message ?? {};
  const text = typeof content === "string"
    ? content
    : content?.map(({ type, text }) => type === "text" ? text ?? "" : "").join("");
  return text || refusal || "";
}
