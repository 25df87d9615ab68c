/** Rows as the lines `| a | b |`, with a row of dashes below the header where there is one. */
export function tableText(
  header: readonly string[] | undefined,
  rows: readonly (readonly string[])[],
): string {
  const lines = rows.map(rowText);
  if (header === undefined) return lines.join("\n");
  return [rowText(header), rowText(header.map(() => "---")), ...lines].join("\n");
}

function rowText(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replace(/\s+/g, " ").trim().replaceAll("|", "\\|")).join(" | ")} |`;
}
