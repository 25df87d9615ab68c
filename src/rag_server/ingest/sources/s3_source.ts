import { AwsClient } from "aws4fetch";
import { readSecretFile } from "../../../core/files/read_regular_file.ts";
import { type DocumentResponse, requestDocument } from "../../../http/public_document.ts";
import {
  childOf,
  childrenOf,
  decodeXml,
  firstElement,
  textOf,
  type XmlElement,
} from "../formats/zipped/xml.ts";
import { askPatiently, inUtf8, type RemoteFile, type RemoteSource } from "./remote_source.ts";

/** The objects of a bucket whose keys begin with a prefix, on any server with the interface of Amazon's S3. */
export interface S3Settings {
  readonly bucket: string;
  readonly prefix?: string | undefined;
  /** Without it, Amazon's of the region. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Whether the bucket stands in the path, not in the host's name; without it, where there is an endpoint. */
  readonly path_style?: boolean | undefined;
  readonly access_key_id?: string | undefined;
  readonly secret_key_file?: string | undefined;
  /** Where there is no `access_key_id`. Without either the bucket is one that everybody may read. */
  readonly keys?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string } | undefined;
}

const maxListBytes = 16 * 1024 * 1024;

export function openS3Source(settings: S3Settings): RemoteSource {
  const { bucket, prefix = "", region = "us-east-1", endpoint, access_key_id: accessKeyId } = settings;
  const base = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
  const isInPath = settings.path_style ?? endpoint !== undefined;
  if (isInPath) base.pathname = `${base.pathname.replace(/\/$/, "")}/${bucket}`;
  else base.hostname = `${bucket}.${base.hostname}`;
  const root = base.href.replace(/\/?$/, "/");
  let client: AwsClient | undefined;

  async function get(address: string, maxBytes: number, signal: AbortSignal) {
    const response = await askPatiently(async (soon) => {
      const headers = Object.fromEntries((await client?.sign(address))?.headers ?? []);
      return await requestDocument(new URL(address), maxBytes, soon, { headers, isAllowed: () => true });
    }, signal);
    if (response.status === 200) return response;
    if (response.status < 500 && isPage(response)) throw new Error(aPage);
    const error = firstElement(response.body, "Error");
    const code = textOf(childOf(error, "Code"));
    const other = response.headers.get("x-amz-bucket-region") || textOf(childOf(error, "Region"));
    const isElsewhere = response.status >= 300 && response.status < 400 && other !== region;
    if (isElsewhere && /^[\w-]{1,64}$/.test(other)) {
      throw new Error(`the bucket is in region ${other}, not ${region}; set region to ${other}`);
    }
    throw new Error(`the server answers ${response.status}${/^\w{1,64}$/.test(code) ? ` (${code})` : ""}`);
  }

  function fileOf(object: XmlElement): RemoteFile[] {
    const valueOf = (name: string) => textOf(childOf(object, name));
    const key = valueOf("Key");
    const mark = valueOf("ETag") || valueOf("LastModified");
    if (mark === "") throw new Error(notWhole);
    // consoles make an object of this kind for a folder
    if (key.endsWith("/")) return [];
    const path = key.slice(prefix.length).replace(/^\//, "") || key;
    const read = async (_known: string | undefined, maxBytes: number, signal: AbortSignal) => {
      const { body, headers } = await get(root + key.split("/").map(encoded).join("/"), maxBytes, signal);
      const bytes = body && inUtf8(body, path, headers.get("content-type") ?? "");
      return { bytes, mark: headers.get("etag") || mark };
    };
    return [{ path, mark, size: Number(valueOf("Size")), read }];
  }

  return {
    async list(signal) {
      const file = settings.secret_key_file;
      const keys = accessKeyId === undefined || file === undefined
        ? settings.keys
        : { accessKeyId, secretAccessKey: await readSecretFile(file, "the secret key") };
      client = keys && new AwsClient({ ...keys, region, service: "s3" });
      const files: RemoteFile[] = [];
      let token = "";
      do {
        const before = token;
        const more = token === "" ? "" : `&continuation-token=${encoded(token)}`;
        const query = `list-type=2&prefix=${encoded(prefix)}${more}`;
        const response = await get(`${root}?${query}`, maxListBytes, signal);
        if (response.status < 500 && isPage(response)) throw new Error(aPage);
        const { body } = response;
        const list = firstElement(body, "ListBucketResult");
        if (!/<\/(?:\w+:)?ListBucketResult>\s*$/.test(decodeXml(body))) throw new Error(notWhole);
        files.push(...childrenOf(list, "Contents").flatMap(fileOf));
        const isCut = textOf(childOf(list, "IsTruncated")) === "true";
        token = isCut ? textOf(childOf(list, "NextContinuationToken")) : "";
        if (isCut && (token === "" || token === before)) throw new Error(notWhole);
      } while (token !== "");
      return files;
    },
  };
}

/** Whether a server that people look at answers, where a list or an error as of S3 would be XML. */
const isPage = ({ headers }: DocumentResponse) => /^text\/html\b/i.test(headers.get("content-type") ?? "");

const aPage = "a web page answers, as of a console; set endpoint to the address of the server's S3 interface";
const notWhole = "the server's list is not whole";

/** As signatures want it (RFC 3986, section 2.3). */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
}
