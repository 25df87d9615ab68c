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
async function textOf(text: string, type = "text/plain", subject = "Re: Leave"): Promise<unknown> {
  return (await read(`${head.replace("Leave", subject)}Content-Type: ${type}; charset=utf-8\n\n${text}`))
    .slice(1).flat().slice(2);
}

Deno.test("readEmail() has the subject as title, who wrote when to whom, and attachments' names", async () => {
  const part = (headers: string, text: string) => `--b\n${headers}\n\n${text}\n`;
  const message = `${head}Cc: Team: dan@example.com;\nContent-Type: multipart/mixed; boundary=b\n\n` +
    part(
      "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable",
      "Gr=C3=B6=C3=9Fe.",
    ) +
    part("Content-Type: text/csv\nContent-Disposition: attachment; filename=plan.csv", "secret,plan") +
    part('Content-Type: message/rfc822; name="old.eml"', "Subject: Inner\n\nthe inner text") +
    part("Content-Type: message/rfc822", "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n\nthe inner text") +
    part("Content-Type: message/rfc822", "From: a@example.com\n\nthe inner text") +
    // too deep to be read
    part("Content-Type: message/rfc822", "Content-Type: multipart/mixed; boundary=c\n\n--c\n".repeat(300)) +
    "--b--\n";
  assert.deepEqual(await read(message), ["Leave", [
    "",
    `${
      shownHead.replace("\nDate", "\nCc: Team: dan@example.com\nDate")
    }\nAttachments: plan.csv, old.eml, Grüße`,
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
  const long = `Yes.\n--\nAnn\nLtd\n\nOn Monday, Bob wrote:\n${"> May I?\n".repeat(9)}`;
  assert.deepEqual(await textOf(long), ["Yes."], "a signature above a long quotation");
  // nothing else is there
  assert.deepEqual(await textOf("> All of it."), ["> All of it."]);
  // who answers below what they quote
  const below = "On Monday, Bob wrote:\n> May I?\n\nYes.\n>> When?\nNow.";
  for (const subject of ["Leave", "Re: Leave"]) {
    assert.deepEqual(await textOf(below, "text/plain", subject), ["Yes.\nNow."]);
  }
  assert.deepEqual(await textOf("See.\n\n---------- Forwarded message ---------\nFrom: Dan\n\nText."), [
    "See.",
    "---------- Forwarded message ---------\nFrom: Dan",
    "Text.",
  ]);
});

Deno.test("readEmail() keeps what only looks like a quotation or a signature", async () => {
  for (
    const [text, subject] of [
      ["Hello.\n\nOn 3 May the auditor wrote this in her report:\n\nThe limit is 500.", "Re: Audit"],
      ["Hello.\n\nAm 3. Mai schrieb die Prüferin:\n\nDie Grenze ist 500.", "Audit"],
      ["Run this:\n> make install\nDone.", "Install"],
      ["One.\n--\nTwo.\n--\nThree.", "Agenda"],
      [`One.\n--\n${"More.\n".repeat(20)}End.`, "Agenda"],
      ["FYI\n\n-----Original Message-----\nFrom: Boss\n\nThe limit is 500.", "FW: Rule"],
      ["FYI\n\n-----Original Message-----\nFrom: Boss\n\nThe limit is 500.", "RE: Rule"],
      ["See my answers inline.\n\n-----Original Message-----\nMay I?\n\nYes.", "RE: Rule"],
    ] as const
  ) assert.deepEqual(await textOf(text, "text/plain", subject), text.split("\n\n"), text);
});

Deno.test("readEmail() reads the HTML where the text only says that there is some", async () => {
  const part = (type: string, text: string) => `--b\nContent-Type: ${type}\n\n${text}\n`;
  const both = (text: string, html: string) =>
    read(
      `${head}Content-Type: multipart/alternative; boundary=b\n\n${part("text/plain", text)}${
        part("text/html", html)
      }--b--\n`,
    );
  const rule = "The limit is 500 euros.";
  const shownText = async (...parts: [string, string]) => (await both(...parts)).slice(1).flat().at(-1);
  assert.equal(await shownText("Your program does not show HTML.", `<p>${rule}</p>`), rule);
  assert.equal(await shownText("View online", `<p>${rule.repeat(4)}</p>`), rule.repeat(4));
  assert.equal(await shownText(rule, `<style>${"a".repeat(999)}</style><p>${rule} It is.</p>`), rule);
});

Deno.test("readEmail() reads letters in whatever encoding they are", async () => {
  const sentence = "Müller käme über Größe — tschüß";
  const latin = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const utf8 = new TextEncoder();
  for (const type of ["text/plain; charset=us-ascii", "text/plain; charset=x-unknown", "text/plain"]) {
    const message = utf8.encode(`${head}Content-Type: ${type}\n\n${sentence}`);
    assert.equal(shown(await readEmail(message, "file")).flat().at(-1), sentence, type);
  }
  const old = latin(`From: J\xfcrgen <j@example.com>\nSubject: Gr\xf6\xdfe\n\nM\xfcller \xfcber Gr\xf6\xdfe`);
  assert.deepEqual(shown(await readEmail(old, "file")), ["Größe", [
    "",
    "From: Jürgen <j@example.com>",
    "Müller über Größe",
  ]]);
});

Deno.test("readEmail() decodes texts without a known encoding as files, however they are sent", async () => {
  const russian = "Это документ на русском языке, и в нём написано о правилах отпуска.";
  const cyrillic = Array.from(russian, (letter) => {
    const code = letter.charCodeAt(0);
    return letter === "ё" ? 0xb8 : code < 0x80 ? code : code - 0x350;
  });
  const texts = [
    [russian, String.fromCharCode(...cyrillic)],
    ["Müller fährt über die Straße nach Köln.", "M\xfcller f\xe4hrt \xfcber die Stra\xdfe nach K\xf6ln."],
    ["これは", "\u001b$B$3$l$O\u001b(B"],
  ] as const;
  const toHex = (letter: string) => `=${letter.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
  const transfers = [
    ["8bit", (text: string) => text],
    ["base64", btoa],
    ["quoted-printable", (text: string) => text.replace(/[^ -<>-~]/g, toHex)],
  ] as const;
  const types = ["", "text/plain", "text/plain; charset=us-ascii", "text/html;\r\n charset=x-unknown"];
  for (const [text, written] of texts) {
    for (const [name, encode] of transfers) {
      for (const type of types) {
        const field = type === "" ? "" : `Content-Type: ${type}\r\n`;
        const message = `Subject: S\r\n${field}Content-Transfer-Encoding: ${name}\r\n\r\n${encode(written)}`;
        const bytes = Uint8Array.from(message, (letter) => letter.charCodeAt(0));
        assert.equal(shown(await readEmail(bytes, "file")).flat().at(-1), text, `${name} ${type}`);
      }
    }
  }
  // a field of a message in a text is text
  const field = "Content-Type: text/plain\nis one.";
  const message = `Subject: S\nContent-Type: text/plain\n\n${field}`;
  assert.equal(shown(await readEmail(new TextEncoder().encode(message), "file")).flat().at(-1), field);
  // one that is named counts, if the text can be in it
  for (
    const [label, bytes, text] of [
      ["cp1251", "\xcf\xf0\xe8", "При"],
      ["x-big5", "\xb3o\xacO\xa4\xa4\xa4\xe5", "這是中文"],
      ["iso-8859-15", "5 \xa4", "5 €"],
      ["utf-8", "Stra\xdfe", "Straße"],
    ] as const
  ) {
    const part = (type: string, body: string) => `--b\nContent-Type: text/${type}\n\n${body}\n`;
    const parts = part("plain; charset=us-ascii", "See HTML") + part(`html; charset=${label}`, bytes);
    const named = `Subject: S\nContent-Type: multipart/alternative; boundary=b\n\n${parts}--b--\n`;
    const message = Uint8Array.from(named, (letter) => letter.charCodeAt(0));
    assert.equal(shown(await readEmail(message, "file")).flat().at(-1), text);
  }
});

Deno.test("readEmail() reads HTML without what programs mark as quoted", async () => {
  const html = (text: string) => textOf(text, "text/html");
  for (
    const quoted of [
      `<div class="gmail_quote"><div>Bob wrote</div>May I?</div>`,
      `<blockquote type="cite">May I?</blockquote>`,
      `<div class="moz-cite-prefix">Bob:</div>`,
      `<div class="yahoo_quoted">May I?</div>`,
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

Deno.test("readEmail() reads Outlook's replies without what they quote, and all of what it forwards", async () => {
  const style = `<head><style type="text/css" style="display:none;"> P {margin-top:0;} </style></head>`;
  const quoted = `<div id="appendonsend"></div><hr style="width:98%"><div id="divRplyFwdMsg" dir="ltr">` +
    `<font face="Calibri"><b>From:</b> Bob</font><div>&nbsp;</div></div><div><p>The limit is 5.</p>` +
    `<div id="x_divRplyFwdMsg">From: Cy</div><p>May I?</p></div>`;
  const read = (own: string, subject: string) =>
    textOf(`<html>${style}<body dir="ltr">${own}${quoted}</body></html>`, "text/html", subject);
  const whole = ["From: Bob", "The limit is 5.", "From: Cy", "May I?"];
  for (const subject of ["RE: Leave", "AW: Leave"]) {
    assert.deepEqual(await read("<p>Yes.</p>", subject), ["Yes."]);
    // who passes it on, answers within it, or below
    for (const own of ["FYI", "See my answers inline.", "Antworten unten in Rot"]) {
      const signed = `<p>${own}</p><div id="Signature">Ann</div>`;
      assert.deepEqual(await read(signed, subject), [own, ...whole]);
    }
    assert.deepEqual(await read("<p>&nbsp;</p>", subject), whole);
  }
  for (const mark of ["FW", "Fwd", "WG", "TR", "VB", "I"]) {
    assert.deepEqual(await read("<p>Yes.</p>", `${mark}: Leave\nReferences: <a@b>`), ["Yes.", ...whole]);
  }
});

Deno.test("readEmail() refuses what is encrypted, and what is no message", async () => {
  for (
    const type of ['multipart/encrypted; boundary="b"', "application/pkcs7-mime; smime-type=enveloped-data"]
  ) {
    await assert.rejects(read(`${head}Content-Type: ${type}\n\nabc`), { message: "it is encrypted" });
  }
  await assert.rejects(read("just a text"), { message: "it is no e-mail" });
});
