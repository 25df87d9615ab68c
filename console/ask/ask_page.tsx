import type { PageProps } from "../app.tsx";
import { Page } from "../parts.tsx";

export function AskPage({ session }: PageProps) {
  return <Page title="Ask">{session.server.version}</Page>;
}
