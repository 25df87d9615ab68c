import { sha256 } from "../src/core/text/sha256.ts";

/** The token of a number that `tokenFileText` has an entry for. */
export function tokenOf(index: number): string {
  return `pst_${String(index).padStart(43, "0")}`;
}

/** A token file of so many entries, as Postern writes it or in YAML that only a full parser reads. */
export function tokenFileText(count: number, layout: "plain" | "flow"): string {
  const entries = Array.from({ length: count }, (_, index) => {
    const fields = {
      hash: sha256(tokenOf(index)),
      annotation: `Token ${index}`,
      created_at: "2026-01-15T08:30:00Z",
      expires_at: "null",
    };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
    const id = `token-${1_700_000_000 + index}`;
    return layout === "plain"
      ? `  ${id}:\n    ${lines.join("\n    ")}\n`
      : `  ${id}: { ${lines.join(", ")} }\n`;
  });
  return `tokens:\n${entries.join("")}`;
}
