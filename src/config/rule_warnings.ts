import { type LimitName, limitNames } from "../core/quotas/usage_counts.ts";
import { noName } from "./schema/identity.ts";
import { listOf, mapOf, type SettingPath, valueAt, type ValueMap } from "../core/yaml/value_tree.ts";
import { type PlaceOf, settingAt } from "../core/yaml/file_fault.ts";

/** One warning for each setting that has no effect, or another than it seems to, beside the others. */
export function ruleWarnings(tree: ValueMap, place: PlaceOf): string[] {
  const at = (path: SettingPath) => settingAt(path, place);
  return [
    ...unmatchedCallerWarnings(tree, place),
    ...redirectsWithStars(tree).map((path) =>
      `${at(path)} matches no address with other text in place of *: addresses are compared to the letter`
    ),
    ...(valueAt(tree, ["audit", "texts"]) === true && valueAt(tree, ["audit", "file"]) === undefined
      ? [`${at(["audit", "texts"])} has no effect without audit.file`]
      : []),
    ...(tree["data_dir"] === undefined && valueAt(tree, ["state", "database"]) === undefined &&
        haveWindowLimits(tree["limits"])
      ? [
        `${
          at(["limits"])
        }: minutes and days begin anew whenever the server starts: set data_dir to have what was used kept`,
      ]
      : []),
  ];
}

function redirectsWithStars(tree: ValueMap): SettingPath[] {
  const path = ["http", "auth", "oauth", "allowed_redirect_uris"];
  return listOf(valueAt(tree, path)).flatMap((uri, index) =>
    String(uri).includes("*") ? [[...path, index]] : []
  );
}

const ofWindows: readonly LimitName[] = limitNames.filter((name) => name !== "calls_at_once");

function haveWindowLimits(limits: unknown): boolean {
  const named = ["principals", "groups"].flatMap((part) => Object.values(mapOf(valueAt(limits, [part]))));
  return [valueAt(limits, ["default"]), valueAt(limits, ["all"]), ...named].some((numbers) =>
    ofWindows.some((name) => valueAt(numbers, [name]) !== undefined)
  );
}

/** One warning for each place that names callers whom nobody can be. */
function unmatchedCallerWarnings(tree: ValueMap, place: PlaceOf): string[] {
  const warn = (path: SettingPath, message: string) => `${settingAt(path, place)} ${message}`;
  return [
    ...unmatchedGroups(tree).map(({ path, lets, from }) =>
      warn(path, `${lets}: groups come from ${from}, which is not given`)
    ),
    ...namesOf(tree, "groups").filter((name) => name.startsWith(groupPrefix)).map((name) =>
      warn(
        ["limits", "groups", name],
        `holds for a group that has this name, prefix included; ${meant(name)}`,
      )
    ),
    ...namesOf(tree, "principals").flatMap((name) => {
      const doubt = doubtAbout(name, tree);
      return doubt === undefined ? [] : [warn(["limits", "principals", name], doubt)];
    }),
  ];
}

const groupPrefix = "group:";
const meant = (name: string) =>
  `for the group itself write ${JSON.stringify(name.slice(groupPrefix.length))}`;

/** Groups are told by issuers alone: of the tool server for its databases, of either server for the rest. */
function unmatchedGroups(tree: ValueMap): { path: SettingPath; lets: string; from: string }[] {
  const { http, server } = tree;
  const ofLogin = valueAt(http, ["auth", "oauth", "login", "groups_claim"]) !== undefined;
  const [ofTools, ofRag] = [http, server].map((section) =>
    ofLogin || valueAt(section, ["auth", "identity_provider", "groups_claim"]) !== undefined
  );
  const fromTools = "http.auth.identity_provider.groups_claim, or that of http.auth.oauth.login";
  const fromEither = "the groups_claim of an identity_provider or of http.auth.oauth.login";
  const groupsIn = (path: SettingPath, lets: string, from: string) =>
    listOf(valueAt(tree, path)).flatMap((user, at) =>
      typeof user === "string" && user.startsWith(groupPrefix) ? [{ path: [...path, at], lets, from }] : []
    );
  const lists = (part: string, from: string) =>
    listOf(tree[part]).flatMap((_, index) =>
      groupsIn([part, index, "available_to_users"], "lets nobody in", from)
    );
  return [
    ...(ofTools ? [] : lists("databases", fromTools)),
    ...(ofTools || ofRag ? [] : [
      ...lists("pipelines", fromEither),
      ...groupsIn(["console", "administrators"], "names nobody", fromEither),
      ...namesOf(tree, "groups").map((name) => ({
        path: ["limits", "groups", name],
        lets: "holds for nobody",
        from: fromEither,
      })),
    ]),
  ];
}

/**
 * A caller is a token by its id, a user by name, somebody else's by subject or `ISSUER#SUBJECT`. A subject may be any text:
 * where there are some, a name that looks wrong may be right.
 */
function doubtAbout(name: string, tree: ValueMap): string | undefined {
  const looks = looksLike(name, issuersOf(tree));
  if (looks === undefined) return undefined;
  return `holds for ${
    issuersOf(tree).length === 0 ? "nobody" : "a subject of just this text alone"
  }: ${looks}`;
}

function looksLike(name: string, issuers: readonly string[]): string | undefined {
  if (name.startsWith(groupPrefix)) return "limits of groups stand in limits.groups";
  const [, kind, id] = /^(token|session|user|issuer):(.*)$/.exec(name) ?? [];
  if (kind === "session") return "write the user's name";
  if (kind !== undefined) return `write ${JSON.stringify(id)}, without ${kind}:`;
  const [, issuer] = /^(https?:\/\/[^#]*|proxy(?:-[a-z0-9-]+)?:[^#]*)#/.exec(name) ?? [];
  if (issuer === undefined || issuers.includes(issuer)) return undefined;
  if (issuers.length === 0) return "there is neither an identity_provider nor identity";
  return `${issuer} is none of ${issuers.join(", ")}`;
}

/** What stands before `#` in the names of callers whom somebody else vouches for. */
function issuersOf({ http, server, identity }: ValueMap): string[] {
  const ofBoth = [http, server].map((section) => valueAt(section, ["auth", "identity_provider", "issuer"]));
  const urls = [...ofBoth, valueAt(http, ["auth", "oauth", "login", "issuer"])];
  const claimsHeader = valueAt(identity, ["claims_header"]) ?? "X-Forwarded-Claims";
  const header = claimsHeader === noName
    ? valueAt(identity, ["subject_header"]) ?? "X-Forwarded-User"
    : claimsHeader;
  const proxies = valueAt(identity, ["enabled"]) === true
    ? ["proxy", "proxy-subject-sha256", "proxy-claims-sha256"].map((kind) => `${kind}:${header}`)
    : [];
  return [...new Set([...urls.filter((url) => typeof url === "string"), ...proxies])];
}

function namesOf(tree: ValueMap, part: "principals" | "groups"): string[] {
  return Object.keys(mapOf(valueAt(tree, ["limits", part])));
}
