import { strToU8, zipSync } from "fflate";

/** A ZIP archive of files by their paths. */
export function exampleZip(files: Readonly<Record<string, string | Uint8Array>>): Uint8Array {
  return zipSync(
    Object.fromEntries(
      Object.entries(files).map(([path, content]) =>
        [path, typeof content === "string" ? strToU8(content) : content] as const
      ),
    ),
  );
}

/** Relationships between parts, as `id: [type, target]`. */
export function relationships(targets: Readonly<Record<string, readonly [string, string, string?]>>): string {
  const all = Object.entries(targets).map(([id, [type, target, mode]]) =>
    `<Relationship Id="${id}" Type="http://schemas.example.com/relationships/${type}" Target="${target}"` +
    `${mode === undefined ? "" : ` TargetMode="${mode}"`}/>`
  );
  return `<?xml version="1.0"?><Relationships xmlns="r">${all.join("")}</Relationships>`;
}

/** A Word document of a body's XML, with further parts such as `styles` by their names. */
export function exampleDocx(body: string, parts: Readonly<Record<string, string>> = {}): Uint8Array {
  const names = Object.keys(parts);
  return exampleZip({
    "_rels/.rels": relationships({ r1: ["officeDocument", "word/document.xml"] }),
    "word/document.xml": `<w:document><w:body>${body}</w:body></w:document>`,
    "word/_rels/document.xml.rels": relationships(
      Object.fromEntries(names.map((name) => [name, [name, `${name}.xml`] as const])),
    ),
    ...Object.fromEntries(names.map((name) => [`word/${name}.xml`, parts[name] ?? ""])),
  });
}
