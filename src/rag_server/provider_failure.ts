/** For layers that know pipelines but no providers. */
export { ProviderError } from "../llm/provider_error.ts";
