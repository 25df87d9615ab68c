import { useEffect, useState } from "preact/hooks";

/** The parts of `#/ask/data`, decoded. */
export type Route = readonly string[];

function readRoute(): Route {
  const parts = location.hash.replace(/^#\/?/, "").split("/");
  try {
    return parts.filter((part) => part !== "").map(decodeURIComponent);
  } catch {
    return [];
  }
}

export function hrefOf(...parts: Route): string {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function goTo(...parts: Route): void {
  location.hash = hrefOf(...parts);
}

/** The route as it is now. */
export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    const changed = () => setRoute(readRoute());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
