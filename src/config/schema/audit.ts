import { filePath, section } from "../field_types.ts";

/** The audit trail. */
export const audit = section({
  file: filePath().optional()
    .describe(
      "One line per login, refusal, lockout, reload, administrator's operation and tool call; without it, none",
    ),
});
