import type { PageProps } from "../app.tsx";
import { Page } from "../parts.tsx";

export function WatchPage({ session }: PageProps) {
  return <Page title="Watch">{session.server.version}</Page>;
}
