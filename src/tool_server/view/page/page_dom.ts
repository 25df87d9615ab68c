/**
 * The part of the browser that the page uses. What it shows was written by others, so nothing here reads HTML, runs code or
 * leads anywhere: there is no `innerHTML`, and no attribute for an address, a style or a handler.
 */
export interface PageElement {
  textContent: string | null;
  hidden: boolean;
  disabled: boolean;
  value: string;
  /** Of `details`. */
  open: boolean;
  readonly clientWidth: number;
  readonly offsetHeight: number;
  readonly style: {
    colorScheme: string;
    width: string;
    left: string;
    setProperty(name: string, value: string): void;
  };
  append(...children: Child[]): void;
  replaceChildren(...children: Child[]): void;
  setAttribute(name: AttributeName, value: string): void;
  removeAttribute(name: AttributeName): void;
  focus(): void;
  addEventListener(
    type: "click" | "change" | "pointermove" | "pointerleave",
    run: (event: PageEvent) => void,
  ): void;
  getBoundingClientRect(): { readonly left: number; readonly width: number };
}

interface PageEvent {
  /** Whether a person made it. */
  readonly isTrusted: boolean;
  readonly clientX: number;
}

export type Child = PageElement | string;

type AttributeName =
  | "aria-expanded"
  | "aria-hidden"
  | "aria-label"
  | "aria-pressed"
  | "aria-sort"
  | "class"
  | "colspan"
  | "dir"
  | "role"
  | "scope"
  | "tabindex"
  | "title"
  | "type"
  | "value"
  | DrawingAttribute;

type DrawingAttribute =
  | "cx"
  | "cy"
  | "d"
  | "height"
  | "r"
  | "text-anchor"
  | "viewBox"
  | "width"
  | "x"
  | "x1"
  | "x2"
  | "y"
  | "y1"
  | "y2";

type Attributes = Readonly<Partial<Record<AttributeName, string | number>>>;

interface PageWindow {
  postMessage(message: unknown, targetOrigin: string): void;
}

interface PageDocument {
  readonly documentElement: PageElement;
  createElement(name: string): PageElement;
  createElementNS(namespace: string, name: string): PageElement;
  getElementById(id: string): PageElement | null;
}

/** The globals that the page uses: the server is checked without a browser's types, so they are named here. */
export const browser = globalThis as unknown as {
  readonly document: PageDocument;
  readonly parent: PageWindow;
  readonly innerWidth: number;
  readonly ResizeObserver: new (changed: () => void) => { observe(element: PageElement): void };
  addEventListener(
    type: "message",
    run: (event: { readonly source: unknown; readonly data: unknown }) => void,
  ): void;
};

type ElementName =
  | "bdi"
  | "button"
  | "caption"
  | "details"
  | "div"
  | "figcaption"
  | "figure"
  | "h1"
  | "h2"
  | "label"
  | "li"
  | "mark"
  | "ol"
  | "option"
  | "p"
  | "pre"
  | "select"
  | "span"
  | "summary"
  | "table"
  | "tbody"
  | "td"
  | "th"
  | "thead"
  | "tr";

/** An element with attributes and children, of which texts stay texts. */
export function element(name: ElementName, attributes: Attributes = {}, ...children: Child[]): PageElement {
  return filled(browser.document.createElement(name), attributes, children);
}

/** The same for a drawing. */
export function shape(
  name: "circle" | "line" | "path" | "svg" | "text",
  attributes: Attributes,
  ...children: Child[]
): PageElement {
  return filled(browser.document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(made: PageElement, attributes: Attributes, children: readonly Child[]): PageElement {
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name as AttributeName, String(value));
  }
  made.append(...children);
  return made;
}
