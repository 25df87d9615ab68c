import { createHash } from "node:crypto";
import type { ServedBy } from "../../core/metrics/server_metrics.ts";
import { scopeText } from "../own_scopes.ts";

/** What an operator decides of the pages' looks: the setting `http.auth.oauth.login_page`. */
export interface Branding {
  readonly title: string;
  readonly message?: string | undefined;
  readonly colour: string;
  readonly hasLogo: boolean;
  /** The path under which the logo is served. */
  readonly staticPath: string;
}

/** Whom a user is asked to trust. All of it is the client's own word, but for the hosts. */
export interface ShownClient {
  readonly name: string | undefined;
  /** That of the document that describes it; undefined for a client that registered itself. */
  readonly host: string | undefined;
  /** Whether it is a page of this server, and so nobody else. */
  readonly isOwn?: boolean;
  /** Where the login leads back to; undefined for a device. */
  readonly redirectUri: string | undefined;
}

export interface Page {
  readonly status: number;
  readonly html: string;
  /** Where forms of this page may lead, besides to this server. */
  readonly formTargets: readonly string[];
}

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A text as it stands in HTML, between tags and in a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => escapes[char] ?? char);
}

/** The pages of the authorization server: plain HTML without scripts, and with one style sheet of their own. */
export type Pages = ReturnType<typeof createPages>;

export function createPages(branding: Branding) {
  const { title, message, staticPath } = branding;
  const style = styleSheet(branding);
  const styleHash = createHash("sha256").update(style).digest("base64");
  const t = escapeHtml;

  function page(
    heading: string,
    body: string,
    options: { status?: number; formTargets?: readonly string[] } = {},
  ): Page {
    const html = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${t(heading)}</title>
<style>${style}</style>
</head>
<body>
<main>
${branding.hasLogo ? `<img src="${t(staticPath)}/logo" alt="">` : ""}
<h1>${t(heading)}</h1>
${body}
</main>
</body>
</html>
`;
    return { status: options.status ?? 200, html, formTargets: options.formTargets ?? [] };
  }

  const notice = (message ?? "").split(/\n\s*\n/).filter((part) => part.trim() !== "")
    .map((part) => `<p>${t(part.trim())}</p>`).join("\n");
  const alert = (text: string | undefined) =>
    text === undefined ? "" : `<p class="alert" role="alert">${t(text)}</p>`;

  return {
    styleHash,

    /** @param problem why the attempt before failed */
    login(options: {
      readonly action: string;
      readonly client: ShownClient;
      /** An issuer where people can log in besides, and the address at which that begins. */
      readonly issuer?: { readonly name: string; readonly href: string };
      readonly username?: string;
      readonly problem?: string;
      readonly status?: number;
    }): Page {
      const { action, client, issuer, username = "", problem, status = 200 } = options;
      return page(
        title,
        `${notice}
${alert(problem)}
<p class="who">${whoAsks(client)} asks to be let in.</p>
${
          issuer === undefined
            ? ""
            : `<a class="button" href="${t(issuer.href)}">Sign in with ${t(issuer.name)}</a>
<p class="or">or with an account of this server:</p>`
        }
<form method="post" action="${t(action)}">
<label for="username">User name</label>
<input id="username" name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="256" value="${
          t(username)
        }"${username === "" ? " autofocus" : ""}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="1024"${
          username === "" ? "" : " autofocus"
        }>
<button name="action" value="login">Sign in</button>
<button class="plain" name="action" value="deny" formnovalidate>Cancel</button>
</form>`,
        { status, formTargets: targetsOf(client) },
      );
    },

    consent(options: {
      readonly action: string;
      readonly client: ShownClient;
      readonly username: string;
      /** Where the user logged in, if not with an account of this server. */
      readonly issuer?: string;
      readonly rights: readonly { readonly scope: string; readonly server: ServedBy | undefined }[];
      readonly lifetime: string;
    }): Page {
      const { action, client, username, issuer, rights, lifetime } = options;
      const shown = rights.map(({ scope, server }) =>
        `<li><code>${t(scope)}</code>: ${t(scopeText(scope, server))}</li>`
      );
      return page(
        "Allow access?",
        `<p>${whoAsks(client)} asks for access to your account <strong>${t(username)}</strong>${
          issuer === undefined ? "" : ` of ${t(issuer)}`
        }. It may:</p>
<ul>${shown.join("\n")}</ul>
<dl>
${
          client.host !== undefined
            ? `<dt>Client of</dt><dd><strong>${t(client.host)}</strong></dd>`
            : `<dt>Client</dt><dd>${
              client.isOwn ? "A page of this server." : "It registered itself. Nobody has checked its name."
            }</dd>`
        }
<dt>Leads back to</dt><dd><strong>${
          client.redirectUri === undefined
            ? "the device that showed the code"
            : t(client.isOwn ? new URL(client.redirectUri).host : placeOf(client.redirectUri))
        }</strong></dd>
</dl>
<p>Access ends when ${
          issuer === undefined
            ? "you change your password"
            : `${t(issuer)} says that you have logged out or may not log in any more`
        }, or when it was not used for ${t(lifetime)}. Allow this only if you have
just asked for it yourself.</p>
<form method="post" action="${t(action)}">
<button name="action" value="allow">Allow</button>
<button class="plain" name="action" value="deny">Deny</button>
</form>`,
        { formTargets: targetsOf(client) },
      );
    },

    /** Asks for the code that a device shows. */
    deviceCode(options: {
      readonly action: string;
      readonly secret: string;
      readonly code?: string;
      readonly problem?: string;
    }): Page {
      const { action, secret, code = "", problem } = options;
      return page(
        title,
        `<p>Enter the code that your device shows.</p>
