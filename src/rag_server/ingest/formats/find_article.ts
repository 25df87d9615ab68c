import { DomUtils, parseDocument } from "htmlparser2";

/** What pages say of themselves that are articles, in schema.org's words or Open Graph's. */
const saysArticle =
  /"@type"\s*:\s*(?:\[\s*)?"(?!Tech)\w*(?:Article|Posting)"|schema\.org\/(?!Tech)\w*(?:Article|BlogPosting)|articleBody/;
const saysArticleToo =
  /<meta[^<>]{1,99}(?:og:type[^<>]{1,99}["']article["']|["']article["'][^<>]{1,99}og:type)/i;
/** What pages have that are made for the web: to be shared, followed, or counted. */
const isPublished =
  /<meta[^<>]{1,99}["'](?:og|twitter):|application\/(?:rss|atom)\+xml|<script[^<>]{1,99}src=["']?(?:https?:)?\/\//i;

const named = (list: string) => new RegExp(`(?:^|[\\s_-])(?:${list})(?:[\\s_-]|$)`, "i");
/** Classes and ids of readers' comments, which may be longer than the article. */
const comments = named("comments?|kommentare?|respond|replies|disqus");
/** Of what else is around an article and in it, and is not its text. */
const besides = named(
  "shar(?:e|es|ing)|social|sociable|sharedaddy|(?:jp-)?related(?:posts)?|recommend\\w*|newsletter|subscri\\w+|promo\\w*|" +
    "sponsored|ads?|advert\\w*|anzeige|outbrain|taboola|breadcrumbs?|byline|authors?|autor|tags?|(?:post)?meta|metadata|" +
    "captions?|figcaption|credits?|copyright|cookies?|consent|disclaimer|popular|trending|most-?read|" +
    "pag(?:er|ination)|nav|navigation|menu|sidebar|widgets?|aside|footer|login|toolbar|rating",
);
/** How lines begin that lead away from an article or name the owner of a picture, in languages of many pages. */
const leadsAway = new RegExp(
  "^\\W*(?:(?:lesen|hören|sehen) sie (?:auch|mehr|dazu)|lies auch|mehr (?:z|aus|info|lesen|erfahren)|auch interessant|" +
    "weitere[sn]? (?:info|artikel|beiträge|themen|link|news)|weiterführende|das könnte (?:dich|sie|dir|ihnen)|ähnliche|" +
    "verwandte|empf[eo]hl|zum (?:weiterlesen|newsletter)|meist|anzeige|werbung|diesen? (?:artikel|beitrag|seite) |teilen|" +
    "drucken|print|komment|comments?\\b|advertisement|read (?:more|also|next)|see also|related|recommended|most read|" +
    "more (?:from|on|stories)|you (?:may|might) (?:also )?like|sign up|subscribe|share (?:this|on|via)|follow us|" +
    "à lire|lire aussi|voir aussi|le[ea] también|(?:le|te) puede interesar|leia (?:também|mais)|leggi anche|zobacz|czytaj|" +
    "©|\\(c\\)|(?:foto|photo|(?:titel|beitrags)?bild(?:nachweis)?|image|credit)s?\\s?[:©])",
  "i",
);

type PageElement = ReturnType<typeof DomUtils.findAll>[number];
type PageNode = Parameters<typeof DomUtils.getInnerHTML>[0];

const bodyClasses =
  /(?:^|\s)(?:(?:entry|post)-content|article(?:-|__)?(?:body|content|text)|story-(?:body|content)|post-(?:body|entry)|entry)(?:\s|$)/i;
/** What holds an article's text, the surest first. */
const bodies: readonly ((element: PageElement) => boolean)[] = [
  ({ attribs }) => attribs["itemprop"] === "articleBody",
  ({ attribs }) => bodyClasses.test(attribs["class"] ?? ""),
  ({ name }) => name === "article",
  ({ name, attribs }) => name === "main" || attribs["role"] === "main",
];

/**
 * The HTML of a page's article: its heading, its lead and its text, without what stands around and between. A page
 * of more than two million characters is none.
 *
 * @returns undefined for a page that is none, such as documentation, or in which hardly any text is found
 */
export function findArticle(html: string): string | undefined {
  if (!looksLikeArticle(html)) return undefined;
  try {
    return cutOut(html);
  } catch (error) {
    // elements in each other by the thousand
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** A larger page is read whole: one of this size takes three seconds. */
const mostCharacters = 2_000_000;

/** A page with code or definitions may be documentation, of which nothing may be lost. */
function looksLikeArticle(html: string): boolean {
  if (html.length > mostCharacters) return false;
  if (saysArticle.test(html)) return true;
  if (/<pre[\s>]/i.test(html) || /(?:<code[\s>][^]*?){3}/i.test(html)) return false;
  return saysArticleToo.test(html) || (isPublished.test(html) && !/<dl[\s>]/i.test(html));
}

function cutOut(html: string): string | undefined {
  const page = parseDocument(html);
  drop(page, comments, 0.8);
  drop(page, besides, 0.4);
  const measured = measure(page);
  const elements = allOf(page);
  const body = findBody(elements, measured);
  if (body === undefined) return undefined;
  const title = elements.findIndex(({ name }) => name === "h1");
  const lead = elements.slice(title < 0 ? elements.length : title + 1, elements.indexOf(body))
    .filter((element) => isLead(element, measured.of(element))).map((element) =>
      DomUtils.getOuterHTML(element)
    );
  const { tree, length, prose } = tidy(lead.join("") + DomUtils.getInnerHTML(body));
  if (length < 100 || prose < measured.prose / 4) return undefined;
  const text = DomUtils.getInnerHTML(tree);
  const heading = elements[title];
  return heading === undefined || /<h1[\s>]/.test(text) ? text : DomUtils.getOuterHTML(heading) + text;
}

/** Whether it is a paragraph, of what is between the heading and the text. */
function isLead({ name }: PageElement, { length, links, hasBlocks }: Figures): boolean {
  return /^(?:p|h2|div)$/.test(name) && !hasBlocks && length >= 80 && links < length * 0.3;
}

/** Of an element: characters, those of links, those of paragraphs and the like that are no mere links. */
const none = { length: 0, links: 0, prose: 0, hasBlocks: false, hasBody: false };
type Figures = typeof none;

const unread = new Set("script style noscript template svg iframe button select head".split(" "));
const blocks = new Set("p li div table".split(" "));
const paragraphs = new Set("p li blockquote td div".split(" "));

/** What each element holds. */
function measure(tree: PageNode) {
  const figures = new Map<PageNode, Figures>();

  function visit(node: PageNode): Figures {
    if (node.type === "text") return { ...none, length: node.data.replace(/^\s+$|(?<=\s)\s+/g, "").length };
    if (!("children" in node) || ("name" in node && unread.has(node.name))) return none;
    let { length, links, prose, hasBlocks, hasBody } = none;
    for (const child of node.children) {
      const part = visit(child);
      length += part.length;
      links += part.links;
      prose += part.prose;
      hasBody ||= part.hasBody;
      hasBlocks ||= part.hasBlocks || ("name" in child && blocks.has(child.name));
    }
    if ("attribs" in node) {
      if (node.name === "a") links = length;
      if (node.name === "h1" || node.attribs["itemprop"] === "articleBody") hasBody = true;
      if (paragraphs.has(node.name) && !hasBlocks) prose = length > 60 && links < length / 2 ? length : 0;
    }
    const sum = { length, links, prose, hasBlocks, hasBody };
    figures.set(node, sum);
    return sum;
  }

  visit(tree);
  return { of: (node: PageNode) => figures.get(node) ?? none, prose: figures.get(tree)?.prose ?? 0 };
}

const allOf = (tree: PageNode) => DomUtils.findAll(() => true, [tree]);

/** Neither measured nor read from then on. To take it out of the tree takes long among thousands. */
const leaveOut = (element: PageElement) => void (element.name = "template");

/** Leaves out what is beside the article by its names, but never the heading or much of the text. @param most a share of it */
function drop(page: PageNode, names: RegExp, most: number): void {
  const measured = measure(page);
  for (const element of allOf(page)) {
    const { hasBody, prose } = measured.of(element);
    const { class: classes = "", id = "", itemprop = "" } = element.attribs;
    if (/^(?:html|body|main|article|h1)$/.test(element.name) || /description|text/i.test(itemprop)) continue;
    if (hasBody || prose > measured.prose * most) continue;
    if (names.test(`${element.name} ${classes} ${id}`.replace(/([a-z])([A-Z])/g, "$1-$2"))) leaveOut(element);
  }
}

/** By its name, else the innermost element that holds most of the prose. */
function findBody(elements: readonly PageElement[], { of, prose }: ReturnType<typeof measure>) {
  const fewest = Math.max(200, prose * 0.3);
  for (const isBody of bodies) {
    const [longest] = elements.filter(isBody).toSorted((a, b) => of(b).prose - of(a).prose);
    if (longest !== undefined && of(longest).prose > fewest) return longest;
  }
  return elements.findLast((element) =>
    of(element).prose > prose * 0.7 && (of(element).hasBlocks || !paragraphs.has(element.name))
  );
}

/** Leaves out what only links or leads away, all of it behind such a line near the end, and headings without text at the end. */
function tidy(html: string) {
  const tree = parseDocument(html);
  const before = measure(tree);
  for (const element of allOf(tree)) {
    const { length, links } = before.of(element);
    const isOne = /^(?:li|p)$/.test(element.name);
    if (length > 400 || !(isOne || /^(?:[uo]l|div|section|table|h[234])$/.test(element.name))) continue;
    if (links > length * (isOne ? 0.9 : 0.6)) leaveOut(element);
  }
  const { of } = measure(tree);
  let passed = 0;
  let isPast = false;
  for (const part of allOf(tree)) {
    const { length, hasBlocks } = of(part);
    if (length === 0 || hasBlocks || !/^(?:h[1-6]|p|li|td|blockquote|div|span|strong)$/.test(part.name)) {
      continue;
    }
    const isInline = part.name === "span" || part.name === "strong";
    if (!isInline) passed += length;
    const isAway = length < 90 && leadsAway.test(DomUtils.textContent(part));
    if (isAway && !isInline && part.name !== "li") isPast ||= passed > of(tree).length * 0.8;
    if (isAway || isPast) leaveOut(part);
  }
  for (const part of allOf(tree).toReversed()) {
    if (/^(?:p|li|td|blockquote)$/.test(part.name) && of(part).length > 0) break;
    if (/^h[1-6]$/.test(part.name)) leaveOut(part);
  }
  return { tree, ...measure(tree).of(tree) };
}
