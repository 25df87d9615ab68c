import assert from "node:assert/strict";
import { openOffice } from "../../../../../src/rag_server/ingest/formats/zipped/office_package.ts";
import {
  eachElement,
  firstElement,
  textOf,
} from "../../../../../src/rag_server/ingest/formats/zipped/xml.ts";
import { openZip } from "../../../../../src/rag_server/ingest/formats/zipped/zip_archive.ts";
import { exampleZip, relationships } from "../example_zip.ts";
import { strToU8, zipSync } from "fflate";

const damaged = { message: "it is damaged, or no such document" };

/** The offset of a file's entry in the directory. */
function entryOf(zip: Uint8Array): number {
  return zip.findIndex((_, at) =>
    zip[at] === 0x50 && zip[at + 1] === 0x4b && zip[at + 2] === 1 && zip[at + 3] === 2
  );
}

/** The archive with another byte. */
function changed(zip: Uint8Array, at: number, byte: number): Uint8Array {
  const copy = zip.slice();
  copy[at] = byte;
  return copy;
}

Deno.test("openZip() unpacks files by their paths in any case", () => {
  const read = openZip(
    zipSync({ "A/b.xml": strToU8("text"), "stored.xml": [strToU8("as it is"), { level: 0 }] }),
  );
  assert.equal(new TextDecoder().decode(read("a/B.xml")), "text");
  assert.equal(new TextDecoder().decode(read("stored.xml")), "as it is");
  assert.equal(read("other"), undefined);
});

Deno.test("openZip() refuses what is encrypted, old, damaged or packed otherwise", () => {
  const zip = exampleZip({ "a.xml": "text ".repeat(100) });
  const at = entryOf(zip);
  assert.throws(() => openZip(changed(zip, at + 8, 1))("a.xml"), { message: /^it is encrypted/ });
  assert.throws(() => openZip(changed(zip, at + 10, 12))("a.xml"), { message: /another method/ });
  // the checksum, the place of the file, and of the directory
  assert.throws(() => openZip(changed(zip, at + 16, (zip[at + 16] ?? 0) ^ 1))("a.xml"), damaged);
  assert.throws(() => openZip(changed(zip, at + 45, 0x7f))("a.xml"), damaged);
  assert.throws(() => openZip(changed(zip, zip.length - 6, 9)), damaged);
  // what is packed
  assert.throws(() => openZip(changed(zip, 35, 0xff))("a.xml"), damaged);
  assert.throws(() => openZip(zip.subarray(0, zip.length - 40)), damaged);
  assert.throws(() => openZip(strToU8("no archive")), damaged);
  assert.throws(() => openZip(new Uint8Array()), damaged);

  const old = Uint8Array.of(0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, 0, 0);
  assert.throws(() => openZip(old), { message: /before 2007/ });
  const name = Uint8Array.from([..."EncryptedPackage"].flatMap((char) => [char.charCodeAt(0), 0]));
  assert.throws(() => openZip(Uint8Array.of(...old, ...name)), { message: /^it is encrypted/ });
});

Deno.test("openZip() stops at too much, whatever the headers say, and at too many files", () => {
  const bomb = exampleZip({ "a.xml": new Uint8Array(60_000), "b.xml": new Uint8Array(60_000) });
  // the size that the directory claims
  const read = openZip(changed(changed(bomb, entryOf(bomb) + 24, 1), entryOf(bomb) + 25, 0), 100 * 1024);
  assert.equal(read("a.xml")?.length, 60_000);
  assert.throws(() => read("b.xml"), { message: "it unpacks to more than 100 KiB" });
  assert.throws(() => read("a.xml"), { message: "it unpacks to more than 100 KiB" });
  const stored = zipSync({ "a.xml": [new Uint8Array(2000), { level: 0 }] });
  assert.throws(() => openZip(stored, 1999)("a.xml"), { message: "it unpacks to more than 2 KiB" });

  const many = Object.fromEntries(Array.from({ length: 20_001 }, (_, at) => [`${at}`, ""]));
  assert.throws(() => openZip(exampleZip(many)), { message: "it holds more than 20000 files" });
});

Deno.test("openOffice() follows no part out of the archive", () => {
  const bytes = exampleZip({
    "_rels/.rels": relationships({ r1: ["officeDocument", "/word/d.xml"] }),
    "word/d.xml": "<w:document />",
    "word/_rels/d.xml.rels": relationships({
      a: ["styles", "../s%20t.xml"],
      b: ["image", "file:///etc/passwd"],
      c: ["image", "https://example.com/x.xml", "External"],
      d: ["image", "http://["],
      e: ["image", "../../../x.xml"],
    }),
  });
  const office = openOffice(bytes, "document");
  assert.deepEqual(office.parts.map(({ id, path }) => [id, path]), [["a", "s t.xml"], ["e", "x.xml"]]);
  // a file of one kind that was saved under the name of another
  assert.throws(() => openOffice(bytes, "workbook"), { message: "it is no workbook of Office" });
  const none = exampleZip({ "a.xml": "" });
  assert.throws(() => openOffice(none, "document"), { message: "it is no document of Office" });
});

Deno.test("eachElement() resolves no entities, and bounds elements and their depth", () => {
  const xml =
    `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY y "yy">]><a>&x;&y;&amp;&#228;</a>`;
  assert.equal(textOf(firstElement(strToU8(xml), "a")), "&x;&y;&ä");
  const utf16 = Uint8Array.from(
    [..."\ufeff<a>ö</a>"].flatMap((char) => [char.charCodeAt(0) & 255, char.charCodeAt(0) >> 8]),
  );
  assert.equal(textOf(firstElement(utf16, "a")), "ö");
  const names: string[] = [];
  eachElement(strToU8("<x><w:a><a/></w:a><b/><a/></x>"), ["a"], ({ name, children }) => {
    names.push(`${name}${children.length}`);
  });
  assert.deepEqual(names, ["a1", "a0"]);
  assert.throws(() => firstElement(strToU8("<a>".repeat(600)), "a"), {
    message: /nested more than 500 deep/,
  });
  assert.throws(() => firstElement(strToU8(`<a>${"<b/>".repeat(1_000_001)}</a>`), "a"), {
    message: "a part of it has more than 1000000 elements",
  });
});
