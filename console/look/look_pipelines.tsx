import type { PageProps } from "../app.tsx";

export function LookPipelines(_props: PageProps) {
  return null;
}
