/**
 * The changelog's lines on a version; without a section of its own, those on what is not released yet.
 *
 * @throws {Error} for a changelog with neither
 */
export function releaseNotes(changelog: string, version: string): { text: string; isReleased: boolean } {
  const section = (name: string) =>
    changelog.split(/^## /m).find((part) => part.startsWith(`[${name}]`))?.replace(/^.*\n/, "").trim();
  const released = section(version);
  const text = released ?? section("Unreleased");
  if (text === undefined) throw new Error(`Cannot find ${version} or Unreleased in CHANGELOG.md`);
  return { text: `${text}\n`, isReleased: released !== undefined };
}
