import { deflateSync } from "node:zlib";

/** A line at a place from the page's lower left corner, in points. */
export interface ExampleLine {
  readonly text: string;
  readonly x?: number;
  readonly y: number;
  readonly size?: number;
  readonly isBold?: boolean;
}

interface ExampleOptions {
  readonly title?: string;
  readonly isCompressed?: boolean;
  /** Whether it needs a password. */
  readonly isLocked?: boolean;
  /** Whether what is not bold is in a Chinese font that is not in the file. */
  readonly isChinese?: boolean;
}

const helvetica = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";
const songLight =
  "<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H /DescendantFonts " +
  "[<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light " +
  "/CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> " +
  "/FontDescriptor << /Type /FontDescriptor /FontName /STSong-Light /Flags 6 >> >>] >>";

/** A PDF 1.4 of pages with lines in Helvetica, written by hand. */
export function examplePdf(
  pages: readonly (readonly ExampleLine[])[],
  options: ExampleOptions = {},
): Uint8Array<ArrayBuffer> {
  const { title, isCompressed = false, isLocked = false, isChinese = false } = options;
  const kids = pages.map((_, at) => `${6 + at * 2} 0 R`).join(" ");
  const objects: string[] = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    isChinese ? songLight : helvetica,
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
  return latin1(fileOf(objects, isLocked));
}

function fileOf(objects: readonly string[], isLocked: boolean): string {
  let file = "%PDF-1.4\n";
  const places = objects.map((object, at) => {
    const place = file.length;
    file += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return place;
  });
  const rows = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("");
  const size = objects.length + 1;
  const [owner, user] = ["o".repeat(32), "u".repeat(32)];
  const lock = ` /ID [(id) (id)] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O (${owner}) /U (${user}) >>`;
  return `${file}xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n` +
    `<< /Size ${size} /Root 1 0 R /Info 4 0 R${isLocked ? lock : ""} >>\nstartxref\n${file.length}\n%%EOF\n`;
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
