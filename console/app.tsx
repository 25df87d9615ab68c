import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { AskPage } from "./ask/ask_page.tsx";
import { ConnectPage } from "./connect/connect_page.tsx";
import { useLoaded } from "./load.ts";
import { Login } from "./login.tsx";
import { LookPage } from "./look/look_page.tsx";
import { Failure, Icon, type IconName, Loading, Logo } from "./parts.tsx";
import { hrefOf, type Route, useRoute } from "./routes.ts";
import { ask, type Caller, readSession, type Session, useApiToken, watchServer } from "./server.ts";
import { UsePage } from "./use/use_page.tsx";
import { WatchPage } from "./watch/watch_page.tsx";

/** What every page gets: who looks, at which server, and the rest of the route after the page's own name. */
export interface PageProps {
  readonly session: Session & { readonly caller: Caller };
  readonly rest: Route;
}

interface PageEntry {
  readonly id: IconName;
  readonly title: string;
  readonly show: (props: PageProps) => preact.JSX.Element;
  /** Whether a server without the tool server has it. */
  readonly isOfDocuments: boolean;
}

const pages: readonly PageEntry[] = [
  { id: "ask", title: "Ask", show: AskPage, isOfDocuments: true },
  { id: "look", title: "Look", show: LookPage, isOfDocuments: true },
  { id: "use", title: "Use", show: UsePage, isOfDocuments: false },
  { id: "connect", title: "Connect", show: ConnectPage, isOfDocuments: true },
  { id: "watch", title: "Watch", show: WatchPage, isOfDocuments: true },
];

/** How long until the page looks whether a server that went away is back. */
const lookAgainMs = 2_000;

export function App() {
  const { state, again } = useLoaded(readSession, []);
  const [known, setKnown] = useState<Session>();
  const [isOver, setOver] = useState(false);
  const [isAway, setAway] = useState(false);
  useEffect(() => watchServer({ over: () => setOver(true), away: setAway }), []);
  useEffect(() => {
    if (state.kind === "loaded") setKnown(state.value);
  }, [state]);
  useEffect(() => {
    if (!isAway) return;
    const timer = setInterval(() => ask("session").catch(() => {}), lookAgainMs);
    return () => clearInterval(timer);
  }, [isAway]);
  const enter = useCallback(() => {
    setOver(false);
    again();
  }, [again]);
  useEffect(() => {
    // the first answer never came
    if (!isAway && known === undefined) again();
  }, [isAway]);

  if (known === undefined) {
    return (
      <main class="alone">
        {state.kind === "failed"
          ? <Failure error={state.error} again={again} />
          : <Loading of="the console" />}
      </main>
    );
  }
  const { caller } = known;
  if (caller === undefined) {
    return (
      <main class="alone">
        <Login login={known.login} isOver={false} onIn={enter} />
      </main>
    );
  }
  return (
    <>
      {isAway && <p class="banner" role="alert">The server cannot be reached. This page waits for it.</p>}
      <Frame session={{ ...known, caller }} onLeave={again} />
      {isOver && <SessionOver login={known.login} onIn={enter} />}
    </>
  );
}

function Frame({ session, onLeave }: {
  readonly session: PageProps["session"];
  readonly onLeave: () => void;
}) {
  const route = useRoute();
  const offered = pages.filter(({ isOfDocuments }) => session.parts.tools || isOfDocuments);
  const [name = "ask", ...rest] = route;
  const current = offered.find(({ id }) => id === name) ?? offered[0];
  if (current === undefined) return null;
  const Shown = current.show;
  return (
    <div class="frame">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to the page
      </a>
      <header class="side">
        <a class="brand" href={hrefOf("ask")}>
          <Logo size={26} /> Postern
        </a>
        <nav aria-label="Pages">
          {offered.map(({ id, title }) => (
            <a key={id} href={hrefOf(id)} aria-current={id === current.id ? "page" : undefined}>
              <Icon name={id} /> {title}
            </a>
          ))}
        </nav>
        <Who session={session} onLeave={onLeave} />
      </header>
      <main id="main" tabIndex={-1}>
        <Shown key={current.id} session={session} rest={rest} />
      </main>
    </div>
  );
}

function Who({ session: { caller, server }, onLeave }: {
  readonly session: PageProps["session"];
  readonly onLeave: () => void;
}) {
  async function leave() {
    useApiToken(undefined);
    if (caller.hasSession) {
      await ask("session", { method: "DELETE" }).catch(() => {});
    }
    onLeave();
  }
  return (
    <div class="who">
      <p class="who-name" title={caller.name}>{caller.kind === "local" ? "Everyone" : caller.name}</p>
      <p class="faint">{server.name} {server.version}</p>
      <div class="row">
        <Theme />
        {caller.kind !== "local" && (
          <button type="button" class="quiet" onClick={leave} aria-label="Log out">
            <Icon name="leave" />
          </button>
        )}
      </div>
    </div>
  );
}

const themes = { system: "light dark", light: "light", dark: "dark" } as const;

/** Light, dark, or as the system has it; the browser remembers. */
function Theme() {
  const [theme, setTheme] = useState<keyof typeof themes>(() =>
    localStorage.getItem("postern-theme") as keyof typeof themes ?? "system"
  );
  useEffect(() => {
    document.documentElement.style.colorScheme = themes[theme] ?? themes.system;
    localStorage.setItem("postern-theme", theme);
  }, [theme]);
  const next = { system: "light", light: "dark", dark: "system" } as const;
  return (
    <button
      type="button"
      class="quiet"
      onClick={() => setTheme(next[theme] ?? "system")}
      aria-label={`Colours: ${theme}`}
    >
      <Icon name="sun" />
    </button>
  );
}

/** Over the page, which stays as it is. */
function SessionOver({ login, onIn }: {
  readonly login: Session["login"];
  readonly onIn: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-label="Your session is over" onCancel={(event) => event.preventDefault()}>
      <Login login={login} isOver onIn={onIn} />
    </dialog>
  );
}
