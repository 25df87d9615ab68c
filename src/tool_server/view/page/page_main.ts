import { answerView } from "./answer_view.ts";
import { createHostLink, isObject } from "./host_link.ts";
import { createHostLook } from "./host_look.ts";
import { browser, type Child, element } from "./page_dom.ts";
import { rowsView } from "./rows_view.ts";
import { shownText, wholeCharacters } from "./shown_text.ts";
import { readToolResult } from "./tool_result.ts";

/** Of a text without a view of its own. */
const longestText = 50_000;

const main = browser.document.getElementById("main");
const look = createHostLook();
let limit = 100;
let hasCalled = false;
let canCall = false;

const host = createHostLink({
  onNotification(method, params) {
    switch (method) {
      case "ui/notifications/host-context-changed":
        look.change(params);
        return tellSize();
      case "ui/notifications/tool-input": {
        const asked = isObject(params["arguments"]) ? params["arguments"]["limit"] : undefined;
        if (typeof asked === "number" && asked >= 1 && asked <= 1000 && !hasCalled) limit = Math.floor(asked);
        return;
      }
      case "ui/notifications/tool-result":
        // some hosts tell of the page's own calls too: their results have been taken
        if (!hasCalled) showResult(params);
        return;
      case "ui/notifications/tool-cancelled":
        return show(element("p", { class: "note", role: "status" }, "The call was cancelled."));
    }
  },
});

async function callTool(name: string, args: Readonly<Record<string, unknown>>): Promise<unknown> {
  hasCalled = true;
  return await host.request("tools/call", { name, arguments: args });
}

function showResult(result: unknown): void {
  const shown = readToolResult(result);
  switch (shown.kind) {
    case "rows":
      return show(rowsView(shown, { locale: look.locale, limit, callTool: canCall ? callTool : undefined }));
    case "answer":
      return show(answerView(shown, canCall ? callTool : undefined));
    case "text": {
      const attributes = shown.isError ? { class: "prose fault", role: "alert" } : { class: "prose" };
      return show(element("p", attributes, shownText(wholeCharacters(shown.text, longestText))));
    }
  }
}

function show(child: Child): void {
  main?.replaceChildren(child);
}

let toldHeight = 0;

function tellSize(): void {
  const height = main === null ? undefined : look.heightFor(Math.ceil(main.offsetHeight));
  if (height === undefined || height === toldHeight) return;
  toldHeight = height;
  host.notify("ui/notifications/size-changed", { width: Math.ceil(browser.innerWidth), height });
}

const { capabilities, context } = await host.initialize();
canCall = isObject(capabilities["serverTools"]);
look.change(context);
if (main !== null) new browser.ResizeObserver(tellSize).observe(main);
