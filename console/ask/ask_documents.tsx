import type { PageProps } from "../app.tsx";

export const AskDocuments = ({ session }: PageProps) => (
  <>{session.server.name}</>
);
