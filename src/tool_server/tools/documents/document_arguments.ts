import { z } from "zod";
import { queryLimits } from "../../../rag_server/query_limits.ts";

const error = `expected a text of 1 to ${queryLimits.queryCharacters} characters, not blank and without NUL`;

/** A question, or what is searched for, in words. */
export const questionArgument = z.string({ error }).min(1, { error }).max(queryLimits.queryCharacters, {
  error,
})
  .refine((text) => text.trim() !== "" && !text.includes("\0"), { error });
