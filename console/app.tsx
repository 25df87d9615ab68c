import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { AskData } from "./ask/ask_data.tsx";
import { AskDocuments } from "./ask/ask_documents.tsx";
import { ConnectPage } from "./connect/connect_page.tsx";
import { serverBack, useLoaded } from "./load.ts";
import { Login } from "./login.tsx";
import { LookDatabases } from "./look/look_databases.tsx";
import { LookPipelines } from "./look/look_pipelines.tsx";
import { Busy, Button, Failure, Icon, Logo, Page, showModal, Tabs } from "./parts.tsx";
import { goTo, hrefOf, type Route, useRoute } from "./routes.ts";
import { ask, type Caller, readSession, type Session, setApiToken, watchServer } from "./server.ts";
import { UsePage } from "./use/use_page.tsx";
import { WatchPage } from "./watch/watch_page.tsx";

/** What every page gets: who looks, at which server, and the rest of the route after the page's own name. */
export interface PageProps {
  readonly session: Session & { readonly caller: Caller };
  readonly rest: Route;
}

const pages = [
  { id: "ask", title: "Ask", Shown: AskPage },
  { id: "look", title: "Look", Shown: LookPage },
  { id: "use", title: "Use", Shown: UsePage },
  { id: "connect", title: "Connect", Shown: ConnectPage },
  { id: "watch", title: "Watch", Shown: WatchPage },
] as const;

/** How long until the page looks whether a server that went away is back. */
const lookAgainMs = 2_000;

export function App() {
  const { value: known, error, again } = useLoaded(readSession);
  const [isOver, setOver] = useState(false);
  const [isAway, setAway] = useState(false);
  useEffect(() => watchServer({ over: () => setOver(true), away: setAway }), []);
  useEffect(() => {
    if (!isAway) return;
    const timer = setInterval(() => ask("session").catch(() => {}), lookAgainMs);
    return () => {
      clearInterval(timer);
      dispatchEvent(new Event(serverBack));
    };
  }, [isAway]);
  function enter() {
    setOver(false);
    again();
  }
  if (known?.caller === undefined) {
    return (
      <main class="alone">
        {known && <Login login={known.login} isOver={false} onIn={enter} />}
        {!known && (error ? <Failure error={error} again={again} /> : <Busy>Loading the console …</Busy>)}
      </main>
    );
  }
  const { caller } = known;
  return (
    <>
      {isAway && <p class="banner" role="alert">The server cannot be reached. This page waits for it.</p>}
      {/* who logs in behind another finds nothing of theirs */}
      <Frame key={`${caller.kind} ${caller.name}`} session={{ ...known, caller }} onLeave={again} />
      {isOver && (
        <dialog
          ref={showModal}
          aria-label="Your session is over"
          onCancel={(event) => event.preventDefault()}
          // a browser may close it at a second Escape all the same
          onClose={({ currentTarget }) => currentTarget.showModal()}
        >
          <Login login={known.login} isOver onIn={enter} />
        </dialog>
      )}
    </>
  );
}

function Frame({ session, onLeave }: Pick<PageProps, "session"> & { readonly onLeave: () => void }) {
  const [name, ...rest] = useRoute();
  const { parts, caller, server } = session;
  // the forms are of MCP
  const offered = pages.filter(({ id }) => parts.tools || id !== "use");
  const { id: current, Shown } = offered.find(({ id }) => id === name) ?? pages[0];
  const [fault, setFault] = useState<Error>();
  async function leave() {
    setApiToken(undefined);
    try {
      if (caller.hasSession) await ask("session", { method: "DELETE" });
      onLeave();
    } catch (error) {
      setFault(error as Error);
    }
  }
  return (
    <div class="frame">
      {fault && <p class="banner" role="alert">You are still logged in. {fault.message}</p>}
      <a class="skip" href="#main" onClick={skip}>Skip to the page</a>
      <header class="side">
        <a class="brand" href={hrefOf("ask")}>
          <Logo size={26} /> Postern
        </a>
        <nav aria-label="Pages">
          {offered.map(({ id, title }) => (
            <a key={id} href={hrefOf(id)} aria-current={id === current ? "page" : undefined}>
              <Icon name={id} /> {title}
            </a>
          ))}
        </nav>
        <div class="who">
          <p class="who-name" title={caller.name}>{caller.kind === "local" ? "Everyone" : caller.name}</p>
          <p class="faint">{server.name} {server.version}</p>
          <div class="row">
            <Theme />
            {caller.kind !== "local" && (
              <Button class="quiet" onClick={leave} aria-label="Log out">
                <Icon name="leave" />
              </Button>
            )}
          </div>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <Shown key={current} session={session} rest={rest} />
      </main>
    </div>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function AskPage(props: PageProps) {
  const { session: { parts }, rest: [tab] } = props;
  return (
    <Page title="Ask">
      <Tabs
        label="What is asked"
        current={tab}
        onChoose={(id) => goTo("ask", id)}
        tabs={[
          parts.tools && { id: "data", title: "Database", show: () => <AskData {...props} /> },
          parts.documents && { id: "documents", title: "Documents", show: () => <AskDocuments {...props} /> },
        ]}
      />
    </Page>
  );
}

/** What the databases and the documents hold. */
function LookPage({ session: { parts }, rest }: PageProps) {
  return (
    <Page title="Look">
      <Tabs
        label="What to look at"
        isSingleShown
        current={rest[0]}
        onChoose={(id) => goTo("look", id)}
        tabs={[
          parts.tools && { id: "data", title: "Databases", show: () => <LookDatabases rest={rest} /> },
          parts.documents && { id: "pipelines", title: "Pipelines", show: () => <LookPipelines /> },
        ]}
      />
    </Page>
  );
}

/** Light, dark, or as the system has it; the browser remembers. */
function Theme() {
  const [theme, setTheme] = useState(() => localStorage.getItem("postern-theme") ?? "system");
  useLayoutEffect(() => {
    document.documentElement.style.colorScheme = theme === "system" ? "light dark" : theme;
    localStorage.setItem("postern-theme", theme);
  }, [theme]);
  const next = { system: "light", light: "dark" }[theme] ?? "system";
  return (
    <Button class="quiet" onClick={() => setTheme(next)} aria-label={`Colours: ${theme}`}>
      <Icon name="sun" />
    </Button>
  );
}
