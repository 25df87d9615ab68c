/** Deno before 2.9 hides a Content-Length that comes after Transfer-Encoding, and takes the request. */
const runtimeHidesLength = Number(Deno.version.deno.split(".")[1]) < 9;

/**
 * Refuses a request that a proxy in front may have read in another way: one whose headers say in two ways where the body
 * ends (RFC 9112 section 6.1), or that is coded, which nobody here undoes (RFC 9110 section 15.5.16).
 */
export function refuseFraming(headers: Headers): Response | undefined {
  const transferCoding = headers.get("transfer-encoding");
  if (
    transferCoding !== null && (headers.has("content-length") || transferCoding.toLowerCase() !== "chunked")
  ) {
    const error =
      "Bad Request: send the body with Content-Length or with Transfer-Encoding: chunked, not both";
    return Response.json({ error }, { status: 400, headers: { connection: "close" } });
  }
  const contentCoding = headers.get("content-encoding") ?? "identity";
  if (contentCoding.toLowerCase() === "identity") return undefined;
  const error = "Unsupported Media Type: send the body without Content-Encoding";
  return Response.json({ error }, { status: 415, headers: { "accept-encoding": "identity" } });
}

/** Has the connection end with the reply where the request may have said in two ways where its body ends (as above). */
export function endConnection(request: Headers, reply: Headers): void {
  if (runtimeHidesLength && request.has("transfer-encoding")) reply.set("connection", "close");
}
