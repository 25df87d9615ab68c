import assert from "node:assert/strict";

const golden = new URL("golden/", import.meta.url);

/**
 * Fails unless `text` is what `golden/<name>` holds, byte for byte. `UPDATE_SNAPSHOTS=1 deno task test tests/snapshots`
 * writes the files anew; what has changed in them is then read in the diff.
 *
 * Texts for people in descriptions are not in them, see `withoutProse`. Messages are: whoever changes their words renews
 * the files.
 */
export async function assertSnapshot(name: string, text: string): Promise<void> {
  const expected = await expectedText(name, text);
  if (text === expected) return;
  const [actualLines, expectedLines] = [text.split("\n"), expected.split("\n")];
  let at = 0;
  while (actualLines[at] === expectedLines[at]) at++;
  assert.fail(`${name} differs, first in line ${at + 1}:\n- ${expectedLines[at]}\n+ ${actualLines[at]}`);
}

/**
 * The same of lines that come in any order, and some of them once or several times, as those of a log. It names every line
 * that is missing or too many: under which load a line comes is hard to see twice.
 */
export async function assertLinesSnapshot(name: string, text: string): Promise<void> {
  const lines = new Set(text.trim().split("\n"));
  const expected = new Set(
    (await expectedText(name, [...lines].toSorted().join("\n") + "\n")).trim().split("\n"),
  );
  const differences = [
    ...[...expected.difference(lines)].map((line) => `- ${line}`),
    ...[...lines.difference(expected)].map((line) => `+ ${line}`),
  ];
  assert.ok(differences.length === 0, `${name} differs:\n${differences.join("\n")}`);
}

/** What a file holds; the text itself where the file was written anew with it. */
async function expectedText(name: string, text: string): Promise<string> {
  const file = new URL(name, golden);
  if (isUpdating()) {
    await Deno.writeTextFile(file, text);
    return text;
  }
  return await Deno.readTextFile(file);
}

/** Whether files are written anew, rather than compared. */
export function isUpdating(): boolean {
  const isAsked = Deno.env.get("UPDATE_SNAPSHOTS") === "1";
  assert.ok(!isAsked || Deno.env.get("CI") === undefined, "CI compares snapshots, it does not write them");
  return isAsked;
}

/** JSON over several lines, its members in their own order, the texts for people replaced. */
export function withoutProse(json: string): string {
  const text = JSON.stringify(
    JSON.parse(json),
    (key, value) => prose.has(key) && typeof value === "string" ? "…" : value,
    2,
  );
  return `${text}\n`;
}

// the last three are -doctor's
const prose: ReadonlySet<string> = new Set([
  ...["description", "summary", "instructions"],
  ...["note", "finding", "remedy"],
]);

/** Replaces what is another in every run: a pattern by a name. */
export function mask(text: string, masks: Readonly<Record<string, string | RegExp>>): string {
  return Object.entries(masks).reduce((masked, [name, found]) => masked.replaceAll(found, `<${name}>`), text);
}

export const requestIdMask = /\b[0-9a-f]{8}-[0-9a-z]{1,4}\b(?!-)/g;
export const timeMask = /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d(:\d\d)?)/g;
