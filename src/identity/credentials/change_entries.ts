import { stringify } from "yaml";
import { AppError } from "../../core/app_error.ts";
import { changeEntry, type EntryChange, type FieldValue } from "./credential_entries.ts";
import { type CredentialText, parseCredentialText, renderCredentialText } from "./credential_file.ts";
import { changeInWorker } from "./credential_worker_calls.ts";
import { isLong } from "./load_entries.ts";
import { type PlainEntry, readPlainField, readPlainLayout } from "./plain_layout.ts";

/**
 * A file's text with fields of its entries set, without holding up other tasks. Comments, order and, in the plain
 * layout, every other character stay. Each id may be there once.
 *
 * @throws AppError as readEntries, and `not_found` for an id that no entry with fields has
 */
export async function changeEntries(
  file: CredentialText,
  section: string,
  changes: readonly EntryChange[],
): Promise<string> {
  const entries = await readPlainLayout(file.text, section);
  if (entries !== undefined) return changePlainText(file, entries, changes);
  return isLong(file) ? await changeInWorker(file, section, changes) : changeDocument(file, section, changes);
}

/** As changeEntries(), by the YAML parser and here. */
export function changeDocument(
  file: CredentialText,
  section: string,
  changes: readonly EntryChange[],
): string {
  const document = parseCredentialText(file);
  for (const change of changes) changeEntry(document, section, change);
  const text = renderCredentialText(document, file.text);
  parseCredentialText({ ...file, text });
  return text;
}

function changePlainText(
  file: CredentialText,
  entries: readonly PlainEntry[],
  changes: readonly EntryChange[],
): string {
  const byId = new Map(entries.toReversed().map((entry) => [entry.id, entry]));
  const places = changes.map((change) => {
    const entry = byId.get(change.id);
    if (entry !== undefined) return { entry, change };
    throw new AppError(
      "not_found",
      `Cannot change ${JSON.stringify(change.id)} in ${file.path}: it is not there`,
    );
  });
  const pieces: string[] = [];
  let copied = 0;
  for (const { entry, change } of places.toSorted((a, b) => a.entry.start - b.entry.start)) {
    pieces.push(file.text.slice(copied, entry.start), changePlainEntry(file.text, entry, change));
    copied = entry.end;
  }
  return pieces.join("") + file.text.slice(copied);
}

function changePlainEntry(text: string, { start, end, indent }: PlainEntry, { fields }: EntryChange): string {
  const missing = new Map(Object.entries(fields).filter(([, value]) => value !== undefined));
  const [keyLine = "", ...fieldLines] = text.slice(start, end).split("\n");
  const lines = fieldLines.flatMap((line) => {
    const field = readPlainField(line);
    if (field === undefined || !Object.hasOwn(fields, field.key)) return [line];
    missing.delete(field.key);
    const value = fields[field.key];
    return value === undefined ? [] : [replaceValue(line, field, value)];
  });
  const added = [...missing].map(([name, value]) =>
    `${" ".repeat(indent)}${name}: ${scalarText(value ?? null)}`
  );
  return [keyLine, ...lines, ...added].join("\n");
}

function replaceValue(
  line: string,
  field: { valueStart: number; valueEnd: number },
  value: FieldValue,
): string {
  const before = line.slice(0, field.valueStart);
  const after = line.slice(field.valueEnd);
  // a value that was not there has no space before it
  return `${before}${before.endsWith(":") ? " " : ""}${scalarText(value)}${
    after.startsWith("#") ? " " : ""
  }${after}`;
}

function scalarText(value: FieldValue): string {
  const text = stringify(value, { lineWidth: 0 }).trimEnd();
  return text.includes("\n") ? JSON.stringify(value) : text;
}
