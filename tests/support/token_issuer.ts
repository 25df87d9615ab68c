import { Buffer } from "node:buffer";
import { CompactSign, exportJWK, generateKeyPair, type GenerateKeyPairResult, type JWK } from "jose";

/** A key pair of an issuer. */
export interface IssuerKey {
  readonly kid: string;
  readonly alg: string;
  readonly jwk: JWK;
  readonly privateKey: GenerateKeyPairResult["privateKey"];
}

export async function createIssuerKey(kid: string, alg = "ES256"): Promise<IssuerKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, jwk: { ...await exportJWK(publicKey), kid, alg, use: "sig" }, privateKey };
}

/** What a token differs in from a good one; `undefined` takes a member out. */
export interface TokenChanges {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly key?: IssuerKey;
  /** In place of the claims' JSON. */
  readonly payload?: string;
}

export const testAudience = "https://postern.example/mcp/v1";

/** An authorization server as far as a resource server sees it: metadata, keys, introspection, signed tokens. */
export interface TokenIssuer extends AsyncDisposable {
  /** Its `iss`. */
  readonly issuer: string;
  readonly port: number;
  /** The keys that it publishes; a test changes them. */
  keys: JWK[];
  readonly key: IssuerKey;
  /** In place of what is served at a path. */
  readonly answers: Map<string, (request: Request) => Response | Promise<Response>>;
  /** The paths that were asked for, in order. */
  readonly requests: string[];
  /** Opaque tokens, with what introspection says of them. */
  readonly opaque: Map<string, Readonly<Record<string, unknown>>>;
  count(path: string): number;
  token(changes?: TokenChanges): Promise<string>;
}

export const clientId = "postern client";
export const clientSecret = "s3cr%t: +&";

/**
 * @param options.path of the issuer's URL
 * @param options.wellKnown where its metadata is; RFC 8414's place where absent
 * @param options.port a port to listen on, as that of an issuer that was down
 */
export async function startTokenIssuer(
  options: { path?: string; wellKnown?: string; port?: number; key?: IssuerKey } = {},
): Promise<TokenIssuer> {
  const { path = "", wellKnown = `/.well-known/oauth-authorization-server${path}` } = options;
  const key = options.key ?? await createIssuerKey("first");
  const answers: TokenIssuer["answers"] = new Map();
  const requests: string[] = [];
  const opaque: TokenIssuer["opaque"] = new Map();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: options.port ?? 0, onListen: () => {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      requests.push(pathname);
      const answer = answers.get(pathname);
      if (answer !== undefined) return await answer(request);
      if (pathname === wellKnown) {
        return Response.json({
          issuer: issuer.issuer,
          jwks_uri: `${origin}/keys`,
          introspection_endpoint: `${origin}/introspect`,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          response_types_supported: ["code"],
          code_challenge_methods_supported: ["S256"],
        });
      }
      if (pathname === "/keys") return Response.json({ keys: issuer.keys });
      if (pathname === "/introspect") return await introspect(request);
      return new Response("nothing here", { status: 404 });
    },
  );
  const { port } = server.addr as Deno.NetAddr;
  const origin = `http://127.0.0.1:${port}`;

  async function introspect(request: Request): Promise<Response> {
    // RFC 6749 section 2.3.1, RFC 7662 section 2.1
    const [scheme, credentials = ""] = request.headers.get("authorization")?.split(" ") ?? [];
    const [id, secret] = Buffer.from(credentials, "base64").toString().split(":")
      .map((part) => decodeURIComponent(part.replaceAll("+", " ")));
    if (request.method !== "POST" || scheme !== "Basic" || id !== clientId || secret !== clientSecret) {
      return new Response("who are you?", { status: 401 });
    }
    const form = await request.formData();
    return Response.json(opaque.get(String(form.get("token"))) ?? { active: false });
  }

  async function token({ claims = {}, header = {}, key: signer = key, payload }: TokenChanges = {}) {
    const seconds = Math.floor(Date.now() / 1_000);
    const all = {
      iss: issuer.issuer,
      sub: "248289761001",
      aud: testAudience,
      iat: seconds,
      exp: seconds + 300,
      client_id: "app",
      jti: crypto.randomUUID(),
      ...claims,
    };
    const protectedHeader = { alg: signer.alg, kid: signer.kid, typ: "at+jwt", ...header };
    return await new CompactSign(new TextEncoder().encode(payload ?? JSON.stringify(all)))
      .setProtectedHeader(JSON.parse(JSON.stringify(protectedHeader)))
      // whatever the header says must be understood
      .sign(signer.privateKey, { crit: { exp: true } });
  }

  const issuer: TokenIssuer = {
    issuer: origin + path,
    port,
    keys: [key.jwk],
    key,
    answers,
    requests,
    opaque,
    count: (path) => requests.filter((each) => each === path).length,
    token,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
  return issuer;
}

/** A port on which nobody listens. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
