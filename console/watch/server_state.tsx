import { Failure, Loading } from "../parts.tsx";
import { askJson } from "../server.ts";
import { useWatched } from "./watch_page.tsx";

export function ServerState({ isLive }: { readonly isLive: boolean; readonly everyMs: number }) {
  const { latest, again, error } = useWatched((signal) => askJson<object>("server", { signal }), isLive);
  if (latest === undefined) {
    return error ? <Failure error={error} again={again} /> : <Loading of="the server's state" />;
  }
  return <pre>{JSON.stringify(latest, null, 1)}</pre>;
}
