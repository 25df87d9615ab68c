import { useState } from "preact/hooks";
import type { PageProps } from "../app.tsx";
import { useLoaded, useRun } from "../load.ts";
import { Code, Empty, Failure, Loading, Page } from "../parts.tsx";
import { goTo, hrefOf } from "../routes.ts";
import { listAll, type RpcReply, rpcReply, rpcRequest } from "../server.ts";
import { asClientCall, asCurl, mcpAddress, type Request } from "./request_texts.ts";
import { SchemaForm } from "./schema_form.tsx";
import type { Schema } from "./schema_values.ts";

/** One thing that clients may use, with how it is asked for. */
interface Offer {
  readonly kind: "tools" | "prompts" | "resources";
  readonly name: string;
  readonly title: string;
  readonly description: string | undefined;
  readonly schema: Schema;
  requestOf(args: Readonly<Record<string, unknown>>): Request;
}

interface Described {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
}

const kinds = { tools: "Tools", prompts: "Prompts", resources: "Resources" } as const;

/** Tools, prompts and resources as forms, with each request as others would send it. */
export function UsePage({ session, rest }: PageProps) {
  const { state, again } = useLoaded(readOffers, []);
  const [wanted, setWanted] = useState("");
  const [kind, name] = rest;
  const offers = state.kind === "loaded" ? state.value : [];
  const chosen = offers.find((offer) => offer.kind === kind && offer.name === name);
  const isShown = ({ name, title, description = "" }: Offer) =>
    `${name} ${title} ${description}`.toLowerCase().includes(wanted.toLowerCase());
  return (
    <Page title="Use" intro="Everything that an MCP client gets from this server, as a form.">
      {state.kind === "loading" && <Loading of="what there is" />}
      {state.kind === "failed" && <Failure error={state.error} again={again} />}
      {state.kind === "loaded" && (
        <div class={`two-panes${chosen ? " has-chosen" : ""}`}>
          <div class="stack pane-list">
            <input
              type="search"
              aria-label="Search tools, prompts and resources"
              placeholder="Search"
              value={wanted}
              onInput={({ currentTarget }) => setWanted(currentTarget.value)}
            />
            {Object.entries(kinds).map(([of, heading]) => {
              const shown = offers.filter((offer) => offer.kind === of && isShown(offer));
              return shown.length > 0 && (
                <section key={of} aria-label={heading}>
                  <h2 class="list-head">{heading}</h2>
                  <ul class="choices">
                    {shown.map((offer) => (
                      <li key={offer.name}>
                        <a
                          href={hrefOf("use", offer.kind, offer.name)}
                          aria-current={offer === chosen || undefined}
                        >
                          <span>{offer.title}</span>
                          <span class="mono faint">{offer.name}</span>
                        </a>
                      </li>
                    ))}
                  </ul>
                </section>
              );
            })}
            {!offers.some(isShown) && (
              <p class="faint" role="status">Nothing has this in its name or description.</p>
            )}
          </div>
          <div class="stack pane-detail">
            {chosen === undefined
              ? <Empty title="Choose a tool, a prompt or a resource">Its form opens here.</Empty>
              : <OfferForm key={`${chosen.kind} ${chosen.name}`} offer={chosen} session={session} />}
          </div>
        </div>
      )}
    </Page>
  );
}

