import { type AddressBlock, parseAddressBlock } from "../../core/address.ts";
import type { TokenLimits } from "../../core/principal.ts";
import { defined } from "../../core/defined.ts";
import { AppError } from "../../core/app_error.ts";
import type { EntryReader } from "../credentials/read_records.ts";

/** What a token may be limited to, as the fields of its entry are called. */
export const limitNames = ["tools", "databases", "pipelines", "networks"] as const;

export type LimitName = (typeof limitNames)[number];

/** The limits of a token as they are written, names or networks with commas between them, and read. */
export interface ReadLimits {
  readonly limits?: TokenLimits;
  /** `limits.networks`, parsed. */
  readonly networkBlocks?: readonly AddressBlock[];
}

interface LimitTexts extends Readonly<Partial<Record<LimitName, string>>> {
  readonly database?: string;
}

/** @throws AppError `invalid` naming the limit that cannot be read */
export function parseLimits(texts: LimitTexts): ReadLimits {
  return readTexts(texts, (name, reason) => {
    throw new AppError("invalid", `Cannot limit a token: ${name}: ${reason}`);
  });
}

/** Those of an entry; what is wrong with them is left in the reader. A list that says nothing would limit nothing. */
export function readLimits({ field, fault }: EntryReader): ReadLimits {
  const texts = ["database", ...limitNames].map((name) => [name, field(name) && (field(name)?.text ?? "")]);
  return readTexts(defined(Object.fromEntries(texts)), (name, reason) => fault(name, `${name}: ${reason}`));
}

/** Limits on one line, for people. */
export function limitsText(limits: TokenLimits = {}): string {
  return Object.entries(limits).map(([name, list]) => `${name}: ${list.join(", ") || "none"}`).join("; ") ||
    "-";
}

/** Characters of an entry that is wrong. */
const maxShown = 100;

function readTexts(texts: LimitTexts, fault: (name: LimitName, reason: string) => void): ReadLimits {
  const limits: Partial<Record<LimitName, readonly string[]>> = {};
  for (const name of limitNames) {
    const list = texts[name]?.split(",").map((each) => each.trim());
    if (list === undefined) continue;
    limits[name] = list;
    if (list.includes("")) fault(name, "expected one or more on one line, with commas between them");
    else if (name === "databases" && texts.database) fault(name, "expected none where database names one");
    else if (name === "networks") {
      const wrong = list.find((each) => !parseAddressBlock(each));
      if (wrong === undefined) continue;
      const expected = "expected addresses or CIDR blocks such as 10.0.0.0/8, 2001:db8::/32";
      fault(name, `${expected}, not ${JSON.stringify(wrong.slice(0, maxShown))}`);
    }
  }
  if (Object.keys(limits).length === 0) return {};
  const networkBlocks = limits.networks?.flatMap((each) => parseAddressBlock(each) ?? []);
  return { limits, ...defined({ networkBlocks }) };
}
