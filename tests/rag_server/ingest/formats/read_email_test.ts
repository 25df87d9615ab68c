import assert from "node:assert/strict";
import { readEmail } from "../../../../src/rag_server/ingest/formats/read_email.ts";
import { shown } from "./shown_document.ts";

const head = "From: Ann <ann@example.com>\nTo: bob@example.com, Cy <cy@example.com>\nSubject: Leave\n" +
  "Date: Fri, 17 May 2024 10:30:00 +0200\n";
const shownHead =
  "From: Ann <ann@example.com>\nTo: bob@example.com, Cy <cy@example.com>\nDate: 2024-05-17 08:30 UTC";

async function read(message: string): Promise<unknown[]> {
  return shown(await readEmail(new TextEncoder().encode(message.replaceAll("\n", "\r\n")), "file"));
}

/** The message's own paragraphs. */
async function textOf(text: string, type = "text/plain"): Promise<unknown> {
  return (await read(`${head}Content-Type: ${type}; charset=utf-8\n\n${text}`)).slice(1).flat().slice(2);
}

Deno.test("readEmail() has the subject as title, who wrote when to whom, and attachments' names", async () => {
  const part = (headers: string, text: string) => `--b\n${headers}\n\n${text}\n`;
  const message = `${head}Cc: Team: dan@example.com;\nContent-Type: multipart/mixed; boundary=b\n\n` +
    part(
      "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable",
      "Gr=C3=B6=C3=9Fe.",
    ) +
    part("Content-Type: text/csv\nContent-Disposition: attachment; filename=plan.csv", "secret,plan") +
    part('Content-Type: message/rfc822; name="old.eml"', "Subject: Inner\n\nthe inner text") + "--b--\n";
  assert.deepEqual(await read(message), ["Leave", [
    "",
    `${shownHead.replace("\nDate", "\nCc: Team: dan@example.com\nDate")}\nAttachments: plan.csv, old.eml`,
    "Größe.",
  ]]);
});

Deno.test("readEmail() leaves out what is quoted, and signatures", async () => {
  assert.deepEqual(
    await textOf("Yes.\n\n- one\n- two\n\n> May I?\n> Ann\n\nAlso no.\n-- \nAnn\nExample Ltd"),
    [
      "Yes.",
      "- one\n- two",
      "Also no.",
    ],
  );
  for (
    const start of [
      "On Fri, 17 May 2024 at 10:30, Bob <bob@example.com> wrote:",
      "On Fri, 17 May 2024 at 10:30, Bob\n<bob@example.com> wrote:",
      "Am 17.05.2024 um 10:30 schrieb Bob:",
      "Le ven. 17 mai 2024 à 10:30, Bob a écrit :",
      "-----Original Message-----",
      "-----Ursprüngliche Nachricht-----",
    ]
  ) assert.deepEqual(await textOf(`Yes.\n\n${start}\n\nMay I?`), ["Yes."]);
  // nothing else is there
  assert.deepEqual(await textOf("> All of it."), ["> All of it."]);
  assert.deepEqual(await textOf("See.\n\n---------- Forwarded message ---------\nFrom: Dan\n\nText."), [
    "See.",
    "---------- Forwarded message ---------\nFrom: Dan",
    "Text.",
  ]);
});

Deno.test("readEmail() reads HTML without what programs mark as quoted", async () => {
  const html = (text: string) => textOf(text, "text/html");
  for (
    const quoted of [
      `<div class="gmail_quote"><div>Bob wrote</div>May I?</div>`,
      `<blockquote type="cite">May I?</blockquote>`,
      `<div class="moz-cite-prefix">Bob:</div>`,
      `<div class="yahoo_quoted">May I?</div>`,
      `<div id="divRplyFwdMsg">Von: Bob</div>`,
      `<div class="gmail_signature">Ann<br>Ltd</div>`,
      `<div id="Signature">Ann</div>`,
    ]
  ) assert.deepEqual(await html(`<h1>Re</h1><p>Yes.</p>${quoted}<p>No.</p>`), ["Re", "Yes.", "No."]);
  const forwarded =
    `<div class="gmail_quote"><p>---------- Forwarded message ---------</p><p>Text.</p></div>`;
  assert.deepEqual(await html(`<p>See.</p>${forwarded}`), [
    "See.",
    "---------- Forwarded message ---------",
    "Text.",
  ]);
  assert.deepEqual(await html(`<div class="gmail_quote">All.</div>`), ["All."]);
});

Deno.test("readEmail() refuses what is encrypted, and what is no message", async () => {
  for (
    const type of ['multipart/encrypted; boundary="b"', "application/pkcs7-mime; smime-type=enveloped-data"]
  ) {
    await assert.rejects(read(`${head}Content-Type: ${type}\n\nabc`), { message: "it is encrypted" });
  }
  await assert.rejects(read("just a text"), { message: "it is no e-mail" });
});
