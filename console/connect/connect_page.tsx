import type { PageProps } from "../app.tsx";
import { Page } from "../parts.tsx";

export function ConnectPage({ session }: PageProps) {
  return <Page title="Connect">{session.server.version}</Page>;
}
