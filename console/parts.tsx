import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { visibleParts } from "../src/tool_server/view/page/shown_text.ts";
import type { useLoaded } from "./load.ts";
import { Refused } from "./server.ts";

const paths = {
  ask: "M4 5h16v11H9l-5 4z",
  look:
    "M4 6c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3zm0 0v12c0 1.7 3.6 3 8 3s8-1.3 8-3V6M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3",
  use: "M14.5 5.5a4 4 0 0 0-5 5L3 17v4h4l6.500-6.500a4 4 0 0 0 5-5l-2.500 2.500-3-1-1-3z",
  connect:
    "M9 15l6-6M10.500 6.500l2-2a4.200 4.200 0 0 1 6 6l-2 2M13.500 17.500l-2 2a4.200 4.200 0 0 1-6-6l2-2",
  watch: "M3 12h4l3-8 4 16 3-8h4",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  done: "M5 13l4 4L19 7",
  leave: "M10 4H5v16h5M15 8l4 4-4 4M19 12H9",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

export function Logo({ size }: { readonly size: number }) {
  return (
    <svg
      class="logo"
      viewBox="0 0 24 24"
      width={size}
      height={size}
      aria-hidden="true"
    >
      <rect width="24" height="24" rx="6" />
      <path d="M7 19v-7a5 5 0 0 1 10 0v7h-3v-7a2 2 0 0 0-4 0v7z" />
    </svg>
  );
}

/** A page's frame: its heading, which takes the focus when the page is opened, and what it holds. */
export function Page({ title, intro, actions, children }: {
  readonly title: string;
  readonly intro?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Postern`;
    heading.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <div class="page">
      <header class="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>{title}</h1>
          {intro && <p class="faint">{intro}</p>}
        </div>
        {actions && <div class="row">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export function Loading({ of }: { readonly of: string }) {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> Loading {of} …
    </p>
  );
}

/** What went wrong, in the server's sentences, and what can be done. */
export function Failure(
  { error, again }: { readonly error: Error; readonly again?: () => void },
) {
  const wait = error instanceof Refused ? error.retryAfterSeconds : undefined;
  return (
    <div class="failure" role="alert">
      <p class="sentences">{error.message}</p>
      {wait !== undefined && <p class="faint">Try again in {wait} s.</p>}
      {again && <button type="button" onClick={again}>Try again</button>}
    </div>
  );
}

export function Empty(
  { title, children }: {
    readonly title: string;
    readonly children?: ComponentChildren;
  },
) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <div class="faint">{children}</div>}
    </div>
  );
}

export interface Tab {
  readonly id: string;
  readonly title: string;
}

/** Tabs whose panel the caller shows below, in an element with the id `panelId` (WAI-ARIA Authoring Practices, Tabs). */
export function Tabs({ label, tabs, current, onChoose, panelId }: {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly current: string;
  readonly onChoose: (id: string) => void;
  readonly panelId: string;
}) {
  const list = useRef<HTMLDivElement>(null);
  function move(event: KeyboardEvent) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const at = tabs.findIndex(({ id }) => id === current);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    onChoose(next.id);
    list.current?.querySelector<HTMLElement>(
      `[data-tab="${CSS.escape(next.id)}"]`,
    )?.focus();
  }
  return (
    <div
      class="tabs"
      role="tablist"
      aria-label={label}
      ref={list}
      onKeyDown={move}
    >
      {tabs.map(({ id, title }) => (
        <button
          key={id}
          type="button"
          role="tab"
          data-tab={id}
          aria-selected={id === current}
          aria-controls={panelId}
          tabIndex={id === current ? 0 : -1}
          onClick={() => onChoose(id)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

/** A button that copies a text, and says that it did. */
export function Copy(
  { text, label = "Copy" }: {
    readonly text: string | (() => string);
    readonly label?: string;
  },
) {
  const [said, setSaid] = useState<string>();
  useEffect(() => {
    if (said === undefined) return;
    const timer = setTimeout(() => setSaid(undefined), 1_500);
    return () => clearTimeout(timer);
  }, [said]);
  async function copy() {
    const written = typeof text === "string" ? text : text();
    setSaid(await copyText(written) ? "Copied" : "Cannot copy");
  }
  return (
    <button type="button" class="quiet" onClick={copy}>
      <Icon name={said === "Copied" ? "done" : "copy"} /> <span aria-live="polite">{said ?? label}</span>
    </button>
  );
}

/** Without a secure context there is no clipboard but that of an element that is selected. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    return isCopied;
  }
}

/** Text as it is, in a box that scrolls and that the keyboard reaches. */
export function Code(
  { text, label }: { readonly text: string; readonly label: string },
) {
  return (
    <div class="code">
      <pre tabIndex={0} role="group" aria-label={label}>{text}</pre>
      <Copy text={text} />
    </div>
  );
}

/** A control with its label and a hint; `children` gets the id that the control must have. */
export function Field({ label, hint, children }: {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly children: (
    id: string,
    hintId: string | undefined,
  ) => ComponentChildren;
}) {
  const id = useId();
  const hintId = hint === undefined ? undefined : `${id}-hint`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id, hintId)}
      {hint && <p class="hint" id={hintId}>{hint}</p>}
    </div>
  );
}

/** A text of others: what would not be seen in it is made visible, and its direction changes nothing around it. */
export function Shown({ text }: { readonly text: string }) {
  return (
    <bdi>
      {visibleParts(text).map(({ text, isMark }, at) =>
        isMark ? <span key={at} class="unseen">{text}</span> : text
      )}
    </bdi>
  );
}

/** A table in a box that scrolls; a row has its cells by their column's name, its own name first. Columns with numbers stand at the right. */
export function Table({ label, rows }: {
  readonly label: string;
  readonly rows: readonly Readonly<Record<string, ComponentChildren>>[];
}) {
  const classOf = (name: string) => rows.some((row) => typeof row[name] === "number") ? "number" : "";
  return (
    <div class="table-box" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {Object.keys(rows[0] ?? {}).map((name) => (
              <th key={name} scope="col" class={classOf(name)}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {Object.entries(row).map(([name, cell], at) =>
                at === 0 ? <th key={name} scope="row">{cell}</th> : (
                  <td key={name} class={classOf(name)}>
                    {typeof cell === "number" ? cell.toLocaleString() : cell}
                  </td>
                )
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What is loaded, or how far it has come. */
export function Ready<T>({ of, loaded: { state, again }, children }: {
  readonly of: string;
  readonly loaded: ReturnType<typeof useLoaded<T>>;
  readonly children: (value: T) => ComponentChildren;
}) {
  if (state.kind === "loading") return <Loading of={of} />;
  if (state.kind === "loaded") return <>{children(state.value)}</>;
  return <Failure error={state.error} again={again} />;
}
