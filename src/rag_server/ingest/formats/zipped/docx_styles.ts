import { childOf, childrenOf, eachElement, firstElement, type XmlElement } from "./xml.ts";

const value = (element: XmlElement | undefined, ...path: readonly string[]): string | undefined =>
  childOf(element, ...path)?.attributes["val"];

/** Styles may be based on each other in a circle. */
const longestChain = 20;

/**
 * Tells of paragraphs what they are by their own properties and those of their styles, in the document's order, since
 * numbers count up. Word's own styles have English names in every language; those that authors make have an outline level.
 */
export function createDocxStyles(stylesXml: Uint8Array | undefined, numberingXml: Uint8Array | undefined) {
  const styles = new Map<string, XmlElement>();
  let ofOthers = "";
  eachElement(stylesXml, ["style"], (style) => {
    const { styleId = "", type, default: isDefault } = style.attributes;
    if (type === "paragraph") styles.set(styleId, style);
    if (type === "paragraph" && isDefault === "1") ofOthers = styleId;
  });
  const markOf = createNumbering(firstElement(numberingXml, "numbering"));

  /** @param properties `w:pPr` of the paragraph */
  return (properties: XmlElement | undefined) => {
    const chain: XmlElement[] = [];
    let style = styles.get(value(properties, "pStyle") ?? ofOthers);
    while (style !== undefined && chain.length < longestChain) {
      chain.push(style);
      style = styles.get(value(style, "basedOn") ?? "");
    }
    const all = [properties, ...chain.map((style) => childOf(style, "pPr"))];
    const first = (...path: string[]) =>
      all.map((one) => value(one, ...path)).find((own) => own !== undefined);
    const names = chain.map((style) => (value(style, "name") ?? "").toLowerCase());
    const named = names.map((name) => /^heading ([1-9])$/.exec(name)?.[1]).find((level) =>
      level !== undefined
    );
    const level = Number(first("outlineLvl") ?? Number(named ?? 10) - 1) + 1;
    const list = first("numPr", "numId") ?? "0";
    const depth = Number(first("numPr", "ilvl") ?? 0);
    const has = (pattern: RegExp) => names.some((name) => pattern.test(name));
    return {
      /** 1 for the outermost heading; 10 for no heading. */
      level: names[0] === "title" ? 1 : level,
      isTitle: names[0] === "title",
      /** Whether it is a line of a table of contents or of figures. */
      isContents: has(/^(?:toc \d|toc heading|table of figures)$/),
      kind: list !== "0"
        ? "list" as const
        : has(/^(?:html preformatted|macro text|(?:source )?code\b.*)$/)
        ? "code" as const
        : has(/^(?:intense )?quote$/)
        ? "quote" as const
        : "paragraph" as const,
      /** What stands before the text: `2.1 `, or `- `; empty where it is in no list. */
      mark: list === "0" ? "" : markOf(list, depth),
      /** Of its list in others. */
      depth: Math.min(depth, 8),
    };
  };
}

/** Counts the items of a document's lists. */
function createNumbering(numbering: XmlElement | undefined) {
  const named = (name: string, key: string) =>
    new Map(childrenOf(numbering, name).map((element) => [element.attributes[key], element]));
  const lists = named("num", "numId");
  const kinds = named("abstractNum", "abstractNumId");
  const counts = new Map<string, number[]>();

  return (listId: string, depth: number): string => {
    const list = lists.get(listId);
    const kind = value(list, "abstractNumId") ?? "";
    const levels = childrenOf(kinds.get(kind), "lvl");
    const formatOf = (at: number) => value(levels[at], "numFmt") ?? "decimal";
    if (levels[depth] === undefined || formatOf(depth) === "bullet") return "- ";
    // a list that begins anew counts for itself
    const isNew = childrenOf(list, "lvlOverride").some((level) =>
      childOf(level, "startOverride") !== undefined
    );
    const key = isNew ? `list ${listId}` : kind;
    const count = (counts.get(key) ?? counts.get(kind)?.slice(0, depth) ?? []).slice(0, depth + 1);
    count[depth] = (count[depth] ?? Number(value(levels[depth], "start") ?? 1) - 1) + 1;
    counts.set(key, count);
    const text = (value(levels[depth], "lvlText") ?? "").replace(
      /%([1-9])/g,
      (_, digit: string) => counted(count[Number(digit) - 1] ?? 1, formatOf(Number(digit) - 1)),
    );
    return text.trim() === "" ? "" : `${text.trim()} `;
  };
}

/** A number as a list shows it. */
function counted(number: number, format: string): string {
  const text = /Letter$/.test(format)
    ? String.fromCharCode(97 + (number - 1) % 26).repeat(Math.ceil(number / 26) % 10)
    : /Roman$/.test(format) && number < 4000
    ? romanOf(number)
    : String(number);
  return format.startsWith("upper") ? text.toUpperCase() : text;
}

/** Each digit in the signs for one, five and ten of its place. */
function romanOf(number: number): string {
  const digits = ["", "0", "00", "000", "01", "1", "10", "100", "1000", "02"];
  return ["m", "cdm", "xlc", "ivx"].map((signs, at) =>
    (digits[Math.floor(number / 10 ** (3 - at)) % 10] ?? "").replace(
      /\d/g,
      (sign) => signs[Number(sign)] ?? "",
    )
  ).join("");
}
