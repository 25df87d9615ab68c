import type { ComponentChildren } from "preact";
import type { useLoaded } from "../load.ts";
import { visibleParts } from "../../src/tool_server/view/page/shown_text.ts";
import { Failure, Loading, Shown } from "../parts.tsx";

/** What was loaded, or why it is not there. */
export function Answer<T>({ of, loaded: { state, again }, children }: {
  readonly of: string;
  readonly loaded: ReturnType<typeof useLoaded<T>>;
  readonly children: (value: T) => ComponentChildren;
}) {
  if (state.kind === "loading") return <Loading of={of} />;
  if (state.kind === "loaded") return <>{children(state.value)}</>;
  return <Failure error={state.error} again={again} />;
}

export function Part({ title, children }: {
  readonly title: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="look-part">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

/** A text of others in an element of its own. */
export function Text({ as: Element = "code", class: name = "", text }: {
  readonly as?: "code" | "p" | "span" | "b";
  readonly class?: string;
  readonly text: string;
}) {
  return (
    <Element class={name}>
      <Shown text={text} />
    </Element>
  );
}

/** Where no run of text can be isolated: what would not be seen stands as its code. */
export function visibleText(text: string): string {
  return visibleParts(text).map(({ text }) => text).join("");
}
