import { cloneElement, type ComponentChildren, type ComponentProps, type VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { visibleParts } from "../src/tool_server/view/page/shown_text.ts";
import { type Loaded, useLoaded } from "./load.ts";
import { type Reachability, Refused } from "./server.ts";

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

export function Icon({ name }: { readonly name: keyof typeof paths }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

export function Logo({ size }: { readonly size: number }) {
  return (
    <svg class="logo" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true">
      <rect width="24" height="24" rx="6" />
      <path d="M7 19v-7a5 5 0 0 1 10 0v7h-3v-7a2 2 0 0 0-4 0v7z" />
    </svg>
  );
}

/** A page's frame: its heading, which takes the focus when the page is opened, and what it holds. */
export function Page({ title, intro, actions, children }: {
  readonly title: string;
  readonly intro?: string;
  readonly actions?: VNode;
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

export function Busy({ children }: { readonly children: ComponentChildren }) {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> <span>{children}</span>
    </p>
  );
}

/** What went wrong, in the server's sentences, and what can be done. */
/** Around what others wrote, so that a model takes it for no instruction. */
const marksForModels = /<\/?data-[0-9a-f]{8,}>\n?/g;

export function Failure({ error, again }: { readonly error: Error; readonly again?: () => void }) {
  const wait = error instanceof Refused && error.retryAfterSeconds;
  return (
    <div class="failure" role="alert">
      <p class="sentences">{error.message.replace(marksForModels, "")}</p>
      {wait ? <p class="faint">Try again in {wait} s.</p> : null}
      {again && <Button onClick={again}>Try again</Button>}
    </div>
  );
}

/** A button that sends no form. */
export function Button(props: ComponentProps<"button">) {
  return <button type="button" {...props} />;
}

/** What `read` resolves to, read anew where `inputs` change. */
export function Load<T>({ read, inputs, ...shown }: Omit<Parameters<typeof Ready<T>>[0], "loaded"> & {
  readonly read: (signal: AbortSignal) => Promise<T>;
  readonly inputs?: readonly unknown[];
}) {
  return <Ready loaded={useLoaded(read, inputs)} {...shown} />;
}

/** What is loaded, or how far it has come. */
export function Ready<T>({ of, loaded: { value, error, again }, children }: {
  readonly of: string;
  readonly loaded: Loaded<T>;
  readonly children: (value: T) => ComponentChildren;
}) {
  return (
    <>
      {error && <Failure error={error} again={again} />}
      {value === undefined ? !error && <Busy>Loading {of} …</Busy> : children(value)}
    </>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <div class="faint">{children}</div>}
    </div>
  );
}

interface TabsProps {
  readonly label: string;
  /** False for what is not offered. */
  readonly tabs: readonly (false | { id: string; title: string; show: () => ComponentChildren })[];
  /** The first one where there is no such tab. */
  readonly current: string | undefined;
  readonly onChoose: (id: string) => void;
  readonly isSingleShown?: boolean;
}

/** Tabs with the panel of the current one (WAI-ARIA Authoring Practices, Tabs). A single one is its panel alone, unless it says what the page is about. */
export function Tabs({ label, tabs: all, current, onChoose, isSingleShown = false }: TabsProps) {
  const panelId = useId();
  const tabs = all.filter((tab) => tab !== false);
  const at = Math.max(0, tabs.findIndex(({ id }) => id === current));
  const { id: shown, title, show } = tabs[at] ?? { show: () => null };
  if (tabs.length < 2 && !isSingleShown) return <div class="stack">{show()}</div>;
  function move({ key, currentTarget }: KeyboardEvent) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (step === undefined) return;
    const next = (at + step + tabs.length) % tabs.length;
    onChoose(tabs[next]?.id ?? "");
    ((currentTarget as HTMLElement).children[next] as HTMLElement).focus();
  }
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map(({ id, title }) => (
          <Button
            key={id}
            role="tab"
            aria-selected={id === shown}
            aria-controls={panelId}
            tabIndex={id === shown ? 0 : -1}
            onClick={() => onChoose(id)}
          >
            {title}
          </Button>
        ))}
      </div>
      <div id={panelId} key={shown} class="stack" role="tabpanel" aria-label={title}>{show()}</div>
    </>
  );
}

/** For a dialog's `ref`: it opens once it is there. */
export function showModal(dialog: HTMLDialogElement | null): void {
  dialog?.showModal();
}

