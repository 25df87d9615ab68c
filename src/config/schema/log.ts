import { logFormats, logLevels } from "../../core/logger.ts";
import { choice, section } from "../field_types.ts";

/** What goes to standard error. */
export const log = section({
  level: choice(...logLevels).prefault("info").describe("Least level that is logged"),
  format: choice(...logFormats).prefault("text").describe("One line for people, or one JSON object a line"),
});