${alert(problem)}
<form method="post" action="${t(action)}">
<input type="hidden" name="xsrf" value="${t(secret)}">
<label for="user_code">Code</label>
<input id="user_code" name="user_code" autocomplete="off" autocapitalize="characters" spellcheck="false" required maxlength="40" value="${
          t(code)
        }" autofocus>
<button>Continue</button>
</form>`,
      );
    },

    /** Asks whether the code on the device is that one. */
    deviceConfirmation(options: {
      readonly action: string;
      readonly secret: string;
      readonly code: string;
      readonly client: ShownClient;
    }): Page {
      const { action, secret, code, client } = options;
      return page(
        "Is this your device?",
        `<p>${whoAsks(client)} asks for access from a device. The device must show this code:</p>
<p class="code"><code>${t(code)}</code></p>
<p>If somebody sent you this code, deny: they would get access to your account.</p>
<form method="post" action="${t(action)}">
<input type="hidden" name="xsrf" value="${t(secret)}">
<input type="hidden" name="user_code" value="${t(code)}">
<button name="confirm" value="yes">My device shows it</button>
<button class="plain" name="abort" value="yes">Deny</button>
</form>`,
      );
    },

    done: (heading: string, text: string): Page => page(heading, `<p>${t(text)}</p>`),
    /** @param again the address at which what failed can be tried again */
    error: (status: number, text: string, again?: string): Page => {
      const link = again === undefined ? "" : `<a class="button" href="${t(again)}">Try again</a>`;
      return page("This did not work", `<p>${t(text)}</p>${link}`, { status });
    },
  };
}

function whoAsks({ name, host, isOwn }: ShownClient): string {
  if (isOwn) return `<strong>${escapeHtml(name ?? "This server")}</strong>`;
  if (host !== undefined) {
    return name === undefined
      ? `<strong>${escapeHtml(host)}</strong>`
      : `<strong>${escapeHtml(host)}</strong>, which calls itself “${escapeHtml(name)}”,`;
  }
  return name === undefined
    ? "A client that gives no name"
    : `A client that calls itself “<strong>${escapeHtml(name)}</strong>”`;
}

/** The part of an address by which a user knows it. */
function placeOf(uri: string): string {
  const url = new URL(uri);
  if (url.protocol === "http:") return `a program on this machine (${url.hostname})`;
  return url.protocol === "https:" ? url.host : `an app on this machine (${url.protocol}//)`;
}

// browsers hold redirects after a form to the page's form-action, so the address at the end must be in it
function targetsOf({ redirectUri }: ShownClient): readonly string[] {
  if (redirectUri === undefined) return [];
  const url = new URL(redirectUri);
  if (url.protocol !== "http:" && url.protocol !== "https:") return [url.protocol];
  // IPv6 in brackets is no host-source (CSP Level 3, section 2.3.1)
  return [url.hostname.startsWith("[") ? url.protocol : url.origin];
}

/** What each page is sent with. */
export function pageHeaders({ formTargets }: Page, styleHash: string): Record<string, string> {
  return {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": [
      "default-src 'none'",
      "img-src 'self'",
      `style-src 'sha256-${styleHash}'`,
      `form-action ${["'self'", ...formTargets].join(" ")}`,
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ].join("; "),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    // the browser names its origin in forms to this server, and nothing to others
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
  };
}

function styleSheet({ colour }: Branding): string {
  return `:root{color-scheme:light dark}
body{margin:0;font:16px/1.5 system-ui,sans-serif;background:#f3f4f6;color:#1f2933}
main{max-width:26rem;margin:8vh auto;padding:2rem;background:#fff;border-radius:8px;box-shadow:0 1px 4px #0003}
img{display:block;max-width:100%;max-height:5rem;margin:0 auto 1rem}
h1{margin:0 0 .5rem;font-size:1.5rem}
label{display:block;margin:.75rem 0 .25rem;font-weight:600}
input{box-sizing:border-box;width:100%;padding:.6rem;font:inherit;border:1px solid #7b8794;border-radius:4px}
button,.button{box-sizing:border-box;display:block;width:100%;margin-top:1rem;padding:.7rem;font:inherit;font-weight:600;text-align:center;text-decoration:none;color:${
    textOn(colour)
  };background:${colour};border:0;border-radius:4px;cursor:pointer}
button:hover,.button:hover,button:focus-visible,.button:focus-visible{filter:brightness(.85)}
button.plain{margin-top:.5rem;color:inherit;background:none;border:1px solid #7b8794}
:focus-visible{outline:3px solid #1f2933;outline-offset:2px}
dt{font-weight:600}dd{margin:0 0 .5rem;overflow-wrap:anywhere}
.alert{padding:.6rem;color:#7a0c0c;background:#fde8e8;border-radius:4px}
.code{font-size:1.6rem;text-align:center;letter-spacing:.1em}
@media (prefers-color-scheme:dark){body{background:#12181f;color:#e4e7eb}main{background:#1f2933}input{color:inherit;background:#12181f}:focus-visible{outline-color:#e4e7eb}}`;
}

/** Black or white, whichever can be read better on a colour (WCAG 2.2, relative luminance). */
function textOn(colour: string): string {
  const digits = colour.slice(1);
  const pairs = digits.length === 3 ? [...digits].map((digit) => digit + digit) : digits.match(/../g) ?? [];
  const [red = 0, green = 0, blue = 0] = pairs.map((pair) => {
    const share = parseInt(pair, 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  // where both have the same contrast
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000" : "#fff";
}
