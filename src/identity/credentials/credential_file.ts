import { type Document, LineCounter, type Node, parseDocument } from "yaml";
import { AppError } from "../../core/app_error.ts";
import { readRegularBytes } from "../../core/files/read_regular_file.ts";
import { withFileLock } from "../../core/files/file_lock.ts";
import { replaceFile, resolveFile } from "../../core/files/replace_file.ts";

/** A credential file's YAML, with the comments and the order that an edit keeps. */
export interface CredentialDocument {
  readonly path: string;
  readonly yaml: Document<Node, false>;
  /** The line, from 1, at an offset in the file's text. */
  lineAt(offset: number): number;
}

/** A credential file's text, and where it is from. */
export interface CredentialText {
  readonly path: string;
  readonly text: string;
}

/**
 * Reads a credential file's text; undefined where there is no file.
 *
 * @throws AppError `invalid` for what is no file of UTF-8 text, `unavailable` for a file that cannot be read
 */
export async function readCredentialText(path: string): Promise<CredentialText | undefined> {
  const text = await readText(path);
  return text === undefined ? undefined : { path, text };
}

/**
 * Reads a credential file under its lock, lets `edit` change the document, and puts the result in the file's place. `edit`
 * gets the text too; undefined where there is no file.
 * Nothing is written where `edit` throws or changes nothing. A file that does not exist is made; its folder must be there.
 *
 * @throws AppError as rewriteCredentialFile, and whatever `edit` throws
 */
export async function editCredentialFile<T>(
  path: string,
  edit: (file: CredentialDocument, found: CredentialText | undefined) => T | Promise<T>,
): Promise<T> {
  return await rewriteCredentialFile(path, async ({ text: found }) => {
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

/**
 * Reads a credential file's text under its lock, lets `rewrite` make another of it, and puts that in the file's place.
 * Writers in several processes come one after the other, each on what the one before left. Nothing is written where
 * `rewrite` throws or returns no text. The text is undefined for a file that does not exist.
 *
 * @throws AppError as readCredentialText, `not_found` for a missing folder, and whatever `rewrite` throws
 */
export async function rewriteCredentialFile<T>(
  path: string,
  rewrite: (file: { path: string; text: string | undefined }) => Promise<{ text?: string; result: T }>,
): Promise<T> {
  const target = await resolveFile(path);
  return await withFileLock(target, async () => {
    const before = await readText(target);
    const { text, result } = await rewrite({ path, text: before });
    if (text !== undefined && text !== before) await replaceFile(target, text);
    return result;
  });
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readRegularBytes(path));
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

/** @throws AppError `invalid`, with the line, for what is not YAML */
export function parseCredentialText({ path, text }: CredentialText): CredentialDocument {
  const lines = new LineCounter();
  const lineAt = (offset: number) => lines.linePos(offset).line;
  // The library's own errors quote the file's text, which is secret. Its search for duplicate keys takes quadratic time;
  // readEntries() looks for them itself.
  const options = { lineCounter: lines, prettyErrors: false, uniqueKeys: false } as const;
  let yaml: Document<Node, false>;
  try {
    yaml = parseDocument<Node, false>(text, options);
  } catch (cause) {
    throw new AppError("invalid", `Cannot read ${path}: it is nested too deeply`, { cause });
  }
  // of its key alone the entry is faulty, and that is reported without losing the other entries
  const error = yaml.errors.find(({ code }) => code !== "KEY_OVER_1024_CHARS");
  if (error !== undefined) {
    const reason = error.code === "MULTIPLE_DOCS" ? "a second document starts after it" : error.message;
    throw new AppError("invalid", `Cannot read ${path}, line ${lineAt(error.pos[0])}: ${reason}`);
  }
  return { path, yaml, lineAt };
}

/**
 * A document as text, with the spacing of the text that it was parsed from.
 *
 * @throws AppError `invalid` where an alias would lose what it stands for
 */
export function renderCredentialText(file: CredentialDocument, text: string): string {
  try {
    return file.yaml.toString({ lineWidth: 0, ...spacingOf(text) });
  } catch (cause) {
    throw new AppError("invalid", `Cannot write ${file.path}: an alias would lose what it stands for`, {
      cause,
    });
  }
}

// the spacing that a file has already, so that an edit changes no line but its own
function spacingOf(text: string) {
  const indent = /^( +)[^\s#-]/m.exec(text)?.[1]?.length ?? 2;
  return {
    indent: Math.min(indent, 8),
    indentSeq: !/^- /m.test(text),
    flowCollectionPadding: !/: \{[^\s}]/.test(text),
  };
}
