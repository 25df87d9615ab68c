import {
  documentTemplate,
  documentUri,
  isDocumentUri,
  readDocumentId,
} from "../tools/documents/document_address.ts";
import { readDocument } from "../tools/documents/fetch.ts";
import type { PipelineDirectory } from "../tools/documents/pipeline_directory.ts";
import type { ResourceSource } from "./resource.ts";

/** The documents of pipelines, which are too many to list: `search` and answers lead to them. */
export function documentResources(pipelines: PipelineDirectory): ResourceSource {
  return {
    list: () => [],
    templates: (principal) =>
      pipelines.showing(principal).length === 0 ? [] : [{
        uriTemplate: documentTemplate,
        name: "document",
        title: "Document of a pipeline",
        description: "The text of a document that search or ask_pipeline found",
        mimeType: "text/plain",
      }],
    async read(uri, context) {
      if (!isDocumentUri(uri)) return undefined;
      const address = readDocumentId(uri);
      const document = address && await readDocument(pipelines, address, context);
      if (address === undefined || document === undefined) return undefined;
      return [{ uri: documentUri(address), mimeType: "text/plain", text: document.text }];
    },
    complete({ uriTemplate, variable, value }, { principal }) {
      if (uriTemplate !== documentTemplate) return Promise.resolve(undefined);
      const names = pipelines.showing(principal).map(({ name }) => name);
      return Promise.resolve(variable === "name" ? names.filter((name) => name.startsWith(value)) : []);
    },
  };
}
