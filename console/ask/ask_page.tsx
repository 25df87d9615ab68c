import type { PageProps } from "../app.tsx";
import { Page, Tabs } from "../parts.tsx";
import { goTo } from "../routes.ts";
import { AskData } from "./ask_data.tsx";
import { AskDocuments } from "./ask_documents.tsx";

export function AskPage(props: PageProps) {
  const { session: { parts }, rest: [tab] } = props;
  return (
    <Page title="Ask">
      <Tabs
        label="What is asked"
        current={tab}
        onChoose={(id) => goTo("ask", id)}
        tabs={[
          parts.tools && { id: "data", title: "Database", show: () => <AskData {...props} /> },
          parts.documents && { id: "documents", title: "Documents", show: () => <AskDocuments /> },
        ]}
      />
    </Page>
  );
}
