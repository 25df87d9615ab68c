import type { PageProps } from "../app.tsx";
import { Page, Tabs } from "../parts.tsx";
import { goTo } from "../routes.ts";
import { LookDatabases } from "./look_databases.tsx";
import { LookPipelines } from "./look_pipelines.tsx";

/** What the databases and the documents hold. */
export function LookPage(props: PageProps) {
  const { session: { parts }, rest } = props;
  const tabs = [
    ...(parts.tools ? [{ id: "data", title: "Databases" }] : []),
    ...(parts.documents ? [{ id: "pipelines", title: "Pipelines" }] : []),
  ];
  const current = (tabs.find(({ id }) => id === rest[0]) ?? tabs[0])?.id ?? "";
  return (
    <Page title="Look">
      <Tabs
        label="What to look at"
        tabs={tabs}
        current={current}
        onChoose={(id) => goTo("look", id)}
        panelId="look-panel"
      />
      <div id="look-panel" role="tabpanel" aria-label={tabs.find(({ id }) => id === current)?.title}>
        {current === "data" && <LookDatabases {...props} />}
        {current === "pipelines" && <LookPipelines {...props} />}
      </div>
    </Page>
  );
}
