import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { PipelinesReply } from "../../src/rag_server/api/rag_replies.ts";
import type { PageProps } from "../app.tsx";
import { useRun } from "../load.ts";
import { Button, Copy, Empty, Examples, Failure, Field, Load, Shown, Text } from "../parts.tsx";
import { askJson, type Caller, Refused } from "../server.ts";
import { AnswerView } from "./answer_view.tsx";
import { type Asked, type Done, search, streamAnswer } from "./documents_api.ts";
import { filterText, narrowingOf } from "./filter_conditions.ts";
import { FilterFields } from "./filter_form.tsx";
import { SearchesTable } from "./sources_view.tsx";

/** A question of the conversation, with what has become of it. */
interface Turn extends Asked {
  readonly key: number;
  /** Where no answer is asked for. */
  readonly isSearch: boolean;
  readonly state: "running" | "done" | "stopped" | "failed";
  /** As far as it has come. */
  readonly answer: string;
  readonly done?: Done;
  readonly error?: Error;
}

/** Of earlier turns, as many as the server takes. */
const mostMessages = 100;

/** What is kept of a caller while other pages are looked at. */
const kept = new WeakMap<Caller, Readonly<{ name: string; turns: readonly Turn[]; text: string }>>();

/** Questions over documents, as a conversation. */
export function AskDocuments({ session: { caller } }: Pick<PageProps, "session">) {
  return (
    <Load of="the pipelines" read={(signal) => askJson<PipelinesReply>("v1/pipelines", { signal })}>
      {({ pipelines }) =>
        pipelines.length > 0
          ? <Conversation {...{ pipelines, caller }} />
          : <Empty title="There is no pipeline that you may ask.">An administrator describes them.</Empty>}
    </Load>
  );
}

let latestKey = 0;

function Conversation({ pipelines, caller }: PipelinesReply & { readonly caller: Caller }) {
  const [before] = useState(() => kept.get(caller));
  const [name, setName] = useState(before?.name ?? pipelines[0]?.name ?? "");
  const [turns, setTurns] = useState(before?.turns ?? []);
  const [refusal, setRefusal] = useState<Error>();
  const { isRunning, run, stop } = useRun();
  const form = useRef<HTMLFormElement>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => () => {
    // leaving the page stops what runs
    const ended = turns.map((turn): Turn => turn.state === "running" ? { ...turn, state: "stopped" } : turn);
    kept.set(caller, { name, turns: ended, text: box.current?.value ?? "" });
  }, [caller, name, turns]);
  const earlier = turns.filter(({ pipeline, answer, state }) =>
    pipeline === name && answer !== "" && state !== "failed"
  );

  function begin({ pipeline, question }: Asked, isSearch: boolean) {
    setRefusal(undefined);
    const key = ++latestKey;
    const begun = { key, pipeline, question, isSearch, answer: "" };
    setTurns((before) => [...before, { ...begun, state: "running" }]);
    const change = (changes: Partial<Turn>, part = "") =>
      setTurns((before) =>
        before.map((turn) => turn.key === key ? { ...turn, ...changes, answer: turn.answer + part } : turn)
      );
    void run(async (signal) => {
      const done = isSearch
        ? await search(begun, signal)
        : await streamAnswer(begun, signal, (part) => change({}, part));
      change({ done, state: "done" });
    }, (error) => {
      if (!error) return change({ state: "stopped" });
      if (!(error instanceof Refused && error.status === 400)) return change({ error, state: "failed" });
      // what is written is at fault: it goes back to be mended
      setTurns((before) => before.filter((turn) => turn.key !== key));
      setRefusal(error);
      if (box.current) box.current.value ||= question.query;
    });
  }

  function send(isSearch: boolean) {
    const query = box.current?.value.trim();
    if (!form.current || !box.current || !query || isRunning) return;
    const messages = earlier.flatMap(({ question, answer }) => [
      { role: "user", content: question.query },
      { role: "assistant", content: answer },
    ]).slice(-mostMessages);
    begin(
      { pipeline: name, question: { query, ...narrowingOf(new FormData(form.current)), messages } },
      isSearch,
    );
    box.current.value = "";
  }

  function put(text: string) {
    if (!box.current) return;
    box.current.value = text;
    box.current.focus();
  }

  function halt() {
    stop();
    // its button goes away
    box.current?.focus();
  }

  function startAnew() {
    halt();
    setTurns([]);
  }

  const { description, examples = [] } = pipelines.find((each) => each.name === name) ?? {};
  return (
    <div class="stack documents">
      {turns.map((turn) => (
        <TurnView
          key={turn.key}
          turn={turn}
          onRepeat={(isSearch) => {
            setTurns((before) => before.filter((each) => each !== turn));
            begin(turn, isSearch);
          }}
        />
      ))}
      <form
        class="card"
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          send(false);
        }}
      >
        <Field label="Pipeline" hint={description}>
          <select value={name} onChange={({ currentTarget }) => setName(currentTarget.value)}>
            {pipelines.map(({ name }) => <option key={name}>{name}</option>)}
          </select>
        </Field>
        <Field
          label={earlier.length > 0 ? "Follow-up question" : "Question"}
          hint="Enter asks, Shift and Enter make a new line."
        >
          <textarea
            ref={box}
            defaultValue={before?.text}
            maxLength={32_000}
            dir="auto"
            onKeyDown={(event) => {
              if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
              event.preventDefault();
              send(false);
            }}
          />
        </Field>
        <details>
          <summary>Filter and number of passages</summary>
          <FilterFields />
        </details>
        {refusal && <Failure error={refusal} />}
        <div class="row">
          <button type="submit" class="primary" disabled={isRunning}>Ask</button>
          <Button disabled={isRunning} onClick={() => send(true)}>Search alone</Button>
          {isRunning && <Button onClick={halt}>Stop</Button>}
          {turns.length > 0 && <Button class="quiet" onClick={startAnew}>New conversation</Button>}
        </div>
      </form>
      {turns.length === 0 && <Examples texts={examples} onChoose={put} />}
    </div>
  );
}

