import { type CredentialEntry, markRepeatedIds, readEntries } from "./credential_entries.ts";
import { type CredentialText, parseCredentialText } from "./credential_file.ts";
import { readInWorker } from "./credential_worker_calls.ts";
import { readPlainLayout } from "./plain_layout.ts";

/**
 * The entries under a file's one top key, as readEntries() gives them, without holding up other tasks: by lines where the
 * layout is plain, else by the YAML parser, which does a long text in a worker.
 *
 * @throws AppError as readEntries
 */
export async function loadEntries(
  file: CredentialText,
  section: string,
): Promise<readonly CredentialEntry[]> {
  const plain = await readPlainLayout(file.text, section);
  if (plain !== undefined) return markRepeatedIds(plain);
  if (isLong(file)) return await readInWorker(file, section);
  return readEntries(parseCredentialText(file), section);
}

/** Whether the YAML parser would hold up other tasks with a text for more than some twenty milliseconds. */
export function isLong({ text }: CredentialText): boolean {
  return text.length > 32_768;
}
