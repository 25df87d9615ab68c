import { type ComponentChildren, createElement } from "preact";
import type { PageProps } from "../app.tsx";
import { Code, Load, Page } from "../parts.tsx";
import { hrefOf } from "../routes.ts";
import { askJson, mcpAddress } from "../server.ts";
import { type Guide, type GuideNode, withAddresses } from "./guide.ts";

/** For each client the lines to paste, with this server's address. */
export function ConnectPage({ session, rest: [chosen] }: PageProps) {
  const rag = session.addresses.rag ?? new URL("../v1", location.href).href;
  const addresses = { mcp: mcpAddress(session), rag };
  const { oauth, accounts, tokens } = session.login;
  const header = session.caller.kind === "local" ? "" : ' -H "Authorization: Bearer $POSTERN_TOKEN"';
  return (
    <Page title="Connect" intro="The lines to paste into each client, with this server's address.">
      <section class="card" aria-label="Addresses">
        {session.parts.tools && (
          <>
            <h2>MCP clients call</h2>
            <Code label="MCP clients call" text={addresses.mcp} />
          </>
        )}
        {session.parts.documents && (session.addresses.rag !== undefined || !session.parts.tools) && (
          <>
            <h2>Applications ask documents at</h2>
            <Code label="Applications ask documents at" text={rag} />
            <Code
              label="A question to documents as a curl command"
              text={`curl -sN ${rag}/pipelines/NAME${header} -d '{"query": "…", "stream": true}'`}
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
        <Load of="the guides" read={readGuides}>
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
                  {shownNodes(guide.nodes, addresses)}
                </article>
              </div>
            );
          }}
        </Load>
      )}
    </Page>
  );
}

async function readGuides(signal: AbortSignal): Promise<Guide[]> {
  const link = document.querySelector<HTMLLinkElement>("#guides");
  return await askJson(link?.href ?? "", { signal });
}

type Addresses = Parameters<typeof withAddresses>[1];

function shownNodes(nodes: readonly GuideNode[], addresses: Addresses): ComponentChildren {
  return nodes.map((node, at) => {
    if (typeof node === "string") return withAddresses(node, addresses);
    const [tag, ...within] = node;
    const shown = shownNodes(within, addresses);
    return tag === "pre"
      ? <Code key={at} label="To paste" text={String(shown)} />
      : createElement(tag, { key: at }, shown);
  });
}
