import { useState } from "preact/hooks";
import { useRun } from "./load.ts";
import { Failure, Field, Logo } from "./parts.tsx";
import { ask, askJson, jsonBody, Refused, type Session, setApiToken } from "./server.ts";

/** By what `callback` leads back with. */
const failures: Readonly<Record<string, string>> = {
  denied: "Access was denied; log in again.",
  expired: "This login has expired, or it began in another browser; log in again.",
  failed: "The login failed; log in again, or try it later.",
};

/** Why the login that led here failed. It is said once: the address then leads here as any other does. */
function takeFailure(): string | undefined {
  const reason = new URLSearchParams(location.search).get("login");
  if (reason === null) return undefined;
  history.replaceState(null, "", location.pathname + location.hash);
  return Object.hasOwn(failures, reason) ? failures[reason] : undefined;
}

/** The ways in, as the server has them. Calls `onIn` once somebody was let in. */
export function Login({ login, isOver, onIn }: {
  readonly login: Session["login"];
  /** Whether a session has ended just now. */
  readonly isOver: boolean;
  readonly onIn: () => void;
}) {
  const [failure] = useState(takeFailure);
  return (
    <div class="login">
      <Logo size={44} />
      <h1>{isOver ? "Your session is over" : "Log in to Postern"}</h1>
      <p class="faint">
        {isOver
          ? "Log in again; what is on the page stays."
          : "You see what your account may see, and nothing else."}
      </p>
      {failure && <Failure error={new Error(failure)} />}
      {login.oauth && (
        <a
          class="button primary wide"
          href={loginAddress()}
          onClick={(event) => event.currentTarget.href = loginAddress()}
        >
          Log in
        </a>
      )}
      {!login.oauth && login.accounts && <AccountLogin onIn={onIn} />}
      {login.tokens && <TokenLogin isOnlyWay={!login.oauth && !login.accounts} onIn={onIn} />}
    </div>
  );
}

/** Leads back to the page that is wanted now. */
function loginAddress(): string {
  return `login?from=${encodeURIComponent(location.hash.replace(/^#/, "") || "/")}`;
}

/** A form that sends one thing, and shows why it was refused. */
function LoginForm({ work, button, class: name = "primary wide", children }: {
  readonly work: (fields: FormData) => Promise<void>;
  readonly button: string;
  readonly class?: string;
  readonly children: preact.ComponentChildren;
}) {
  const [error, setError] = useState<Error>();
  const { isRunning, run } = useRun();
  return (
    <form
      class="stack"
      method="post"
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        setError(undefined);
        void run(() => work(new FormData(form)).then(() => form.reset()), setError);
      }}
    >
      {children}
      {error && <Failure error={error} />}
      <button type="submit" class={name} disabled={isRunning}>{isRunning ? "Logging in …" : button}</button>
    </form>
  );
}

function AccountLogin({ onIn }: { readonly onIn: () => void }) {
  const logIn = (fields: FormData) => ask("session", jsonBody(Object.fromEntries(fields))).then(onIn);
  return (
    <LoginForm button="Log in" work={logIn}>
      <Field label="User">
        <input name="username" autocomplete="username" autocapitalize="none" required />
      </Field>
      <Field label="Password">
        <input name="password" type="password" autocomplete="current-password" required />
      </Field>
    </LoginForm>
  );
}

function TokenLogin({ isOnlyWay, onIn }: { readonly isOnlyWay: boolean; readonly onIn: () => void }) {
  return (
    <details class="other-way" open={isOnlyWay}>
      <summary>{isOnlyWay ? "Use an API token" : "Use an API token instead"}</summary>
      <LoginForm
        button="Use this token"
        class={isOnlyWay ? "primary wide" : "wide"}
        work={async (fields) => {
          setApiToken(String(fields.get("token")).trim());
          try {
            if ((await askJson<Session>("session")).caller !== undefined) return onIn();
            throw new Refused(401, "The server does not know this token, or it has expired.");
          } catch (error) {
            setApiToken(undefined);
            throw error;
          }
        }}
      >
        <Field
          label="API token"
          hint="It stays in this page's memory, and is gone when you close or reload it."
        >
          <input name="token" type="password" autocomplete="off" required />
        </Field>
      </LoginForm>
    </details>
  );
}
