/** A list of HTML with those inside of it, as lines. */
export interface ListText {
  /** @param name of any element within */
  open(name: string): void;
  text(piece: string): void;
  /** True where this was the outermost list's end. */
  close(name: string): boolean;
  build(): string;
}

export function createListText(): ListText {
  const lines: string[] = [];
  /** Of each open list: the number of its last item; undefined where it has no numbers. */
  const lists: { isOrdered: boolean; items: number }[] = [];
  let openElements = 0;
  let mark: string | undefined;

  const isList = (name: string) => name === "ul" || name === "ol";
  return {
    open(name) {
      if (isList(name) || name === "li") openElements++;
      if (isList(name)) lists.push({ isOrdered: name === "ol", items: 0 });
      if (name !== "li") return;
      const list = lists.at(-1) ?? { isOrdered: false, items: 0 };
      list.items++;
      mark = list.isOrdered ? `${list.items}. ` : "- ";
    },
    text(piece) {
      const depth = Math.max(0, lists.length - 1);
      const [first, ...more] = piece.trim().split("\n");
      const inner = "  ".repeat(depth + 1);
      lines.push(mark === undefined ? `${inner}${first}` : `${"  ".repeat(depth)}${mark}${first}`);
      lines.push(...more.map((line) => inner + line));
      mark = undefined;
    },
    close(name) {
      if (isList(name)) lists.pop();
      if (isList(name) || name === "li") openElements--;
      return openElements === 0;
    },
    build: () => lines.join("\n"),
  };
}
