import type { StoredDocuments } from "../../src/rag_server/search/stored_documents.ts";

/** Of a retriever whose documents nobody reads one by one. */
export const noDocuments: StoredDocuments = {
  keyOf: () => "1-1",
  detailsOf: (documents) => Promise.resolve(documents.map(() => ({}))),
  read: () => Promise.resolve(undefined),
};
