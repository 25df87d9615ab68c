import { decodeText } from "../decode_text.ts";
import { Parser } from "htmlparser2";

/** An element of XML. Its name is without the prefix of its namespace, and so are attributes' but for `r:…`. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly (XmlElement | string)[];
}

/** What is kept of a document at once. A page of text has some hundreds of elements. */
const maxElements = 1_000_000;
/** Tables in tables, shapes in groups: some tens are a lot. */
const maxDepth = 500;

/**
 * Hands on each of the named elements, with all that is in it; of one within another only the outer one. Entities that the
 * document declares are not known, and nothing is fetched.
 *
 * @throws {Error} where one of them has too many elements, or they are nested too deep
 */
export function eachElement(
  xml: Uint8Array | undefined,
  names: readonly string[],
  handle: (element: XmlElement) => void,
): void {
  const stack: (XmlElement & { readonly children: (XmlElement | string)[] })[] = [];
  let elements = 0;
  const parser = new Parser({
    onopentag(prefixed, given) {
      const name = local(prefixed);
      if (stack.length === 0 && !names.includes(name)) return;
      if (stack.length > maxDepth) throw new Error(`its XML is nested more than ${maxDepth} deep`);
      if (++elements > maxElements) throw new Error(`a part of it has more than ${maxElements} elements`);
      const attributes: Record<string, string> = {};
      for (const key in given) attributes[local(key)] = given[key] ?? "";
      const element = { name, attributes, children: [] };
      stack.at(-1)?.children.push(element);
      stack.push(element);
    },
    ontext: (text) => void stack.at(-1)?.children.push(text),
    onclosetag() {
      const element = stack.pop();
      if (element === undefined || stack.length > 0) return;
      elements = 0;
      handle(element);
    },
  }, { xmlMode: true });
  parser.end(decodeXml(xml));
}

/** `r:id` and `id` may stand side by side. */
const local = (name: string) => name.startsWith("r:") ? name : name.slice(name.indexOf(":") + 1);

/** In the encoding that it names. */
export function decodeXml(bytes: Uint8Array = new Uint8Array()): string {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, 200));
  return decodeText(bytes, /^[^>]*encoding\s*=\s*["']([\w.-]+)/.exec(start)?.[1]) ?? "";
}

/** The first of these elements. */
export function firstElement(xml: Uint8Array | undefined, name: string): XmlElement | undefined {
  let first: XmlElement | undefined;
  eachElement(xml, [name], (element) => first ??= element);
  return first;
}

/** The element's own children of a name, or all of them. */
export function childrenOf(element: XmlElement | undefined, name?: string): XmlElement[] {
  return (element?.children ?? []).filter((child) => typeof child !== "string")
    .filter((child) => name === undefined || child.name === name);
}

/** Follows names from child to child, by the first of each. */
export function childOf(element: XmlElement | undefined, ...path: readonly string[]): XmlElement | undefined {
  return path.reduce((at, name) => childrenOf(at, name)[0], element);
}

/** The elements of a name within, without those within these. */
export function descendantsOf(element: XmlElement | undefined, name: string): XmlElement[] {
  return childrenOf(element).flatMap((child) => child.name === name ? [child] : descendantsOf(child, name));
}

/** All text within, as it stands. */
export function textOf(element: XmlElement | undefined): string {
  return (element?.children ?? []).map((child) => typeof child === "string" ? child : textOf(child)).join("");
}
