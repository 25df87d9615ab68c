import { Buffer } from "node:buffer";
import { sleep } from "../../../core/async/deadline.ts";
import { sha256 } from "../../../core/text/sha256.ts";
import { sizeText } from "../../../core/text/units.ts";
import { isPublicAddress, requestDocument } from "../../../http/public_document.ts";
import { formatOf, suffixOf } from "../formats/document_formats.ts";
import { childOf, decodeXml, eachElement, textOf } from "../formats/zipped/xml.ts";
import {
  askPatiently,
  inUtf8,
  type RemoteFile,
  type RemoteReading,
  type RemoteSource,
} from "./remote_source.ts";
import { readRobots } from "./robots_rules.ts";

/** Pages: those that a sitemap lists, and those that are named. */
export interface WebSettings {
  readonly sitemap?: string | undefined;
  readonly pages?: readonly string[] | undefined;
  /** Between two requests, in milliseconds; 1,000. */
  readonly delay?: number | undefined;
  /** 1,000. */
  readonly max_pages?: number | undefined;
  /** Whose addresses need not be of the public internet. */
  readonly private_hosts?: readonly string[] | undefined;
}

const mostRedirects = 5;
/** Of a sitemap, unpacked too (sitemaps.org). */
const maxSitemapBytes = 50 * 1024 * 1024;
const maxRobotsBytes = 512 * 1024;
const robotsReason = "robots.txt asks not to read it";

/** Reads one page after the other, with a pause between, from the hosts that the settings name alone. */
export function openWebSource(settings: WebSettings): RemoteSource {
  const { sitemap, pages = [], delay = 1_000, max_pages: maxPages = 1_000, private_hosts = [] } = settings;
  const starts = sitemap === undefined ? [] : [sitemap];
  const hosts = new Set([...starts, ...pages].map((address) => new URL(address).host));
  const robots = new Map<string, ReturnType<typeof readRobots>>();
  let nextAt = 0;

  async function ask(url: URL, maxBytes: number, signal: AbortSignal, headers: Record<string, string>) {
    await sleep(Math.max(0, nextAt - performance.now()), signal);
    let isPrivate = false;
    const isAllowed = (address: string) => {
      isPrivate = !private_hosts.includes(url.hostname) && !isPublicAddress(address);
      return !isPrivate;
    };
    try {
      return await requestDocument(url, maxBytes, signal, { headers, isAllowed });
    } catch (error) {
      throw isPrivate ? new Error(`${url.hostname} has a private address; name it in private_hosts`) : error;
    } finally {
      nextAt = performance.now() + delay;
    }
  }

  /** Follows redirects, each looked at as the first address. @returns undefined where `robots.txt` asks not to read it */
  async function get(url: URL, maxBytes: number, signal: AbortSignal, headers: Record<string, string> = {}) {
    for (let hops = 0; hops <= mostRedirects; hops++) {
      if (!hosts.has(url.host) || !/^https?:$/.test(url.protocol)) {
        throw new Error(`it leads to ${url.href}, which is not of the sitemap's or the pages' hosts`);
      }
      if (url.pathname !== "/robots.txt" && !await mayRead(url, signal)) return undefined;
      const target = url;
      const response = await askPatiently((soon) => ask(target, maxBytes, soon, headers), signal);
      const location = response.headers.get("location");
      if (![301, 302, 303, 307, 308].includes(response.status) || location === null) return response;
      url = new URL(location, url);
    }
    throw new Error("it leads from one address to the next");
  }

  async function mayRead(url: URL, signal: AbortSignal): Promise<boolean> {
    let rules = robots.get(url.origin);
    if (rules === undefined) {
      const address = new URL("/robots.txt", url);
      const { status = 0, body } = await get(address, maxRobotsBytes, signal) ?? {};
      if (status !== 200 && (status < 400 || status >= 500)) throw new Error(`${address} answers ${status}`);
      rules = readRobots(status === 200 ? new TextDecoder().decode(body) : "");
      robots.set(url.origin, rules);
    }
    return rules(url.pathname + url.search);
  }

  /** The addresses in a sitemap: of pages, as `url`, and of other sitemaps. */
  async function readSitemap(address: string, signal: AbortSignal) {
    const { status, body = new Uint8Array() } = await get(new URL(address), maxSitemapBytes, signal) ?? {};
    if (status !== 200) throw new Error(`${address} answers ${status ?? robotsReason}`);
    const isPacked = body[0] === 0x1f && body[1] === 0x8b;
    const xml = isPacked ? await unpack(body) : body;
    if (!/<\/(?:urlset|sitemapindex)>\s*$/.test(decodeXml(xml))) throw new Error(`${address} is not whole`);
    const found = { url: [] as string[], sitemap: [] as string[] };
    eachElement(xml, ["url", "sitemap"], (element) => {
      const location = textOf(childOf(element, "loc")).trim();
      if (URL.canParse(location)) found[element.name as keyof typeof found].push(location);
    });
    return found;
  }

  async function read(url: URL, known = "", maxBytes: number, signal: AbortSignal): Promise<RemoteReading> {
    const [, field = "", value = ""] = /^(if-\S+) (.*)$/.exec(known) ?? [];
    const response = await get(url, maxBytes, signal, field === "" ? {} : { [field]: value });
    if (response === undefined) return { skipped: robotsReason };
    const { status, body, headers } = response;
    if (status === 304) return "unchanged";
    if (status === 404 || status === 410) return { skipped: `the server answers ${status}` };
    if (status !== 200) throw new Error(`the server answers ${status}`);
    const [tag, date] = [headers.get("etag"), headers.get("last-modified")];
    const mark = tag ? `if-none-match ${tag}` : date ? `if-modified-since ${date}` : sha256(body ?? "");
    if (mark === known) return "unchanged";
    const contentType = headers.get("content-type") ?? "";
    const [, type = ""] = /^\w+\/([\w.-]+)/.exec(contentType) ?? [];
    const isRead = (suffix: string) => suffix !== "" && formatOf(`page.${suffix}`) !== undefined;
    const suffix = [type, suffixOf(url.pathname), type === "plain" ? "txt" : ""].find(isRead) ?? "unknown";
    return { bytes: body && inUtf8(body, `page.${suffix}`, contentType), mark, suffix };
  }

  async function pageOf(address: string, signal: AbortSignal): Promise<RemoteFile> {
    const url = new URL(address);
    url.hash = "";
    const isOurs = hosts.has(url.host);
    const reason = isOurs && await mayRead(url, signal)
      ? undefined
      : isOurs
      ? robotsReason
      : "it is on another host";
    return { path: url.href, reason, read: (...how) => read(url, ...how) };
  }

  return {
    async list(signal) {
      robots.clear();
      const found = new Set(pages);
      const sitemaps = new Set(starts);
      // it grows meanwhile
      for (const address of sitemaps) {
        const listed = await readSitemap(address, signal);
        for (const more of listed.sitemap) sitemaps.add(more);
        for (const page of listed.url) found.add(page);
        if (Math.max(found.size, sitemaps.size) > maxPages) {
          throw new Error(`it lists more than ${maxPages} pages; raise max_pages`);
        }
      }
      const files: RemoteFile[] = [];
      for (const page of found) files.push(await pageOf(page, signal));
      return files;
    },
  };
}

/** Of gzip. What is small when it is packed may be endless. */
async function unpack(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const packed = new Blob([bytes]).stream();
  for await (const part of packed.pipeThrough(new DecompressionStream("gzip"))) {
    size += part.length;
    if (size > maxSitemapBytes) {
      throw new Error(`a sitemap unpacks to more than ${sizeText(maxSitemapBytes)}`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts);
}
