/** Marks around data in a prompt or a reply, so that a model does not take it for instructions. */
export interface Fence {
  /** The line before the data, as in `<data-0123456789abcdef0123456789abcdef>`. */
  readonly open: string;
  /** The line after it. */
  readonly close: string;
  /** The text between the two. */
  wrap(text: string): string;
}

/**
 * A fence with a mark that whoever wrote the data cannot know, so that nothing in the data can close it. Make one for
 * each prompt or reply: a mark that was shown once may come back in data.
 *
 * @param random gives 16 hexadecimal digits or more
 */
export function createFence(random: () => string = randomMark): Fence {
  const mark = random();
  const open = `<data-${mark}>`;
  const close = `</data-${mark}>`;
  return {
    open,
    close,
    wrap: (text) => `${open}\n${text.replaceAll(mark, "…")}\n${close}`,
  };
}

function randomMark(): string {
  // 122 random bits
  return crypto.randomUUID().replaceAll("-", "");
}
