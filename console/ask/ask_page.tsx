import type { PageProps } from "../app.tsx";
import { Page, Tabs } from "../parts.tsx";
import { goTo } from "../routes.ts";
import { AskData } from "./ask_data.tsx";
import { AskDocuments } from "./ask_documents.tsx";

const panelId = "ask-panel";

export function AskPage(props: PageProps) {
  const { parts } = props.session;
  const tabs = [
    ...(parts.tools ? [{ id: "data", title: "Database" }] : []),
    ...(parts.documents ? [{ id: "documents", title: "Documents" }] : []),
  ];
  const current = tabs.find(({ id }) => id === props.rest[0]) ?? tabs[0];
  return (
    <Page title="Ask">
      {tabs.length > 1 && (
        <Tabs
          label="What is asked"
          tabs={tabs}
          current={current?.id ?? ""}
          onChoose={(id) => goTo("ask", id)}
          panelId={panelId}
        />
      )}
      <div
        id={panelId}
        class="stack"
        {...(tabs.length > 1 &&
          { role: "tabpanel", "aria-label": current?.title })}
      >
        {current?.id === "documents" ? <AskDocuments {...props} /> : <AskData {...props} />}
      </div>
    </Page>
  );
}
