import { useState } from "preact/hooks";
import type { PageProps } from "../app.tsx";
import { useRun } from "../load.ts";
import { Badge, Button, Code, Empty, Failure, Load, Page } from "../parts.tsx";
import { hrefOf } from "../routes.ts";
import { listAll, mcpAddress, type RpcReply, rpcReply } from "../server.ts";
import { asClientCall, asCurl, type Request } from "./request_texts.ts";
import { readArguments, SchemaFields } from "./schema_fields.tsx";
import type { Schema } from "./schema_values.ts";

interface Described {
  readonly name: string;
  /** The name where it has none of its own. */
  readonly title: string;
  readonly description?: string;
}

/** One thing that clients may use. */
interface Offer extends Described {
  readonly kind: keyof typeof kinds;
  readonly schema: Schema;
}

type Arguments = Readonly<Record<string, unknown>>;

const kinds = { tools: "Tools", prompts: "Prompts", resources: "Resources" } as const;

/** Tools, prompts and resources as forms, with each request as others would send it. */
export function UsePage({ session, rest: [kind, name] }: PageProps) {
  const [wanted, setWanted] = useState("");
  const isShown = ({ name, title, description = "" }: Offer) =>
    `${name} ${title} ${description}`.toLowerCase().includes(wanted.toLowerCase());
  return (
    <Page title="Use" intro="Everything that an MCP client gets from this server, as a form.">
      <Load of="what there is" read={readOffers}>
        {(offers) => {
          const chosen = offers.find((offer) => offer.kind === kind && offer.name === name);
          return (
            <div class={`two-panes${chosen ? " has-chosen" : ""}`}>
              <div class="stack pane-list">
                <input
                  type="search"
                  aria-label="Search tools, prompts and resources"
                  placeholder="Search"
                  value={wanted}
                  onInput={({ currentTarget }) => setWanted(currentTarget.value)}
                />
                {Object.entries(kinds).map(([kind, heading]) => (
                  <OfferList
                    key={kind}
                    heading={heading}
                    offers={offers.filter((offer) => offer.kind === kind && isShown(offer))}
                    chosen={chosen}
                  />
                ))}
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
          );
        }}
      </Load>
    </Page>
  );
}

function OfferList({ heading, offers, chosen }: {
  readonly heading: string;
  readonly offers: readonly Offer[];
  readonly chosen: Offer | undefined;
}) {
  if (offers.length === 0) return null;
  return (
    <section aria-label={heading}>
      <h2 class="list-head">{heading}</h2>
      <ul class="choices">
        {offers.map((offer) => (
          <li key={offer.name}>
            <a href={hrefOf("use", offer.kind, offer.name)} aria-current={offer === chosen || undefined}>
              <span>{offer.title}</span>
              <span class="mono faint">{offer.name}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

async function readOffers(signal: AbortSignal): Promise<Offer[]> {
  const list = async <T,>(method: string, key: string) => {
    const all = await listAll<Described & T>(method, key, signal);
    return all.map((each) => ({ ...each, title: each.title ?? each.name }));
  };
  const [tools, prompts, resources, templates] = await Promise.all([
    list<{ readonly inputSchema: Schema }>("tools/list", "tools"),
    list<{ readonly arguments?: readonly Argument[] }>("prompts/list", "prompts"),
    list<{ readonly uri: string }>("resources/list", "resources"),
    list<{ readonly uriTemplate: string }>("resources/templates/list", "resourceTemplates"),
  ]);
  const located = [...resources, ...templates.map(({ uriTemplate: uri, ...others }) => ({ ...others, uri }))];
  return [
    ...tools.map(({ inputSchema: schema, ...tool }): Offer => ({ ...tool, kind: "tools", schema })),
    ...prompts.map(({ arguments: given, ...prompt }): Offer => ({
      ...prompt,
      kind: "prompts",
      schema: schemaOfTexts(given),
    })),
    ...located.map(({ uri, ...resource }): Offer => {
      const given = Array.from(uri.matchAll(variable), ([, name = ""]) => ({ name, required: true }));
      return { ...resource, kind: "resources", name: uri, schema: schemaOfTexts(given) };
    }),
  ];
}

/** Of a template of resources. */
const variable = /\{(\w+)\}/g;

function requestOf({ kind, name }: Offer, args: Arguments): Request {
  if (kind === "tools") return { method: "tools/call", params: { name, arguments: args } };
  if (kind === "prompts") return { method: "prompts/get", params: { name, arguments: args } };
  const uri = name.replace(variable, (_, name) => encodeURIComponent(String(args[name] ?? "")));
  return { method: "resources/read", params: { uri } };
}

type Argument = Pick<Described, "name" | "description"> & { readonly required?: boolean };

function schemaOfTexts(all: readonly Argument[] = []): Schema {
  return {
    properties: Object.fromEntries(
      all.map(({ name, description }) => [name, { type: "string", description }]),
    ),
    required: all.filter(({ required }) => required).map(({ name }) => name),
  };
}

function OfferForm({ offer, session }: { readonly offer: Offer; readonly session: PageProps["session"] }) {
  const [args, setArgs] = useState<Arguments>({});
  const [reply, setReply] = useState<RpcReply>();
  const [error, setError] = useState<Error>();
  const { isRunning, stop, run } = useRun();
  const request = requestOf(offer, args);
  const address = mcpAddress(session);
  const submit = (event: Event) => {
    event.preventDefault();
    setError(undefined);
    void run(
      async (signal) => setReply(await rpcReply(request.method, request.params, signal)),
      setError,
    );
  };
  return (
    <>
      <a class="only-phone" href={hrefOf("use")}>← The whole list</a>
      <div>
        <h2>{offer.title}</h2>
        <p class="mono faint">{offer.name}</p>
      </div>
      {offer.description && <p class="sentences">{unwrapped(offer.description)}</p>}
      <form
        class="card"
        onInput={({ currentTarget }) => setArgs(readArguments(currentTarget, offer.schema))}
        onSubmit={submit}
      >
        <SchemaFields schema={offer.schema} />
        <div class="row">
          <button type="submit" class="primary" disabled={isRunning}>
            {isRunning ? "Running …" : "Run"}
          </button>
          {isRunning && <Button onClick={stop}>Stop</Button>}
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
  const { content = [], isError = error !== undefined } = (result ?? {}) as {
    readonly content?: readonly { readonly text?: string }[];
    readonly isError?: boolean;
  };
  const texts = content.flatMap(({ text }) => text ?? []);
  return (
    <section class="stack" aria-label="Reply">
      <p role="status">
        <Badge isGood={!isError} text={isError ? "Error" : "Reply"} />
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
