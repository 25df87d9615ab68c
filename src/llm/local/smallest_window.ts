/** How many words the shortest stretch is that holds each of `distinct` different stems; `hits` hold them all, in order. */
export function smallestWindow(
  hits: readonly { readonly stem: string; readonly position: number }[],
  distinct: number,
): number {
  const inside = new Map<string, number>();
  let smallest = Infinity;
  let first = 0;
  for (const last of hits) {
    inside.set(last.stem, (inside.get(last.stem) ?? 0) + 1);
    for (let left = hits[first]; left !== undefined && inside.size === distinct; left = hits[++first]) {
      smallest = Math.min(smallest, last.position - left.position + 1);
      const rest = (inside.get(left.stem) ?? 1) - 1;
      if (rest === 0) inside.delete(left.stem);
      else inside.set(left.stem, rest);
    }
  }
  return smallest;
}
