import { useState } from "preact/hooks";
import { Failure, Field, Logo } from "./parts.tsx";
import { ask, jsonBody, Refused, type Session, useApiToken } from "./server.ts";

/** The ways in, as the server has them. Calls `onIn` once somebody was let in. */
export function Login({ login, isOver, onIn }: {
  readonly login: Session["login"];
  /** Whether a session has ended just now. */
  readonly isOver: boolean;
  readonly onIn: () => void;
}) {
  return (
    <div class="login">
      <Logo size={44} />
      <h1>{isOver ? "Your session is over" : "Log in to Postern"}</h1>
      <p class="faint">
        {isOver
          ? "Log in again; what is on the page stays."
          : "You see what your account may see, and nothing else."}
      </p>
      {login.oauth && <OauthLogin />}
      {!login.oauth && login.accounts && <AccountLogin onIn={onIn} />}
      {login.tokens && <TokenLogin isOnlyWay={!login.oauth && !login.accounts} onIn={onIn} />}
    </div>
  );
}

function OauthLogin() {
  const from = location.hash.replace(/^#/, "") || "/";
  return <a class="button primary wide" href={`login?from=${encodeURIComponent(from)}`}>Log in</a>;
}

/** A form that sends one thing and shows why it was refused. */
function useSending(onIn: () => void) {
  const [error, setError] = useState<Error>();
  const [isSending, setSending] = useState(false);
  return {
    error,
    isSending,
    async send(event: Event, work: (form: FormData) => Promise<void>): Promise<void> {
      event.preventDefault();
      setSending(true);
      setError(undefined);
      try {
        await work(new FormData(event.currentTarget as HTMLFormElement));
        onIn();
      } catch (error) {
        setError(error as Error);
      } finally {
        setSending(false);
      }
    },
  };
}

function AccountLogin({ onIn }: { readonly onIn: () => void }) {
  const { error, isSending, send } = useSending(onIn);
  return (
    <form
      class="stack"
      method="post"
      onSubmit={(event) => {
        const form = event.currentTarget;
        void send(event, async (data) => {
          const { username, password } = Object.fromEntries(data);
          await ask("session", jsonBody({ username, password }));
          form.reset();
        });
      }}
    >
      <Field label="User">
        {(id) => <input id={id} name="username" autocomplete="username" autocapitalize="none" required />}
      </Field>
      <Field label="Password">
        {(id) => <input id={id} name="password" type="password" autocomplete="current-password" required />}
      </Field>
      {error && <Failure error={error} />}
      <button type="submit" class="primary wide" disabled={isSending}>
        {isSending ? "Logging in …" : "Log in"}
      </button>
    </form>
  );
}

function TokenLogin({ isOnlyWay, onIn }: {
  readonly isOnlyWay: boolean;
  readonly onIn: () => void;
}) {
  const { error, isSending, send } = useSending(onIn);
  async function tryToken(data: FormData): Promise<void> {
    useApiToken(String(data.get("token")).trim());
    const { caller } = await (await ask("session")).json() as Session;
    if (caller !== undefined) return;
    useApiToken(undefined);
    throw new Refused(401, "The server does not know this token, or it has expired.");
  }
  return (
    <details class="other-way" open={isOnlyWay}>
      <summary>{isOnlyWay ? "Use an API token" : "Use an API token instead"}</summary>
      <form class="stack" method="post" onSubmit={(event) => void send(event, tryToken)}>
        <Field
          label="API token"
          hint="It stays in this page's memory, and is gone when you close or reload it."
        >
          {(id, hintId) => (
            <input
              id={id}
              aria-describedby={hintId}
              name="token"
              type="password"
              autocomplete="off"
              required
            />
          )}
        </Field>
        {error && <Failure error={error} />}
        <button type="submit" class={isOnlyWay ? "primary wide" : "wide"} disabled={isSending}>
          Use this token
        </button>
      </form>
    </details>
  );
}
