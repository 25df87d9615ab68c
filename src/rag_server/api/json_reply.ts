import { bodyInPieces } from "../../http/reply_body.ts";

// RFC 8631: where the description of the API is
const replyHeaders = {
  link: '</v1/openapi.json>; rel="service-desc"',
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** A reply whose body is JSON text. */
export function jsonReply(
  text: string,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const { body, length } = bodyInPieces(text);
  return new Response(body, {
    status,
    headers: { ...replyHeaders, "content-type": "application/json", ...headers, "content-length": length },
  });
}

/** The reply of what was done and has nothing to tell. */
export function noContent(): Response {
  return new Response(null, { status: 204, headers: replyHeaders });
}
