import { Buffer } from "node:buffer";
import type { SourceDocument } from "../../../text/chunk_document.ts";
import { decodeText } from "./decode_text.ts";
import { createDocumentBuilder } from "./document_builder.ts";
import { addHtml } from "./read_html.ts";
import { Parser } from "htmlparser2";
import postalMime, { type Address, type Email } from "postal-mime";

/**
 * A message's text without replies that it quotes and its signature, below who wrote it when to whom. Of attachments only
 * the names are there.
 *
 * @throws {Error} where it is encrypted, or no message
 */
export async function readEmail(bytes: Uint8Array, fallbackTitle: string): Promise<SourceDocument> {
  const mail = await parse(bytes);
  const { subject, date, from, to = [], cc = [], attachments, html } = mail;
  const isReply = !/^(?:fwd?|wg|tr|rv|enc|vb|vs|pd|doorst|i)\s*:/i.test(subject ?? "") &&
    (/^(?:re|aw|antw|sv|res|rif|odp)\s*:/i.test(subject ?? "") ||
      mail.headers.some(({ key }) => key === "in-reply-to" || key === "references"));
  if (from === undefined && subject === undefined && date === undefined) throw new Error("it is no e-mail");
  const type = mail.headers.find(({ key }) => key === "content-type")?.value ?? "";
  if (/multipart\/encrypted|enveloped-data/i.test(type)) throw new Error("it is encrypted");
  const builder = createDocumentBuilder();
  const names = attachments.filter(({ related }) => !related).map(async ({ filename, mimeType, content }) =>
    // a message often has no name but its subject
    filename || mimeType === "message/rfc822" && (await parse(content).catch(() => undefined))?.subject
  );
  const head = [
    ["From", addressText(from === undefined ? [] : [from])],
    ["To", addressText(to)],
    ["Cc", addressText(cc)],
    ["Date", date?.replace(/T(\d\d:\d\d).*/, " $1 UTC")],
    ["Attachments", (await Promise.all(names)).filter(Boolean).join(", ")],
  ].flatMap(([name, value]) => value ? [`${name}: ${value}`] : []);
  builder.block("paragraph", head.join("\n"));
  const text = mail.text?.trim() ?? "";
  if (text !== "" && !(html && isStub(text, html))) {
    for (const paragraph of ownText(text, isReply).split(/\n\s*\n/)) {
      builder.block(/^\s*(?:[-*•]|\d{1,3}[.)])\s/.test(paragraph) ? "list" : "paragraph", paragraph);
    }
  } else if (html !== undefined) addHtml(ownHtml(html, isReply), builder);
  return builder.build(subject, fallbackTitle);
}

/** An encoding that keeps bytes as they are: above ASCII as U+F780 to U+F7FF (Encoding Standard, section 14.5). */
const asBytes = "; charset=x-user-defined";

/** Many a message names another encoding than it has: texts are parsed as bytes, and decoded as files are. */
async function parse(bytes: Uint8Array | ArrayBuffer | string): Promise<Email> {
  const written = Buffer.from(bytes as Uint8Array).toString("latin1");
  const [raw = ""] = /^[^]*?\n\r?\n/.exec(written) ?? [];
  // the parser takes it for UTF-8
  const head = Buffer.from(decodeText(Buffer.from(raw, "latin1"), undefined) ?? "").toString("latin1");
  const isTyped = /^content-type:/im.test(head) || !/^\S+:/.test(head);
  const whole = (isTyped ? "" : "Content-Type: text/plain\r\n") + head + written.slice(raw.length);
  const labels: (string | undefined)[] = [];
  const marked = whole.replace(/^content-type:\s*text\/[\w.-]+(?:[^\r\n]|\r?\n[ \t])*/gim, (field) => {
    labels.push(/charset\s*=\s*"?(?:x-(?!mac))?([^\s";]+)/i.exec(field)?.[1]);
    return field.replace(/\/[\w.-]+/, (type) => type + asBytes);
  });
  // of several, the one that is not tried in any case
  const label = labels.find((each) => each !== undefined && !/ascii|^utf-?8$/i.test(each));
  const decoded = (text: string | undefined) =>
    text?.replaceAll(asBytes, "").replace(
      /[\p{ASCII}\uf780-\uf7ff]+/gu,
      (run) => decodeText(Uint8Array.from(run, (letter) => letter.charCodeAt(0) & 0xff), label) ?? run,
    );
  const mail = await postalMime.parse(Buffer.from(marked, "latin1"), { forceRfc822Attachments: true });
  return { ...mail, text: decoded(mail.text), html: decoded(mail.html) };
}

