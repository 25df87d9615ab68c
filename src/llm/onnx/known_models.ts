import { join } from "node:path";

const name = "all-MiniLM-L6-v2";

/** The model that `-pull` knows by its name, and that the demo uses: English, Apache 2.0. */
export const knownModel = {
  name,
  /** Where `-pull` puts it, in the folder that it runs in, and where the demo looks for it. */
  folder: join("models", name),
  /** Where https://huggingface.co and its mirrors have its files. */
  address: `sentence-transformers/${name}/resolve/1110a243fdf4706b3f48f1d95db1a4f5529b4d41`,
  /** With their SHA-256. */
  files: {
    "onnx/model.onnx": "6fd5d72fe4589f189f8ebc006442dbb529bb7ce38f8082112682524616046452",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
  },
};
