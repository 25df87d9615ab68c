import type { PageProps } from "../app.tsx";
import { useLoaded } from "../load.ts";
import { Code, Page, Ready } from "../parts.tsx";
import { hrefOf } from "../routes.ts";
import { askJson, mcpAddress } from "../server.ts";
import { type Block, type Guide, type Run, withAddresses } from "./guide.ts";

/** For each client the lines to paste, with this server's address. */
export function ConnectPage({ session, rest: [chosen] }: PageProps) {
  const loaded = useLoaded(readGuides);
  const rag = session.addresses.rag ?? new URL("../v1", location.href).href;
  const addresses = { mcp: mcpAddress(session), rag };
  const { oauth, accounts, tokens } = session.login;
  const header = session.caller.kind === "local" ? "" : ' -H "Authorization: Bearer $POSTERN_TOKEN"';
  return (
    <Page title="Connect" intro="The lines to paste into each client, with this server's address.">
      <section class="card" aria-label="Addresses">
        {session.parts.tools && <Address name="MCP clients call" address={addresses.mcp} />}
        {session.parts.documents && (session.addresses.rag !== undefined || !session.parts.tools) && (
          <>
            <Address name="Applications ask documents at" address={addresses.rag} />
            <Code
              label="A question to documents as a curl command"
              text={`curl -sN ${addresses.rag}/pipelines/NAME${header} -d '{"query": "…", "stream": true}'`}
            />
          </>
        )}
        <p class="hint">
          {!oauth && !accounts && !tokens && "This server asks nobody who is calling: leave the token out."}
          {oauth && "Clients that can log in by OAuth need nothing else. Others send an API token. "}
          {!oauth && (accounts || tokens) &&
            "Clients send an API token, which an administrator makes with -add-token; it is written $POSTERN_TOKEN here."}
        </p>
      </section>
      {session.parts.tools && (
        <Ready of="the guides" loaded={loaded}>
          {(guides) => {
            const guide = guides.find(({ id }) => id === chosen) ?? guides[0];
            return guide && (
              <div class={`two-panes${chosen ? " has-chosen" : ""}`}>
                <nav aria-label="Clients" class="choices pane-list">
                  {guides.map(({ id, title }) => (
                    <a
                      key={id}
                      href={hrefOf("connect", id)}
                      aria-current={id === guide.id ? "page" : undefined}
                    >
                      {title}
                    </a>
                  ))}
                </nav>
                <article class="stack guide pane-detail" aria-label={guide.title}>
                  <a class="only-phone" href={hrefOf("connect")}>← All clients</a>
                  <h2>{guide.title}</h2>
                  <Blocks blocks={guide.blocks} addresses={addresses} />
                </article>
              </div>
            );
          }}
        </Ready>
      )}
    </Page>
  );
}

async function readGuides(signal: AbortSignal): Promise<Guide[]> {
  const link = document.querySelector<HTMLLinkElement>("#guides");
  return await askJson(link?.href ?? "", { signal });
}

function Address({ name, address }: { readonly name: string; readonly address: string }) {
  return (
    <div class="stack">
      <h2>{name}</h2>
      <Code label={name} text={address} />
    </div>
  );
}

interface BlocksProps {
  readonly blocks: readonly Block[];
  readonly addresses: Parameters<typeof withAddresses>[1];
}

function Blocks({ blocks, addresses }: BlocksProps) {
  const runs = (runs: readonly Run[]) =>
    runs.map((run, at) =>
      typeof run === "string"
        ? withAddresses(run, addresses)
        : <code key={at}>{withAddresses(run.code, addresses)}</code>
    );
  return (
    <>
      {blocks.map((block, at) => {
        switch (block.kind) {
          case "heading":
            return <h3 key={at}>{runs(block.runs)}</h3>;
          case "text":
            return <p key={at}>{runs(block.runs)}</p>;
          case "code":
            return <Code key={at} label="To paste" text={withAddresses(block.text, addresses)} />;
          case "list": {
            const List = block.isOrdered ? "ol" : "ul";
            return (
              <List key={at}>
                {block.items.map((item, at) => (
                  <li key={at}>
                    <Blocks blocks={item} addresses={addresses} />
                  </li>
                ))}
              </List>
            );
          }
        }
      })}
    </>
  );
}
