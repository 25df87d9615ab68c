import type { Changes } from "../../../src/tool_server/changes.ts";

/** Tells of a resource as those do who watch it: those who asked for it. */
export function tellOfResource(changes: Changes, uri: string): void {
  for (const { uris, tell } of changes.subscribers()) {
    if (uris.includes(uri)) tell({ kind: "resource", uri });
  }
}