/** A button that copies a text, and says that it did. */
export function Copy({ text, label = "Copy" }: {
  readonly text: string | (() => string);
  readonly label?: string;
}) {
  const [said, setSaid] = useState<string>();
  async function copy() {
    const written = typeof text === "string" ? text : text();
    setSaid(await copyText(written) ? "Copied" : "Cannot copy");
    setTimeout(() => setSaid(undefined), 1_500);
  }
  return (
    <Button class="quiet" onClick={copy}>
      <Icon name={said === "Copied" ? "done" : "copy"} /> <span aria-live="polite">{said ?? label}</span>
    </Button>
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
export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div class="code">
      <pre tabIndex={0} role="group" aria-label={label}>{text}</pre>
      <Copy text={text} />
    </div>
  );
}

/** A control with its label and a hint. */
export function Field({ label, hint, children }: {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly children: VNode;
}) {
  const id = useId();
  const hintId = hint === undefined ? undefined : `${id}-hint`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {cloneElement(children, { id, "aria-describedby": hintId })}
      {hint && <p class="hint" id={hintId}>{hint}</p>}
    </div>
  );
}

/** A choice of what has names alone; a link may name another one, of which the server says what it thinks. */
export function Choice({ label, names, value, onChoose }: {
  readonly label: string;
  readonly names: readonly string[];
  readonly value: string;
  readonly onChoose: (name: string) => void;
}) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => onChoose(currentTarget.value)}
    >
      {[...new Set(value === "" ? names : [...names, value])].map((name) => <option key={name}>{name}
      </option>)}
    </select>
  );
}

/** A text of others: what would not be seen in it is made visible, and its direction changes nothing around it. */
export function Shown({ text = "", parts = visibleParts(text) }: {
  readonly text?: string;
  readonly parts?: ReturnType<typeof visibleParts>;
}) {
  return (
    <bdi>
      {parts.map(({ text, isMark }, at) => isMark ? <span key={at} class="unseen">{text}</span> : text)}
    </bdi>
  );
}

/** A text of others in an element of its own. */
export function Text({ as: Element = "code", class: name = "", text }: {
  readonly as?: "code" | "p" | "span" | "b" | "h2" | "mark";
  readonly class?: string;
  readonly text: string;
}) {
  return (
    <Element class={name}>
      <Shown text={text} />
    </Element>
  );
}

/** Texts to begin with; nothing without one. */
export function Examples({ texts, onChoose, children }: {
  readonly texts: readonly string[];
  readonly onChoose: (text: string) => void;
  readonly children?: ComponentChildren;
}) {
  if (texts.length === 0) return null;
  return (
    <section class="stack examples" aria-labelledby="examples-title">
      <h2 id="examples-title">To begin with</h2>
      {texts.map((text) => (
        <Button key={text} class="mono" onClick={() => onChoose(text)}>
          <Shown text={text} />
        </Button>
      ))}
      {children}
    </section>
  );
}

/** Good or bad, in a word or a sentence. */
export function Badge({ isGood, text }: { readonly isGood: boolean; readonly text: string }) {
  return <span class={`badge ${isGood ? "good" : "bad"}`}>{text}</span>;
}

/** Whether something is reached, and what is wrong with it. */
export function Reached({ reachable, error = "" }: Reachability) {
  const reached = error === "" ? "reachable" : "cannot answer";
  const text = reachable === undefined ? "not asked yet" : reachable ? reached : "not reachable";
  return (
    <>
      <Badge isGood={text === "reachable"} text={text} /> {error}
    </>
  );
}

/**
 * A table in a box that scrolls; nothing without rows. A row has its cells by their column's name, its own name first. Strings
 * are texts of others; columns with numbers stand at the right.
 */
export function Table({ label, rows }: {
  readonly label: string;
  readonly rows: readonly Readonly<Record<string, ComponentChildren>>[];
}) {
  if (rows.length === 0) return null;
  const names = Object.keys(rows[0] ?? {});
  const classOf = (name: string) => rows.some((row) => typeof row[name] === "number") ? "number" : "";
  const shown = (cell: ComponentChildren) =>
    typeof cell === "string"
      ? <Shown text={cell} />
      : typeof cell === "number"
      ? cell.toLocaleString()
      : cell;
  return (
    <div class="table-box" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {names.map((name) => <th key={name} scope="col" class={classOf(name)}>{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {names.map((name, at) =>
                at === 0
                  ? <th key={name} scope="row">{shown(row[name])}</th>
                  : <td key={name} class={classOf(name)}>{shown(row[name])}</td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
