import type { PageProps } from "../app.tsx";
import { Page } from "../parts.tsx";

export function LookPage({ session }: PageProps) {
  return <Page title="Look">{session.server.version}</Page>;
}
