import type { PageProps } from "../app.tsx";
import { Page } from "../parts.tsx";

export function UsePage({ session }: PageProps) {
  return <Page title="Use">{session.server.version}</Page>;
}
