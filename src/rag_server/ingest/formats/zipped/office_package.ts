import { childOf, childrenOf, firstElement, textOf, type XmlElement } from "./xml.ts";
import { openZip, type ReadEntry } from "./zip_archive.ts";

interface Relationship {
  readonly id: string;
  /** The last part of its type's address: Office's two standards have different ones before it. */
  readonly type: string;
  /** The path of the part in the archive. */
  readonly path: string;
}

/**
 * An Office document's archive, and where its parts are. Parts outside of the archive are not followed.
 *
 * @param root the element that its main part is
 * @throws {Error} where it is none, or of another kind
 */
export function openOffice(bytes: Uint8Array, root: "document" | "presentation" | "workbook") {
  const read = openZip(bytes);
  const roots = relationshipsOf(read, "");
  const main = roots.find(({ type }) => type === "officeDocument")?.path;
  if (main === undefined) throw new Error("it is no document of Office");
  const head = new TextDecoder().decode(read(main)?.subarray(0, 4096));
  if (!new RegExp(`<(?:[\\w-]+:)?${root}[\\s>]`).test(head)) throw new Error(`it is no ${root} of Office`);
  const parts = relationshipsOf(read, main);
  const properties = roots.find(({ type }) => type === "core-properties");
  const title = textOf(firstElement(read(properties?.path ?? ""), "title")).trim();
  return {
    read,
    /** The part that all others are found from. */
    main: read(main),
    /** Those that belong to it. */
    parts,
    /** The content of the first part of a type. */
    part: (type: string) => read(parts.find((part) => part.type === type)?.path ?? ""),
    relationships: (path: string) => relationshipsOf(read, path),
    /** What the author gave, not what programs write where there is none. */
    title:
      /^(?:untitled|(?:microsoft )?(?:power ?point|word|excel)\b.*|(?:slide|document|presentation) ?\d*)$/i
          .test(title)
        ? undefined
        : title,
  };
}

/** @param path of a part; empty for the archive's own */
function relationshipsOf(read: ReadEntry, path: string): Relationship[] {
  const rels = path.replace(/[^/]*$/, (name) => `_rels/${name}.rels`);
  return childrenOf(firstElement(read(rels), "Relationships")).flatMap(({ attributes }) => {
    const { Id: id = "", Type: type = "", Target: target = "", TargetMode: mode } = attributes;
    const found = mode === "External" ? undefined : pathFrom(path, target);
    return found === undefined ? [] : [{ id, type: type.slice(type.lastIndexOf("/") + 1), path: found }];
  });
}

/** The path in an archive that an address means, written in the file at `base`; undefined for one that leads elsewhere. */
export function pathFrom(base: string, address: string): string | undefined {
  const root = "zip://archive/";
  try {
    const { href, pathname } = new URL(address, root + base.split("/").map(encodeURIComponent).join("/"));
    return href.startsWith(root) ? decodeURIComponent(pathname.slice(1)) : undefined;
  } catch {
    // an address that no program understands
    return undefined;
  }
}

/** What is not said in a run of text: deleted, a field's code, or how a word is pronounced. */
const unsaid = new Set(["del", "moveFrom", "delText", "instrText", "rt", "rPh"]);

/**
 * The text of a paragraph, a run or a cell: Word's, PowerPoint's and Excel's have the same names.
 *
 * @param own what stands for an element within, where it is not that element's text
 */
export function runText(
  element: XmlElement,
  own: (element: XmlElement) => string | undefined = () => undefined,
): string {
  if (element.name === "t") return element.children.filter((child) => typeof child === "string").join("");
  if (element.name === "br" || element.name === "cr") return "\n";
  if (element.name === "tab") return " ";
  if (element.name === "noBreakHyphen") return "-";
  return childrenOf(shownOf(element)).map((child) =>
    unsaid.has(child.name) ? "" : own(child) ?? runText(child, own)
  ).join("");
}

/** Of the same content for new programs and for old ones, that for new ones; of another element itself. */
export function shownOf(element: XmlElement): XmlElement {
  if (element.name !== "AlternateContent") return element;
  return childOf(element, "Choice") ?? childOf(element, "Fallback") ?? element;
}
