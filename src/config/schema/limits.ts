import { z } from "zod";
import { integer, section, size } from "./field_types.ts";

/** How much one caller may use, or all of them together. */
const numbers = () =>
  section({
    calls_per_minute: integer(0).optional().describe("Calls of tools and questions to pipelines a minute"),
    statements_per_minute: integer(0).optional().describe(
      "Statements a minute, those that a model writes for a caller among them",
    ),
    calls_at_once: integer(1).optional().describe("Calls at once; more wait, as `admission` allows"),
    rows_per_day: integer(0).optional().describe("Rows of these statements a day (UTC)"),
    bytes_per_day: size().optional().describe("Bytes of these rows a day (UTC), such as 1 GiB"),
    provider_tokens_per_day: integer(0).optional().describe(
      "Tokens of providers a day (UTC), of prompts and answers",
    ),
  });

const byName = (what: string) =>
  z.record(z.string(), numbers(), { error: `expected a mapping of ${what} to limits` }).optional();

/** How much callers may use, over both servers together. */
export const limits = section({
  default: numbers().optional(),
  all: numbers().optional(),
  principals: byName("callers").describe(
    "Limits of single callers, by token id, username, an issuer's subject, or `ISSUER#SUBJECT`; a number here counts before those of groups and of `default`",
  ),
  groups: byName("groups").describe(
    "Limits of each caller in a group, by the group's name; of several groups the largest number counts, before that of `default`",
  ),
});
