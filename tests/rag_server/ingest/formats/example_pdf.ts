import { deflateSync } from "node:zlib";

/** A line at a place from the page's lower left corner, in points. */
export interface ExampleLine {
  readonly text: string;
  readonly x?: number;
  readonly y: number;
  readonly size?: number;
  readonly isBold?: boolean;
}

/** A PDF 1.4 of pages with lines in Helvetica, written by hand. */
export function examplePdf(
  pages: readonly (readonly ExampleLine[])[],
  options: { readonly title?: string; readonly isCompressed?: boolean } = {},
): Uint8Array<ArrayBuffer> {
  const { title, isCompressed = false } = options;
  const kids = pages.map((_, at) => `${6 + at * 2} 0 R`).join(" ");
  const objects: string[] = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    title === undefined ? "<< >>" : `<< /Title (${escaped(title)}) >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
  ];
  pages.forEach((lines, at) => {
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${7 + at * 2} 0 R ` +
        "/Resources << /Font << /F1 3 0 R /F2 5 0 R >> >> >>",
      stream(lines.map(lineOperators).join("\n"), isCompressed),
    );
  });
  return latin1(fileOf(objects));
}

function fileOf(objects: readonly string[]): string {
  let file = "%PDF-1.4\n";
  const places = objects.map((object, at) => {
    const place = file.length;
    file += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return place;
  });
  const rows = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("");
  const size = objects.length + 1;
  return `${file}xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n` +
    `<< /Size ${size} /Root 1 0 R /Info 4 0 R >>\nstartxref\n${file.length}\n%%EOF\n`;
}

function stream(content: string, isCompressed: boolean): string {
  const bytes = isCompressed ? deflateSync(latin1(content)) : latin1(content);
  const filter = isCompressed ? " /Filter /FlateDecode" : "";
  return `<< /Length ${bytes.length}${filter} >>\nstream\n${String.fromCharCode(...bytes)}\nendstream`;
}

function lineOperators({ text, x = 72, y, size = 11, isBold = false }: ExampleLine): string {
  return `BT /${isBold ? "F2" : "F1"} ${size} Tf 1 0 0 1 ${x} ${y} Tm (${escaped(text)}) Tj ET`;
}

function escaped(text: string): string {
  return text.replace(/[()\\]/g, "\\$&");
}

function latin1(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}