function TurnView({ turn, onRepeat }: { turn: Turn; onRepeat: (isSearch: boolean) => void }) {
  const { question, isSearch, state, answer, done, error } = turn;
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => head.current?.scrollIntoView(), []);
  const [isCompared, setCompared] = useState(false);
  return (
    <article class="stack turn">
      <h2 ref={head} dir="auto">
        <Shown text={question.query} />
      </h2>
      {done?.search_query && <Text as="p" class="faint" text={`Searched for: ${done.search_query}`} />}
      <p role="status" class={state === "running" ? "loading" : "faint"}>
        {state === "running" && <span class="spinner" aria-hidden="true" />}
        <Text as="span" text={`${askedText(turn)} ${statusOf(turn)}`} />
      </p>
      {isSearch && done && <SearchesTable passages={done.sources} />}
      <AnswerView answer={answer} done={done} isStreaming={state === "running"}>
        {!isSearch && done && (
          <div class="row">
            <Copy text={answer} label="Copy answer" />
            {done.sources && (
              <Button aria-expanded={isCompared} onClick={() => setCompared(!isCompared)}>
                Searches side by side
              </Button>
            )}
          </div>
        )}
      </AnswerView>
      {error && <Failure error={error} again={() => onRepeat(isSearch)} />}
      {error && !isSearch && (
        <div class="row">
          <Button onClick={() => onRepeat(true)}>Search alone</Button>
          <span class="faint">shows the passages and asks no model.</span>
        </div>
      )}
      {isCompared && (
        <Load of="both searches" read={(signal) => search(turn, signal)}>
          {({ sources }) => <SearchesTable passages={sources} />}
        </Load>
      )}
    </article>
  );
}

function askedText({ pipeline, question: { filter, top_n, disable_hybrid } }: Turn): string {
  const narrowed = [
    filter && `where ${filterText(filter)}`,
    top_n && `${top_n} passages`,
    disable_hybrid && "by meaning alone",
  ];
  return [pipeline, ...narrowed].filter(Boolean).join(" · ") + ":";
}

function statusOf({ state, isSearch, answer, done }: Turn): string {
  if (state === "failed") return "Failed.";
  if (state === "stopped") return "Stopped: this is not all.";
  if (state === "running") return isSearch || answer === "" ? "Searching …" : "Answering …";
  if (isSearch) return `${done?.sources?.length ?? 0} passages.`;
  if (done?.answered === false) return "Nothing near enough was found; no model was asked.";
  return `Answered${done?.tokens_used ? ` with ${done.tokens_used} tokens` : ""}.`;
}
