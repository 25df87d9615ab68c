import { AppError } from "../core/app_error.ts";

/** The terminal or pipe that a password comes from. */
export interface PasswordInput {
  isTerminal(): boolean;
  /** With true, the terminal shows nothing of what is typed, and hands on every key. */
  setRaw(raw: boolean): void;
  /** The number of bytes read, null at the end. */
  read(buffer: Uint8Array): Promise<number | null>;
}

interface AskPasswordOptions {
  readonly input?: PasswordInput;
  /** Takes the prompts and the line ends; standard error where it is absent. */
  readonly write?: (text: string) => void;
}

/**
 * Asks for a new password: at a terminal twice, with nothing shown of it; elsewhere the first line that comes in is it.
 *
 * @throws AppError `invalid` where the two differ, or the input ends or is interrupted before a line's end
 */
export async function askNewPassword(username: string, options: AskPasswordOptions = {}): Promise<string> {
  const { input = Deno.stdin, write = writeToStderr } = options;
  if (!input.isTerminal()) return await readLine(input);
  const first = await askUnseen(`Password for ${username}: `, input, write);
  const second = await askUnseen("The same again: ", input, write);
  if (first !== second) throw new AppError("invalid", "Cannot set the password: the two are not the same");
  return first;
}

/** Asks at a terminal for one line that it does not show. @throws AppError `invalid`, as askNewPassword() */
export async function askUnseen(
  prompt: string,
  input: PasswordInput = Deno.stdin,
  write: (text: string) => void = writeToStderr,
): Promise<string> {
  // before the prompt, as whoever sees that may type
  input.setRaw(true);
  try {
    write(prompt);
    return await readLine(input);
  } finally {
    input.setRaw(false);
    write("\n");
  }
}

/** Asks at a terminal for one line, which the terminal itself shows and edits. Without text it is the default. */
export async function askLine(prompt: string, byDefault = ""): Promise<string> {
  writeToStderr(byDefault === "" ? `${prompt}: ` : `${prompt} [${byDefault}]: `);
  const text = await readLine(Deno.stdin, false);
  return text.trim() || byDefault;
}

const keys = {
  interrupt: 0x03,
  endOfInput: 0x04,
  backspace: 0x08,
  newline: 0x0a,
  enter: 0x0d,
  eraseLine: 0x15,
  del: 0x7f,
};

// the arrow keys and their like (ECMA-48, sections 5.4 and 8.3.143)
const specialKeys = new RegExp(`${String.fromCharCode(0x1b)}(?:\\[[0-?]*[ -/]*[@-~]|O.|)`, "g");

// byte by byte, so that nothing of a second line is taken
async function readLine(input: PasswordInput, raw = input.isTerminal()): Promise<string> {
  const bytes: number[] = [];
  const buffer = new Uint8Array(1);
  while (await input.read(buffer) !== null) {
    const [byte = 0] = buffer;
    if (byte === keys.newline || (raw && byte === keys.enter)) return decode(bytes, raw);
    if (!raw) bytes.push(byte);
    else if (byte === keys.interrupt || (byte === keys.endOfInput && bytes.length === 0)) break;
    else if (byte === keys.eraseLine) bytes.length = 0;
    else if (byte === keys.backspace || byte === keys.del) eraseCharacter(bytes);
    else bytes.push(byte);
  }
  if (!raw && bytes.length > 0) return decode(bytes, raw);
  throw new AppError("invalid", "Cannot read the password: none was given");
}

function eraseCharacter(bytes: number[]): void {
  // the bytes of a character after its first are 10xxxxxx in UTF-8
  while (bytes.length > 0) if (((bytes.pop() ?? 0) & 0xc0) !== 0x80) return;
}

function decode(bytes: readonly number[], raw: boolean): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
    return raw ? text.replace(specialKeys, "") : text.replace(/\r$/, "");
  } catch (cause) {
    throw new AppError("invalid", "Cannot read the password: it is not UTF-8 text", { cause });
  }
}

function writeToStderr(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(text));
}