async function readOffers(signal: AbortSignal): Promise<Offer[]> {
  const [tools, prompts, resources, templates] = await Promise.all([
    listAll<Described & { readonly inputSchema: Schema }>("tools/list", "tools", signal),
    listAll<Described & { readonly arguments?: readonly (Described & { readonly required?: boolean })[] }>(
      "prompts/list",
      "prompts",
      signal,
    ),
    listAll<Described & { readonly uri: string }>("resources/list", "resources", signal),
    listAll<Described & { readonly uriTemplate: string }>(
      "resources/templates/list",
      "resourceTemplates",
      signal,
    ),
  ]);
  return [
    ...tools.map(({ name, title = name, description, inputSchema }): Offer => ({
      kind: "tools",
      name,
      title,
      description,
      schema: inputSchema,
      requestOf: (args) => ({ method: "tools/call", params: { name, arguments: args } }),
    })),
    ...prompts.map(({ name, title = name, description, arguments: given = [] }): Offer => ({
      kind: "prompts",
      name,
      title,
      description,
      schema: {
        properties: Object.fromEntries(
          given.map((
            { name, description },
          ) => [name, { type: "string", ...(description && { description }) }]),
        ),
        required: given.filter(({ required }) => required).map(({ name }) => name),
      },
      requestOf: (args) => ({ method: "prompts/get", params: { name, arguments: args } }),
    })),
    ...resources.map(({ name, title = name, description, uri }): Offer => ({
      kind: "resources",
      name: uri,
      title,
      description,
      schema: {},
      requestOf: () => ({ method: "resources/read", params: { uri } }),
    })),
    ...templates.map(({ name, title = name, description, uriTemplate }): Offer => {
      const variables = Array.from(uriTemplate.matchAll(/\{(\w+)\}/g), ([, variable = ""]) => variable);
      return {
        kind: "resources",
        name: uriTemplate,
        title,
        description,
        schema: {
          properties: Object.fromEntries(variables.map((variable) => [variable, { type: "string" }])),
          required: variables,
        },
        requestOf: (args) => ({
          method: "resources/read",
          params: {
            uri: uriTemplate.replace(
              /\{(\w+)\}/g,
              (_, variable) => encodeURIComponent(String(args[variable] ?? "")),
            ),
          },
        }),
      };
    }),
  ];
}

function OfferForm({ offer, session }: { readonly offer: Offer; readonly session: PageProps["session"] }) {
  const [args, setArgs] = useState<Readonly<Record<string, unknown>>>({});
  const [reply, setReply] = useState<RpcReply>();
  const [error, setError] = useState<Error>();
  const { isRunning, stop, run } = useRun();
  const request = offer.requestOf(args);
  const address = mcpAddress(session);
  const submit = (event: Event) => {
    event.preventDefault();
    setError(undefined);
    void run(async (signal) => {
      try {
        setReply(await rpcReply(rpcRequest(request.method, request.params), signal));
      } catch (error) {
        if (!signal.aborted) setError(error as Error);
      }
    });
  };
  return (
    <>
      <p class="only-phone">
        <button type="button" onClick={() => goTo("use")}>Back to the list</button>
      </p>
      <div>
        <h2>{offer.title}</h2>
        <p class="mono faint">{offer.name}</p>
      </div>
      {offer.description && <p class="sentences">{unwrapped(offer.description)}</p>}
      <form class="card" onSubmit={submit}>
        <SchemaForm schema={offer.schema} onChange={setArgs} />
        <div class="row">
          <button type="submit" class="primary" disabled={isRunning}>
            {isRunning ? "Running …" : "Run"}
          </button>
          {isRunning && <button type="button" onClick={stop}>Stop</button>}
        </div>
      </form>
      {error && <Failure error={error} />}
      {reply && <Reply reply={reply} />}
      <details class="card" open={reply === undefined}>
        <summary>The same request from elsewhere</summary>
        <div class="stack">
          <h3>curl</h3>
          <Code label="The request as a curl command" text={asCurl(request, address, session.caller)} />
          <h3>MCP client, TypeScript</h3>
          <Code
            label="The request by the official client"
            text={asClientCall(request, address, session.caller)}
          />
        </div>
      </details>
    </>
  );
}

/** Without the ends of lines that are there for the width of a terminal. */
function unwrapped(text: string): string {
  return text.replace(/(?<!\n)\n(?=\w)/g, " ");
}

function Reply({ reply: { result, error } }: { readonly reply: RpcReply }) {
  const isFault = error !== undefined || (result as { isError?: boolean }).isError === true;
  const texts = (result as { content?: { text?: string }[] } | undefined)?.content
    ?.flatMap(({ text }) => text === undefined ? [] : [text]) ?? [];
  return (
    <section class="stack" aria-label="Reply">
      <p class="row" role="status">
        <span class={`badge ${isFault ? "bad" : "good"}`}>{isFault ? "Error" : "Reply"}</span>
      </p>
      {error && <p class="sentences failure">{error.message}</p>}
      {texts.map((text, at) => <Code key={at} label="What a model reads" text={text} />)}
      <details open={texts.length === 0 && error === undefined}>
        <summary>JSON</summary>
        <Code label="The reply's JSON" text={JSON.stringify(error ?? result, null, 2)} />
      </details>
    </section>
  );
}
