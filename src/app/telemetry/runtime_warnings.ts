import process from "node:process";
import { format } from "node:util";
import type { Logger } from "../../core/logger.ts";

/**
 * Has the log take what the runtime and libraries would write to standard error or output by themselves: warnings of the
 * process, and what goes to the console. Lines of another form would not be those of the log, and over stdio those of no
 * message. Nobody who runs the server can do anything about a deprecation: those are for level `debug`.
 */
export function logRuntimeWarnings(logger: Logger): void {
  // the runtime's own listener writes them
  process.removeAllListeners("warning");
  process.on("warning", (warning: Error & { readonly code?: string }) => {
    const { name, code, message } = warning;
    logger[name.endsWith("DeprecationWarning") ? "debug" : "warn"]("The runtime warns", {
      warning: name,
      code,
      text: message,
    });
  });
  const tell = (level: "debug" | "info" | "warn") => (...values: readonly unknown[]) =>
    logger[level]("A library says", { text: format(...values) });
  Object.assign(console, {
    debug: tell("debug"),
    log: tell("info"),
    info: tell("info"),
    warn: tell("warn"),
    error: tell("warn"),
  });
}
