import type { PageProps } from "../app.tsx";
import { Page, Tabs } from "../parts.tsx";
import { goTo } from "../routes.ts";
import { LookDatabases } from "./look_databases.tsx";
import { LookPipelines } from "./look_pipelines.tsx";

/** What the databases and the documents hold. */
export function LookPage({ session: { parts }, rest }: PageProps) {
  return (
    <Page title="Look">
      <Tabs
        label="What to look at"
        isSingleShown
        current={rest[0]}
        onChoose={(id) => goTo("look", id)}
        tabs={[
          parts.tools && { id: "data", title: "Databases", show: () => <LookDatabases rest={rest} /> },
          parts.documents && { id: "pipelines", title: "Pipelines", show: () => <LookPipelines /> },
        ]}
      />
    </Page>
  );
}