function addressText(addresses: readonly Address[]): string {
  return addresses.map(({ name, address, group }) =>
    group === undefined
      ? name && address ? `${name} <${address}>` : address || name
      : `${name}: ${addressText(group)}`
  ).join(", ");
}

/** The usual first lines, in several languages, of what a reply quotes. */
const attribution =
  /^(?:on|am|le|el|il|op|em) .{3,200}(?:(?:wrote|a écrit|escribió|ha scritto|escreveu)\s?:|(?:schrieb|schreef) .{1,80}:)$/i;
const original =
  /^-{2,} ?(?:original message|ursprüngliche nachricht|message d'origine|mensaje original|messaggio originale) ?-{2,}$/i;

/** What people write above a message that they pass on with a reply's subject, or answer within. */
const pointsBelow =
  /^\s*(?:fyi|see below|zur info|zur kenntnis|pour info|pour information)\b.{0,20}\s*$|\b(?:in-?line|(?:answers?|comments?|antworten?|kommentare?) (?:below|unten)|in (?:red|blue|green|rot|blau|grün))\b/i;

/** All of a message that is a quotation alone. @param isReply whether it says so of itself; others may quote anything */
function ownText(text: string, isReply: boolean): string {
  const lines = text.replace(/\r\n?/g, "\n")
    // the line of who wrote it may be broken
    .replace(/^((?:on|am|le|el|il|op|em) [^\n]{6,120})\n([^\n]{0,80}:)$/gim, "$1 $2").split("\n");
  const kept: string[] = [];
  let quotes = isReply;
  for (const [at, line] of lines.entries()) {
    const isQuoted = lines.slice(at + 1, at + 4).find((next) => next.trim() !== "")?.startsWith(">") ?? false;
    const begins = attribution.test(line);
    quotes ||= begins && isQuoted;
    const isOld = original.test(line) && !pointsBelow.test(kept.join("\n"));
    if (isReply && (isOld || begins && !isQuoted)) break;
    if (!(begins && isQuoted) && !(quotes && /^ ?>/.test(line))) kept.push(line);
  }
  const end = kept.findIndex((_, at) => isSignature(kept, at));
  return kept.slice(0, end < 0 ? undefined : end).join("\n").trim() || text.trim();
}

const mostOfSignature = 8;

/** The blank behind the dashes may be lost. */
function isSignature(lines: readonly string[], at: number): boolean {
  return lines[at] === "-- " ||
    lines[at] === "--" && lines.length - at <= mostOfSignature &&
      lines.indexOf("--") === lines.lastIndexOf("--");
}

const shortText = 300;

/** Whether a message's text only says that there is HTML. */
function isStub(text: string, html: string): boolean {
  return text.length <= shortText &&
    (/\bhtml\b/i.test(text) || lettersOf(html).length > 5 * text.length);
}

function lettersOf(html: string): string {
  return html.replace(/(?:<(style|script)[^]*?<\/\1>|<[^>]*>|&nbsp;|\s)+/gi, " ").trim();
}

/** A page without the elements that programs put what they quote, and signatures, into. */
function ownHtml(html: string, isReply: boolean): string {
  let own = "";
  let from = 0;
  let depth = 0;
  const parser = new Parser({
    onopentag(_, { class: names = "", id = "", type }) {
      const start = parser.startIndex;
      // all that Outlook quotes, or passes on, stands behind it
      const isOutlooks = id === "divRplyFwdMsg";
      const isQuoted = isOutlooks && isReply && !pointsBelow.test(lettersOf(own + html.slice(from, start))) ||
        /\bgmail_(?:quote|signature)\b|\bmoz-(?:cite-prefix|signature)\b|\byahoo_quoted\b/.test(names) ||
        type === "cite" || id === "Signature";
      if (depth > 0) depth++;
      else if (isQuoted && !/forwarded message/i.test(html.slice(start, start + 400))) {
        own += html.slice(from, start);
        depth = isOutlooks ? Infinity : 1;
      }
    },
    onclosetag() {
      if (depth > 0 && --depth === 0) from = parser.endIndex + 1;
    },
  });
  parser.end(html);
  own += depth > 0 ? "" : html.slice(from);
  return lettersOf(own) === "" ? html : own;
}
