import { type Child, element, type PageElement } from "./page_dom.ts";

/** Characters of a text that are shown before it is expanded. */
const cutAt = 160;
/** Of a text however much is asked for: a browser lays out no more in good time. */
const mostShown = 200_000;

// they change how the text around them reads, or do not show at all; those that scripts need stay
// deno-lint-ignore no-control-regex
const unseen = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/** The text's parts, with what would not be seen in it made visible. */
export function visibleParts(text: string): { readonly text: string; readonly isMark: boolean }[] {
  const parts = [];
  let from = 0;
  for (const { index, 0: character } of text.matchAll(unseen)) {
    if (index > from) parts.push({ text: text.slice(from, index), isMark: false });
    const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    parts.push({ text: `U+${code}`, isMark: true });
    from = index + 1;
  }
  if (from < text.length) parts.push({ text: text.slice(from), isMark: false });
  return parts;
}

/** A text of others in a run of its own: its direction is its own, and changes nothing around it. */
export function shownText(text: string): PageElement {
  const children = visibleParts(text).map(({ text, isMark }): Child =>
    isMark ? element("span", { class: "unseen" }, text) : text
  );
  return element("bdi", {}, ...children);
}

/** A text that is cut, with a button that shows all of it where it is long; `what` names it. */
export function expandableText(text: string, what: string): PageElement {
  if (text.length <= cutAt) return shownText(text);
  const place = element("span", { class: "long" });
  const button = element("button", { type: "button", class: "more" });
  let isExpanded = false;
  function show() {
    const most = isExpanded ? mostShown : cutAt;
    const isCut = text.length > most;
    place.replaceChildren(shownText(wholeCharacters(text, most)), isCut ? "\u2026" : "");
    button.textContent = isExpanded ? "Less" : `All ${text.length.toLocaleString()} characters`;
    button.setAttribute("aria-expanded", String(isExpanded));
    button.setAttribute("aria-label", `${isExpanded ? "Show less" : button.textContent} of ${what}`);
  }
  show();
  button.addEventListener("click", () => {
    isExpanded = !isExpanded;
    show();
  });
  return element("span", { class: "expandable" }, place, " ", button);
}

/** The beginning of a text, without half of a character at its end. */
export function wholeCharacters(text: string, most: number): string {
  if (text.length <= most) return text;
  return text.slice(0, most).replace(/[\ud800-\udbff]$/, "");
}
