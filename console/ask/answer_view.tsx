import { useId, useMemo } from "preact/hooks";
import { Button, Shown } from "../parts.tsx";
import { answerPieces, claimsOn } from "./answer_pieces.ts";
import type { Done } from "./documents_api.ts";
import { SourceCard } from "./sources_view.tsx";

/** An answer as it comes, whose numbers lead to its sources; `children` stand below it. */
export function AnswerView({ answer, done, isStreaming, children }: {
  readonly answer: string;
  readonly done: Done | undefined;
  readonly isStreaming: boolean;
  readonly children: preact.ComponentChildren;
}) {
  const id = useId();
  const { sources = [], citations = [] } = done ?? {};
  const verified = citations.filter(({ verified }) => verified).length;
  const cards = useMemo(() =>
    sources.map((source, at) => {
      const number = at + 1;
      const claims = answer === "" ? undefined : claimsOn(number, answer, citations);
      return <SourceCard key={at} id={`${id}-${number}`} {...{ source, number, claims }} />;
    }), [done]);
  return (
    <div class={answer && cards.length > 0 ? "answer beside" : "answer"}>
      <div class="stack">
        <p class="prose" dir="auto" aria-busy={isStreaming}>
          {answerPieces(answer, citations).map(({ kind, text }, at) => {
            if (kind === "text") return <Shown key={at} text={text} />;
            if (kind === "doubt") return <span key={at} class="badge bad">{text}</span>;
            if (cards[Number(text) - 1] === undefined) {
              return `[${text}${done?.sources ? ": no such source" : ""}]`;
            }
            const show = () => document.getElementById(`${id}-${text}`)?.focus();
            return <Button key={at} class="cite" aria-label={`Source ${text}`} onClick={show}>{text}</Button>;
          })}
        </p>
        {citations.length > 0 && (
          <p class="hint">
            {verified} of {citations.length}{" "}
            claims are verified: the sources that they name have their numbers, names and most of their words.
          </p>
        )}
        {answer !== "" && done && !done.sources && (
          <p class="hint">
            This pipeline does not show its documents (<code>allow_include_sources</code>{" "}
            is off), so the answer comes without sources.
          </p>
        )}
        {children}
      </div>
      {cards.length > 0 && (
        <div class="stack">
          <h3>{cards.length === 1 ? "1 source" : `${cards.length} sources`}</h3>
          <ol class="sources">{cards}</ol>
        </div>
      )}
    </div>
  );
}
