import type { ConfiguredSource } from "./given_paths.ts";
import type { IngestRecords } from "./ingest_record.ts";
import type { SourcePlan } from "./plan_source.ts";

/**
 * Sentences for somebody who ingests: what became of sources, and which are left over.
 *
 * @param configured the table's sources, if all of the pipeline's are ingested; those too whose folder is missing
 */
export function ingestNotices(
  plans: readonly SourcePlan[],
  { files, sources }: IngestRecords,
  configured: readonly ConfiguredSource[] | undefined,
): string[] {
  const notices: string[] = [];
  for (const { source: { name }, formerName, absorbed, doubled } of plans) {
    if (formerName !== undefined) notices.push(`Source "${formerName}" gets the name "${name}"`);
    for (const inner of absorbed) notices.push(`Source "${inner.name}" becomes a part of source "${name}"`);
    if (doubled.length > 0) {
      notices.push(
        `Files of source "${name}" are in the table twice (${doubled.length}); one copy of each stays`,
      );
    }
  }
  const isLeft = (name: string) =>
    !configured?.some((source) => source.name === name) &&
    !plans.some(({ source, formerName, absorbed }) =>
      [source.name, formerName, ...absorbed.map((inner) => inner.name)].includes(name)
    );
  for (const { name } of configured === undefined ? [] : sources) {
    const count = files.filter(({ source }) => source === name).length;
    if (count > 0 && isLeft(name)) {
      notices.push(
        `Source "${name}" is not in the configuration, and its files (${count}) stay; to remove them, give ` +
          `-source "${name}" and -confirm-removal without a PATH`,
      );
    }
  }
  return notices;
}
