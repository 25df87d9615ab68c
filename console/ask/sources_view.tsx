import { useState } from "preact/hooks";
import { Button, Shown, Text } from "../parts.tsx";
import { citedWords, webAddress } from "./answer_pieces.ts";
import type { Source } from "./documents_api.ts";

/** A text that is longer is folded. */
const foldedFrom = 420;

/** A passage with what its table says of it; the words of `claims`, the sentences that cite it, are marked. */
export function SourceCard({ source, number, id, claims }: {
  readonly source: Source;
  readonly number: number;
  readonly id: string;
  /** Optional: none where there is no answer. */
  readonly claims: readonly string[] | undefined;
}) {
  const [isOpen, setOpen] = useState(false);
  const { title, heading, page, url, characters: _, ...rest } = source.metadata;
  const text = passageText(source);
  const isLong = text.length > foldedFrom;
  const facts = { ...rest, id: source.id, score: source.score.toFixed(2) };
  const href = webAddress(url);
  return (
    <li
      class="card source"
      id={id}
      tabIndex={-1}
      onFocus={(event) => event.target === event.currentTarget && setOpen(true)}
    >
      <div class="row">
        <h4>
          <span class="number">{number}</span> <Shown text={textOf(title ?? rest.source ?? source.id)} />
        </h4>
        {page !== undefined && <span class="badge">page {textOf(page)}</span>}
        {claims?.length === 0 && <span class="badge">not cited</span>}
      </div>
      {heading !== undefined && <Text as="p" class="faint" text={textOf(heading)} />}
      {href
        ? <a href={href} target="_blank" rel="noreferrer">{href}</a>
        : url !== undefined && <Text as="p" text={textOf(url)} />}
      <p class={isLong && !isOpen ? "passage folded" : "passage"} dir="auto">
        {citedWords(claims ?? [], text).map(({ text, isCited }, at) => (
          <Text key={at} as={isCited ? "mark" : "span"} text={text} />
        ))}
      </p>
      <p class="faint facts">
        {Object.entries(facts).filter(([, value]) => value !== undefined)
          .map(([key, value]) => <Shown key={key} text={`${key} ${textOf(value)}  `} />)}
      </p>
      {isLong && (
        <Button class="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Show less" : "Show all"}
        </Button>
      )}
    </li>
  );
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

/** What a passage says, without the line of headings that stands above it. Lines that were broken by their length are one. */
function passageText({ content, metadata }: Source): string {
  const heading = /^\s*#{1,6} (.*)\n+/.exec(content);
  const isKnown = heading?.[1] === metadata["heading"];
  const text = heading && isKnown ? content.slice(heading[0].length) : content;
  return text.replace(/(?<=[^\n]{60})\n(?=[\p{L}\p{N}])/gu, " ");
}
