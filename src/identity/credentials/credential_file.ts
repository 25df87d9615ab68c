import { AppError } from "../../core/app_error.ts";
import { withFileLock } from "../../core/files/file_lock.ts";
import { readRegularBytes } from "../../core/files/read_regular_file.ts";
import { replaceFile, resolveFile } from "../../core/files/replace_file.ts";
import {
  type CredentialDocument,
  type CredentialText,
  parseCredentialText,
  renderCredentialText,
} from "./yaml_entries.ts";

/**
 * Reads a credential file's text; undefined where there is no file.
 *
 * @throws AppError `invalid` for what is no file of UTF-8 text, `unavailable` for a file that cannot be read
 */
export async function readCredentialText(path: string): Promise<CredentialText | undefined> {
  try {
    const bytes = await readRegularBytes(path);
    return { path, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (error instanceof Deno.errors.NotFound) return undefined;
    if (error instanceof TypeError) {
      throw new AppError("invalid", `Cannot read ${path}: it is not UTF-8 text`);
    }
    const reason = error instanceof Deno.errors.PermissionDenied
      ? "permission denied"
      : "the file system refused";
    throw new AppError("unavailable", `Cannot read ${path}: ${reason}`, { cause: error });
  }
}

/**
 * Reads a credential file's text under its lock, lets `rewrite` make another of it, and puts that in the file's place.
 * Writers in several processes come one after the other, each on what the one before left. Nothing is written where
 * `rewrite` throws or returns no text. The text is undefined for a file that does not exist.
 *
 * @throws AppError as readCredentialText, `not_found` for a missing folder, and whatever `rewrite` throws
 */
export async function rewriteCredentialFile<T>(
  path: string,
  rewrite: (text: string | undefined) => Promise<{ text?: string; result: T }>,
): Promise<T> {
  const target = await resolveFile(path);
  return await withFileLock(target, async () => {
    const before = (await readCredentialText(target))?.text;
    const { text, result } = await rewrite(before);
    if (text !== undefined && text !== before) await replaceFile(target, text);
    return result;
  });
}

/**
 * Reads a credential file under its lock, lets `edit` change the document, and puts the result in the file's place. `edit`
 * gets the text too; undefined where there is no file. Nothing is written where `edit` throws or changes nothing. A file
 * that does not exist is made; its folder must be there.
 *
 * @throws AppError as rewriteCredentialFile, and whatever `edit` throws
 */
export async function editCredentialFile<T>(
  path: string,
  edit: (file: CredentialDocument, found: CredentialText | undefined) => T | Promise<T>,
): Promise<T> {
  return await rewriteCredentialFile(path, async (found) => {
    const text = found ?? "";
    const file = parseCredentialText({ path, text });
    // compared with this and not with the text: other spacing alone is no reason to write
    const unedited = renderCredentialText(file, text);
    const result = await edit(file, found === undefined ? undefined : { path, text });
    const edited = renderCredentialText(file, text);
    if (edited === unedited) return { result };
    parseCredentialText({ path, text: edited });
    return { text: edited, result };
  });
}
