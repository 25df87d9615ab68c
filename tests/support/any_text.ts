import fc from "fast-check";

/** Texts of any UTF-16 units, lone surrogates among them, and ones made of what the functions over text look for. */
export function anyText(maxLength = 80): fc.Arbitrary<string> {
  const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength })
    .map((codes) => String.fromCharCode(...codes));
  const pieces = fc.constantFrom(
    ..."a,b,Ab,WORD,word, ,  ,\n,\r\n,\n\n,\t,.,..,!,?,…,。,”,(,),[1],|,- ,# ,1. ,12,3.5,Dr.,U.S.,e.g.,ü,é,ß,漢字,カナ,한국,😀,👩‍👧,\ud800,\udc00,\u0301,\u200d,ﬁ,İ,\0"
      .split(","),
  );
  return fc.oneof(units, fc.array(pieces, { maxLength }).map((all) => all.join("")));
}
