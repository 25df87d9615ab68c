import type { SourceDocument } from "../../../text/chunk_document.ts";
import { createDocumentBuilder } from "./document_builder.ts";
import { addHtml } from "./read_html.ts";
import { Parser } from "htmlparser2";
import postalMime, { type Address } from "postal-mime";

/**
 * A message's text without replies that it quotes and its signature, below who wrote it when to whom. Of attachments only
 * the names are there.
 *
 * @throws {Error} where it is encrypted, or no message
 */
export async function readEmail(bytes: Uint8Array, fallbackTitle: string): Promise<SourceDocument> {
  const mail = await postalMime.parse(bytes, { forceRfc822Attachments: true });
  const { subject, date, from, to = [], cc = [], attachments } = mail;
  if (from === undefined && subject === undefined && date === undefined) throw new Error("it is no e-mail");
  const type = mail.headers.find(({ key }) => key === "content-type")?.value ?? "";
  if (/multipart\/encrypted|enveloped-data/i.test(type)) throw new Error("it is encrypted");
  const builder = createDocumentBuilder();
  const names = attachments.flatMap(({ filename, related }) => related || !filename ? [] : [filename]);
  const head = [
    ["From", addressText(from === undefined ? [] : [from])],
    ["To", addressText(to)],
    ["Cc", addressText(cc)],
    ["Date", date?.replace(/T(\d\d:\d\d).*/, " $1 UTC")],
    ["Attachments", names.join(", ")],
  ].flatMap(([name, value]) => value ? [`${name}: ${value}`] : []);
  builder.block("paragraph", head.join("\n"));
  if (mail.text?.trim()) {
    for (const paragraph of ownText(mail.text).split(/\n\s*\n/)) {
      builder.block(/^\s*(?:[-*•]|\d{1,3}[.)])\s/.test(paragraph) ? "list" : "paragraph", paragraph);
    }
  } else if (mail.html !== undefined) addHtml(ownHtml(mail.html), builder);
  return builder.build(subject, fallbackTitle);
}

function addressText(addresses: readonly Address[]): string {
  return addresses.map(({ name, address, group }) =>
    group === undefined
      ? name && address ? `${name} <${address}>` : address || name
      : `${name}: ${addressText(group)}`
  ).join(", ");
}

/** Where the message before this one begins, by its usual first lines in several languages. */
const replyStart =
  /^(?:-{2,} ?(?:original message|ursprüngliche nachricht|message d'origine|mensaje original|messaggio originale) ?-{2,}|(?:on|am|le|el|il|op|em) .{6,200}(?:wrote|schrieb|a écrit|escribió|ha scritto|schreef|escreveu).{0,80}:)$/im;

/** All of a message that is a quotation alone. */
function ownText(text: string): string {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const signature = lines.findIndex((line) => line === "-- " || line === "--");
  const own = (signature < 0 ? lines : lines.slice(0, signature)).filter((line) => !/^ ?>/.test(line)).join(
    "\n",
  )
    // the line of who wrote it may be broken
    .replace(/^((?:on|am|le|el|il|op|em) [^\n]{6,120})\n([^\n]{0,80}:)$/gim, "$1 $2");
  const start = own.search(replyStart);
  const kept = start < 0 ? own : own.slice(0, start);
  return (kept.trim() === "" ? text : kept).trim();
}

/** A page without the elements that programs put what they quote, and signatures, into. */
function ownHtml(html: string): string {
  let own = "";
  let from = 0;
  let depth = 0;
  const parser = new Parser({
    onopentag(_, { class: names = "", id = "", type }) {
      const isQuoted =
        /\bgmail_(?:quote|signature)\b|\bmoz-(?:cite-prefix|signature)\b|\byahoo_quoted\b/.test(names) ||
        type === "cite" || /^(?:divRplyFwdMsg|Signature)$/.test(id);
      if (depth > 0) depth++;
      else if (
        isQuoted && !/forwarded message/i.test(html.slice(parser.startIndex, parser.startIndex + 400))
      ) {
        own += html.slice(from, parser.startIndex);
        depth = 1;
      }
    },
    onclosetag() {
      if (depth > 0 && --depth === 0) from = parser.endIndex + 1;
    },
  });
  parser.end(html);
  own += depth > 0 ? "" : html.slice(from);
  return own.replace(/<[^>]*>/g, "").trim() === "" ? html : own;
}
