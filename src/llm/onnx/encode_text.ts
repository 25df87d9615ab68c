import { Tokenizer } from "@huggingface/tokenizers";
import { valueAt } from "../../core/yaml/value_tree.ts";
import type { ModelFolder } from "./read_model_folder.ts";

/** A text, or a pair of them, as a model reads it; as many types as ids. */
export interface EncodedText {
  readonly ids: readonly number[];
  /** 1 for tokens of the pair's second text. */
  readonly types: readonly number[];
}

export type TextEncoding = ReturnType<typeof createTextEncoding>;

/** No tokenizer makes fewer tokens of so many characters, but of blanks. */
const charactersPerToken = 32;

/** @throws {TypeError} where the tokenizer is of a type that is not known */
export function createTextEncoding(
  { tokenizer: json, tokenizerConfig, tokenizerFile, maxTokens }: ModelFolder,
) {
  const tokenizer = createTokenizer(json, tokenizerConfig, tokenizerFile);
  const [bare = 0] = tokenizer.encode("a", { add_special_tokens: false }).ids;
  // special tokens that end an input: they stay where it is cut
  const suffixLength = tokenizer.encode("a").ids.toReversed().indexOf(bare);
  const cut = (values: readonly number[]) =>
    values.length <= maxTokens
      ? values
      : [...values.slice(0, maxTokens - suffixLength), ...values.slice(values.length - suffixLength)];

  // RoBERTa has no types, and a tokenizer may number them all the same
  const hasTypes = valueAt(json, ["post_processor", "type"]) !== "RobertaProcessing";
  const pad = valueAt(tokenizerConfig, ["pad_token", "content"]) ?? valueAt(tokenizerConfig, ["pad_token"]);
  return {
    padId: (typeof pad === "string" ? tokenizer.token_to_id(pad) : undefined) ?? 0,
    /** @param other it is cut where both are too long; of `text`, no more characters count then than there may be tokens */
    encode(text: string, other?: string): EncodedText {
      const longest = maxTokens * charactersPerToken;
      const first = other === undefined ? text.slice(0, longest) : text.slice(0, maxTokens);
      const pair = other === undefined ? {} : { text_pair: other.slice(0, longest) };
      const { ids, token_type_ids } = tokenizer.encode(first, { ...pair, return_token_type_ids: true });
      return { ids: cut(ids), types: cut(token_type_ids).map((type) => hasTypes ? type : 0) };
    },
  };
}

const modelTypes: readonly unknown[] = ["WordPiece", "Unigram", "BPE"];

function createTokenizer(json: object, config: object, path: string): Tokenizer {
  const type = valueAt(json, ["model", "type"]);
  try {
    // old files have none
    if (type !== undefined && !modelTypes.includes(type)) {
      throw new TypeError(`it is of type ${type}; expected one of ${modelTypes.join(", ")}`);
    }
    const tokenizer = new Tokenizer(json, config);
    tokenizer.encode("a");
    return tokenizer;
  } catch (error) {
    throw new TypeError(`cannot use ${path}: ${error instanceof Error ? error.message : error}`);
  }
}
