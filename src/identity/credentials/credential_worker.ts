/** The worker that parses long credential files; `entries.ts` is its other side. */
import { AppError } from "../../core/app_error.ts";
import type { CredentialReply, CredentialRequest } from "./entries.ts";
import { changeYamlText, parseCredentialText, readEntries } from "./yaml_entries.ts";

// receiving one message of so many takes about five milliseconds
const entriesAtOnce = 500;

addEventListener("message", (event) => {
  if (!(event instanceof MessageEvent)) return;
  const [port] = event.ports;
  if (port !== undefined) serve(event.data, (reply) => port.postMessage(reply));
}, { once: true });

function serve({ file, section, changes }: CredentialRequest, reply: (reply: CredentialReply) => void): void {
  try {
    if (changes !== undefined) return reply({ kind: "done", text: changeYamlText(file, section, changes) });
    const entries = readEntries(parseCredentialText(file), section);
    for (let from = 0; from < entries.length; from += entriesAtOnce) {
      reply({ kind: "entries", entries: entries.slice(from, from + entriesAtOnce) });
    }
    reply({ kind: "done", text: "" });
  } catch (error) {
    const { code, message } = error instanceof AppError
      ? error
      : new AppError("invalid", `Cannot read ${file.path}: the YAML parser failed`);
    reply({ kind: "failed", code, message });
  }
}
