import { isObject } from "./host_link.ts";
import { browser } from "./page_dom.ts";

/** The host's colours and fonts that the page's style has uses for; one alone could not be read on the page's own others. */
const hostStyles = [
  "--color-background-primary",
  "--color-background-secondary",
  "--color-text-primary",
  "--color-text-secondary",
  "--color-border-primary",
  "--font-sans",
  "--font-mono",
];
const neededStyles = ["--color-background-primary", "--color-text-primary"];

/** Of the page within a host, in CSS pixels. */
const maxHeight = 720;

/** How the host wants the page to look; each change brings a part (MCP Apps, "Theming"). */
export function createHostLook() {
  const root = browser.document.documentElement;
  let context: Readonly<Record<string, unknown>> = {};

  function dimensions(): Readonly<Record<string, unknown>> {
    const { containerDimensions } = context;
    return isObject(containerDimensions) ? containerDimensions : {};
  }

  return {
    change(part: Readonly<Record<string, unknown>>): void {
      context = { ...context, ...part };
      const { theme, styles, displayMode } = context;
      if (theme === "light" || theme === "dark") root.style.colorScheme = theme;
      const variables = isObject(styles) && isObject(styles["variables"]) ? styles["variables"] : {};
      if (neededStyles.every((name) => typeof variables[name] === "string")) {
        for (const name of hostStyles) {
          const value = variables[name];
          if (typeof value === "string") root.style.setProperty(name, value);
        }
      }
      const fills = displayMode === "fullscreen" || typeof dimensions()["height"] === "number";
      root.setAttribute("class", fills ? "fills" : "");
    },
    /** The height to ask for; undefined where the host has settled it. */
    heightFor(contentHeight: number): number | undefined {
      const { height, maxHeight: most } = dimensions();
      if (typeof height === "number" || context["displayMode"] === "fullscreen") return undefined;
      return Math.min(contentHeight, maxHeight, typeof most === "number" && most > 0 ? most : maxHeight);
    },
    get locale(): string | undefined {
      const { locale } = context;
      try {
        return typeof locale === "string" ? Intl.getCanonicalLocales(locale)[0] : undefined;
      } catch {
        return undefined;
      }
    },
  };
}
