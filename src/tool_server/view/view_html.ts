// made by tools/build_view.ts of the files in page/
// deno-fmt-ignore-file

/** The page that hosts show results in. */
export const viewHtml = `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-H6xz1pz4xjh2/ujQbeKqJCDxbyLcWzUXcc66YJsSYJc='; style-src 'sha256-zxWr8ucoqSIK91efuVIwfhLJI5UiQnYLSZQwnanMqI4='; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Result</title>
    <style>:root {
  color-scheme: light dark;
  --back: var(--color-background-primary, light-dark(#ffffff, #1c1c1f));
  --raised: var(--color-background-secondary, light-dark(#f6f6f8, #26262b));
  --ink: var(--color-text-primary, light-dark(#1d1d22, #ececf1));
  --faint: var(--color-text-secondary, light-dark(#5f6068, #a5a6b0));
  --edge: var(--color-border-primary, light-dark(#dedfe5, #3a3b43));
  --accent: light-dark(#3257c9, #8fabff);
  --marked: light-dark(#fff0b8, #574a14);
  --alarm: light-dark(#b3261e, #ff9c94);
  --sans: var(--font-sans, system-ui, sans-serif);
  --mono: var(--font-mono, ui-monospace, monospace);
}
* {
  box-sizing: border-box;
}
body {
  margin: 0;
  background: var(--back);
  color: var(--ink);
  font: 14px/1.45 var(--sans);
}
main {
  padding: 12px 14px;
  overflow: hidden;
}
h1 {
  margin: 0;
  font-size: 14px;
  font-weight: 600;
}
h2 {
  margin: 16px 0 4px;
  font-size: 13px;
  font-weight: 600;
  color: var(--faint);
}
button,
select {
  font: inherit;
  color: inherit;
}
:focus-visible {
  outline: 2px solid var(--accent);
  outline-offset: -2px;
  border-radius: 4px;
}
[hidden] {
  display: none !important;
}

.head {
  display: flex;
  align-items: baseline;
  gap: 8px;
  margin-bottom: 10px;
}
.database,
.note,
.type,
.score,
figcaption {
  color: var(--faint);
  font-size: 12px;
}
.database::before {
  content: "in ";
}
.note {
  margin: 6px 0 0;
}
.fault {
  margin: 8px 0 0;
  color: var(--alarm);
  overflow-wrap: anywhere;
}
.fault:empty {
  display: none;
}

.scroll {
  max-height: 420px;
  overflow: auto;
  border: 1px solid var(--edge);
  border-radius: 8px;
}
table {
  border-collapse: separate;
  border-spacing: 0;
  min-width: 100%;
}
.unseen-caption {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
}
th {
  position: sticky;
  top: 0;
  padding: 0;
  background: var(--raised);
  border-bottom: 1px solid var(--edge);
  text-align: start;
  vertical-align: bottom;
  font-weight: 600;
}
th button {
  display: block;
  width: 100%;
  padding: 6px 12px;
  border: 0;
  background: none;
  text-align: inherit;
  white-space: nowrap;
  font-weight: 600;
  cursor: pointer;
}
th button:hover .name {
  text-decoration: underline;
}
th .type {
  display: block;
  font-weight: 400;
  font-size: 11px;
}
.arrow {
  display: inline-block;
  width: 1.1em;
  text-align: end;
  color: var(--accent);
}
th[aria-sort="ascending"] .arrow::before {
  content: "\\2191";
}
th[aria-sort="descending"] .arrow::before {
  content: "\\2193";
}
td {
  padding: 5px 12px;
  border-bottom: 1px solid var(--edge);
  vertical-align: top;
}
.cell {
  width: max-content;
  max-width: 30em;
  white-space: pre-wrap;
  overflow-wrap: anywhere;
}
td.number .cell,
td.time .cell {
  font-variant-numeric: tabular-nums;
}
th.number,
td.number {
  text-align: end;
}
th.number .arrow {
  width: auto;
}
td.number .cell {
  margin-inline-start: auto;
}
html:not(.fills) div:has(> figure) + .rows .scroll {
  max-height: 260px;
}
tbody tr:last-child td {
  border-bottom: 0;
}
tbody tr:hover td {
  background: var(--raised);
}
td.null .cell {
  color: var(--faint);
  font-size: 11px;
  font-style: italic;
  letter-spacing: 0.04em;
  line-height: 20px;
}
bdi {
  unicode-bidi: isolate;
}
.unseen {
  padding: 0 3px;
  margin: 0 1px;
  border: 1px solid var(--edge);
  border-radius: 3px;
  color: var(--alarm);
  font: 11px var(--mono);
}
.more {
  padding: 0;
  border: 0;
  background: none;
  color: var(--accent);
  font-size: 12px;
  cursor: pointer;
  text-decoration: underline;
  white-space: nowrap;
}
.expandable:has([aria-expanded="true"]) .long {
  display: block;
  max-height: 240px;
  overflow: auto;
}

.foot {
  display: flex;
  align-items: center;
  gap: 12px;
  margin-top: 8px;
}
.foot .note {
  margin: 0;
}
.foot:not(:has(> :not([hidden]))) {
  display: none;
}
.next {
  flex: none;
  padding: 4px 12px;
  border: 1px solid var(--edge);
  border-radius: 6px;
  background: var(--raised);
  cursor: pointer;
}
.next:hover {
  border-color: var(--accent);
}
.next:disabled {
  opacity: .6;
  cursor: progress;
}
details.sql {
  margin-top: 8px;
}
summary {
  cursor: pointer;
  color: var(--faint);
  font-size: 12px;
  width: fit-content;
}
pre {
  margin: 6px 0 0;
  padding: 8px 12px;
  max-height: 200px;
  overflow: auto;
  border-radius: 8px;
  background: var(--raised);
  font: 12px/1.5 var(--mono);
  white-space: pre-wrap;
  overflow-wrap: anywhere;
}

figure {
  margin: 0 0 12px;
  padding: 10px 12px;
  border: 1px solid var(--edge);
  border-radius: 8px;
}
figcaption {
  display: flex;
  align-items: center;
  gap: 12px;
  margin-bottom: 8px;
}
figcaption .readout {
  margin-inline-start: auto;
  color: var(--ink);
  font-variant-numeric: tabular-nums;
}
figcaption select {
  margin-inline-start: auto;
  padding: 2px 6px;
  border: 1px solid var(--edge);
  border-radius: 6px;
  background: var(--raised);
  font-size: 12px;
  max-width: 50%;
}
.readout + select {
  margin-inline-start: 0;
}
.plot {
  max-height: 300px;
  overflow: auto;
}
.bars {
  display: grid;
  grid-template-columns: fit-content(38%) 1fr auto;
  gap: 5px 10px;
  align-items: center;
  font-size: 13px;
}
.bars .label {
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.bars .value {
  text-align: end;
  font-variant-numeric: tabular-nums;
}
.track {
  position: relative;
  height: 14px;
}
.bar {
  position: absolute;
  height: 100%;
  min-width: 1px;
  border-radius: 2px;
  background: var(--accent);
}
svg {
  display: block;
}
svg text {
  fill: var(--faint);
  font: 11px var(--sans);
  font-variant-numeric: tabular-nums;
}
.grid {
  stroke: var(--edge);
}
.curve {
  fill: none;
  stroke: var(--accent);
  stroke-width: 2;
  stroke-linejoin: round;
}
circle {
  fill: var(--accent);
}
.line {
  min-height: 200px;
}

.prose {
  margin: 0;
  white-space: pre-wrap;
  overflow-wrap: anywhere;
}
mark {
  background: var(--marked);
  color: inherit;
  border-radius: 3px;
  padding: 0 1px;
}
.answer {
  max-height: 680px;
  overflow: auto;
}
.answer ol {
  margin: 0;
  padding: 0;
  list-style: none;
  counter-reset: source;
}
.answer li {
  counter-increment: source;
  border-top: 1px solid var(--edge);
  padding: 6px 0;
}
.answer summary,
.answer .summary {
  display: flex;
  gap: 10px;
  width: auto;
  color: var(--ink);
  font-size: 13px;
}
.answer summary::before,
.answer .summary::before {
  content: counter(source);
  flex: none;
  min-width: 1.4em;
  color: var(--faint);
  font-variant-numeric: tabular-nums;
}
.preview {
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.score {
  flex: none;
  margin-inline-start: auto;
  font-variant-numeric: tabular-nums;
}
details[open] > summary .preview {
  font-weight: 600;
}
.answer .content {
  margin: 6px 0 2px calc(1.4em + 10px);
  color: var(--faint);
  font-size: 13px;
  max-height: 320px;
  overflow: auto;
}
.answer .content mark {
  color: var(--ink);
}

.fills,
.fills body {
  height: 100%;
}
.fills main {
  height: 100%;
  overflow: auto;
}
.fills .scroll,
.fills .answer,
.fills .plot {
  max-height: none;
}
@media (forced-colors: active) {
  .bar {
    background: CanvasText;
  }
}
@media (max-width: 420px) {
  main {
    padding: 10px;
  }
  td,
  th button {
    padding-inline: 8px;
  }
}
</style>
  </head>
  <body>
    <main id="main">
      <p class="note" role="status">Waiting for the result&hellip;</p>
    </main>
    <script type="module">var v=globalThis;function a(e,t={},...n){return P(v.document.createElement(e),t,n)}function S(e,t,...n){return P(v.document.createElementNS("http://www.w3.org/2000/svg",e),t,n)}function P(e,t,n){for(let[r,o]of Object.entries(t))e.setAttribute(r,String(o));return e.append(...n),e}function U(e,t){let[n,r]=[J(e),J(t)],o=new Map;for(let[c]of n.entries()){let s=Q(n,c);s!==void 0&&o.set(s,[...o.get(s)??[],c].slice(0,50))}let i=[];for(let c=0;c<r.length;){let s=Q(r,c),l=Math.max(0,...(s===void 0?[]:o.get(s)??[]).map(w=>xe(n,w,r,c))),[u,m]=[r[c],r[c+l-1]],d=u!==void 0&&m!==void 0&&m.to-u.from>=14;d&&i.push({from:u.from,to:m.to}),c+=d?l:1}return i}function J(e){return Array.from(e.slice(0,5e4).matchAll(/[\\p{L}\\p{M}\\p{N}]+(?:[.,]\\p{N}+)*/gu),({0:t,index:n})=>({key:t.toLowerCase(),from:n,to:n+t.length}))}function Q(e,t){return t+3>e.length?void 0:e.slice(t,t+3).map(({key:n})=>n).join(" ")}function xe(e,t,n,r){let o=0;for(;e[t+o]!==void 0&&e[t+o]?.key===n[r+o]?.key;)o++;return o}var Y=160,we=2e5,ye=/[\\0-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069]/g;function Me(e){let t=[],n=0;for(let{index:r,0:o}of e.matchAll(ye)){r>n&&t.push({text:e.slice(n,r),isMark:!1});let i=o.charCodeAt(0).toString(16).toUpperCase().padStart(4,"0");t.push({text:\`U+\${i}\`,isMark:!0}),n=r+1}return n<e.length&&t.push({text:e.slice(n),isMark:!1}),t}function x(e){let t=Me(e).map(({text:n,isMark:r})=>r?a("span",{class:"unseen"},n):n);return a("bdi",{},...t)}function Z(e,t){if(e.length<=Y)return x(e);let n=a("span",{class:"long"}),r=a("button",{type:"button",class:"more"}),o=!1;function i(){let c=o?we:Y,s=e.length>c;n.replaceChildren(x(N(e,c)),s?"\\u2026":""),r.textContent=o?"Less":\`All \${e.length.toLocaleString()} characters\`,r.setAttribute("aria-expanded",String(o)),r.setAttribute("aria-label",\`\${o?"Show less":r.textContent} of \${t}\`)}return i(),r.addEventListener("click",()=>{o=!o,i()}),a("span",{class:"expandable"},n," ",r)}function N(e,t){return e.length<=t?e:e.slice(0,t).replace(/[\\ud800-\\udbff]$/,"")}var Ce="2026-01-26";function G({onNotification:e}){let{parent:t}=v,n=new Map,r=0,o=c=>t.postMessage({jsonrpc:"2.0",...c},"*");function i(c,s){let l=++r,u=Promise.withResolvers();return n.set(l,u),o({id:l,method:c,params:s}),u.promise}return v.addEventListener("message",({source:c,data:s})=>{if(c!==t||!b(s)||s.jsonrpc!=="2.0")return;let{id:l,method:u,params:m}=s;if(typeof u=="string")return l===void 0?e(u,b(m)?m:{}):o(u==="ping"||u==="ui/resource-teardown"?{id:l,result:{}}:{id:l,error:{code:-32601,message:"Method not found"}});let d=typeof l=="number"?n.get(l):void 0;d!==void 0&&(n.delete(Number(l)),b(s.error)?d.reject(new Error(String(s.error.message))):d.resolve(s.result))}),{request:i,notify:(c,s={})=>o({method:c,params:s}),async initialize(){let c=await i("ui/initialize",{appInfo:{name:"postern",title:"Postern",version:"1"},appCapabilities:{availableDisplayModes:["inline","fullscreen"]},protocolVersion:Ce}),{hostCapabilities:s,hostContext:l}=b(c)?c:{};return o({method:"ui/notifications/initialized",params:{}}),{capabilities:b(s)?s:{},context:b(l)?l:{}}}}}function b(e){return typeof e=="object"&&e!==null&&!Array.isArray(e)}function E(e){let{structuredContent:t,isError:n,content:r}=b(e)?e:{};if(n!==!0&&b(t)){let i=ve(t)??ke(t);if(i!==void 0)return i;let{question:c}=t;if(typeof c=="string")return{kind:"text",text:c,isError:!1}}return{kind:"text",text:(Array.isArray(r)?r.flatMap(i=>b(i)&&i.type==="text"&&typeof i.text=="string"?[i.text]:[]):[]).join(\`

\`),isError:n===!0}}function ve(e){let{columns:t,rows:n,truncated:r,next_offset:o}=e;if(!Array.isArray(t)||!Array.isArray(n))return;let i=t.every(s=>b(s)&&typeof s.name=="string"&&typeof s.type=="string"),c=n.every(s=>Array.isArray(s)&&s.length===t.length);if(!(!i||!c))return{kind:"rows",database:A(e.database),sql:A(e.sql),columns:t,rows:n,truncated:r===!0,nextOffset:Number.isSafeInteger(o)?Number(o):void 0}}function ke({answer:e,sources:t=[]}){if(!(typeof e!="string"||!Array.isArray(t)))return{kind:"answer",answer:e,sources:t.flatMap(n=>{if(!b(n))return[];let{id:r,title:o,content:i,score:c}=n;return[{title:A(o),id:typeof r=="number"?String(r):A(r),content:A(i),score:typeof c=="number"?c:void 0}]})}}function X(e){let{structuredContent:t,isError:n}=b(e)?e:{};return n!==!0&&b(t)?A(t.text):void 0}function A(e){return typeof e=="string"?e:void 0}var ee=140,Ne=5e4;function te({answer:e,sources:t},n){let r=[],o=a("p",{class:"prose",dir:"auto"}),i=t.map(s=>$e(s,e,n,c));function c(s){r.push(...U(s,e)),o.replaceChildren(...ne(e,Se(r)))}c("");for(let{content:s}of t)s!==void 0&&c(s);return a("div",{class:"answer"},o,...t.length===0?[]:[a("h2",{},\`\${t.length} \${t.length===1?"source":"sources"}\`),a("ol",{},...i)])}function $e(e,t,n,r){let{id:o,title:i,content:c,score:s}=e,l=[a("span",{class:"preview"},x(Le(i??c??o??""))),a("span",{class:"score"},s===void 0?"":\`score \${s.toFixed(2)}\`)],u=a("div",{class:"content"}),m=h=>u.replaceChildren(a("p",{class:"prose",dir:"auto"},...ne(N(h,Ne),U(t,h))));if(c!==void 0)m(c);else if(n===void 0||o===void 0)return a("li",{},a("div",{class:"summary"},...l));let d=a("summary",{},...l),w=a("details",{},d,u),f=c!==void 0;return d.addEventListener("click",async({isTrusted:h})=>{if(!(!h||w.open||f||n===void 0)){f=!0,u.replaceChildren(a("p",{class:"note",role:"status"},"Reading it\\u2026"));try{let p=await n("fetch",{id:o}),g=X(p);if(g===void 0)throw new Error(Te(p));m(g),r(g)}catch(p){f=!1;let g=p instanceof Error?p.message:"the host refused";u.replaceChildren(a("p",{class:"fault",role:"alert"},\`Cannot read it: \${N(g,500)}\`))}}}),a("li",{},w)}function Te(e){let t=E(e);return t.kind==="text"&&t.text!==""?t.text:"the answer has no text"}function Le(e){let t=e.replace(/\\s+/g," ").trim();return t.length>ee?\`\${N(t,ee)}\\u2026\`:t}function ne(e,t){let n=0;return[...t.flatMap(o=>{let i=e.slice(n,o.from);return n=o.to,[x(i),a("mark",{},x(e.slice(o.from,o.to)))]}),x(e.slice(n))]}function Se(e){let t=[];for(let n of e.toSorted((r,o)=>r.from-o.from)){let r=t.at(-1);r!==void 0&&n.from<=r.to?t.splice(-1,1,{from:r.from,to:Math.max(r.to,n.to)}):t.push(n)}return t}var Ae=["--color-background-primary","--color-background-secondary","--color-text-primary","--color-text-secondary","--color-border-primary","--font-sans","--font-mono"],Ee=["--color-background-primary","--color-text-primary"],re=720;function oe(){let e=v.document.documentElement,t={};function n(){let{containerDimensions:r}=t;return b(r)?r:{}}return{change(r){t={...t,...r};let{theme:o,styles:i,displayMode:c}=t;(o==="light"||o==="dark")&&(e.style.colorScheme=o);let s=b(i)&&b(i.variables)?i.variables:{};if(Ee.every(u=>typeof s[u]=="string"))for(let u of Ae){let m=s[u];typeof m=="string"&&e.style.setProperty(u,m)}let l=c==="fullscreen"||typeof n().height=="number";e.setAttribute("class",l?"fills":"")},heightFor(r){let{height:o,maxHeight:i}=n();if(!(typeof o=="number"||t.displayMode==="fullscreen"))return Math.min(r,re,typeof i=="number"&&i>0?i:re)},get locale(){let{locale:r}=t;try{return typeof r=="string"?Intl.getCanonicalLocales(r)[0]:void 0}catch{return}}}}var Re=["bigint","smallint","integer","real","double precision","numeric"],Ie=["date","timestamp","timestamp with time zone"],Oe=["boolean","text","name","character","character varying","other"];function _(e){return Re.includes(e)?"number":Ie.includes(e)?"time":Oe.includes(e)?"category":"other"}function C(e){return typeof e=="string"?e:JSON.stringify(e)??""}var _e=/^(\\d{4})-(\\d\\d)-(\\d\\d)(?: (\\d\\d):(\\d\\d):(\\d\\d)(\\.\\d+)?(?:([+-])(\\d\\d)(?::(\\d\\d))?(?::\\d\\d)?)?)?$/;function I(e){let t=typeof e=="string"?_e.exec(e):null;if(t===null)return;let[,n,r,o,i=0,c=0,s=0,l=0,u,m=0,d=0]=t,w=Date.UTC(+(n??0),+(r??0)-1,+(o??0),+i,+c,+s)+ +l*1e3,f=(+m*60+ +d)*6e4*(u==="-"?-1:1);return{clockMs:w,timeMs:w-f}}function ie(e,t,n){if(e==="number")return ze(C(t),C(n));if(e==="time"){let[r,o]=[se(C(t)),se(C(n))];if(r!==o)return r-o}return je.compare(C(t),C(n))}var je=new Intl.Collator("en",{numeric:!0});function ze(e,t){let[n,r]=[Number(e),Number(t)];return Number.isNaN(n)||Number.isNaN(r)?Number(Number.isNaN(n))-Number(Number.isNaN(r)):n!==r?n-r:/^-?\\d+$/.test(e)&&/^-?\\d+$/.test(t)?Number(BigInt(e)-BigInt(t)):0}function se(e){let t=I(e)?.timeMs;return t!==void 0?t:e.startsWith("-")||e.endsWith("BC")?-1/0:1/0}var Be=30,Fe=60;function ae(e,t){let n=e.map(({type:s})=>_(s)),r=n.flatMap((s,l)=>s==="number"?[]:[l]),[o]=r;if(o===void 0||r.length>1)return;let i=e.flatMap(({name:s},l)=>n[l]==="number"&&!qe(s)&&He(t,l)?[l]:[]);if(i.length===0)return;let c=n[o]==="time";if(!(!c&&n[o]!=="category"))return(c?We(t,o):Ue(t,o))?{kind:c?"line":"bars",label:o,measures:i}:void 0}function qe(e){return/^(?:id|.+_id)$/i.test(e)}function He(e,t){return e.filter(n=>j(n[t])!==void 0).length>=2}function j(e){if(e===null||e==="")return;let t=Number(e);return Number.isFinite(t)?t:void 0}function Ue(e,t){let n=e.map(r=>r[t]===null?null:C(r[t]));return e.length<=Be&&new Set(n).size===n.length&&n.every(r=>r===null||r.length<=Fe)}function We(e,t){let n=e.flatMap(r=>I(r[t])?.timeMs??[]);return n.length>=3&&n.length===e.length&&new Set(n).size===n.length}var De=12e3,Ke=100;function ue(e,t){let n=e.slice(0,Ke),r=n.map(({type:f})=>_(f)),o=a("tbody"),i=a("p",{class:"note"}),c=new Map,s=t,l,u=n.map(({name:f,type:h},p)=>{let g=a("button",{type:"button"},a("span",{class:"name"},x(z(f))),a("span",{class:"arrow","aria-hidden":"true"}),...h==="other"?[]:[a("span",{class:"type"},h)]),M=a("th",{scope:"col",class:r[p]??"other","aria-sort":"none"},g);return g.addEventListener("click",()=>{l=Pe(l,p),m()}),M});function m(){for(let[g,M]of u.entries())M.setAttribute("aria-sort",l?.column===g?l.direction:"none");let f=Math.floor(De/Math.max(1,n.length)),h=Ve(s,l,r[l?.column??0]??"other").slice(0,f);o.replaceChildren(...h.map(g=>{let M=c.get(g)??d(g);return c.set(g,M),M}));let p=[h.length<s.length?\`The first \${h.length} of \${s.length} rows are shown.\`:"",n.length<e.length?\`The first \${n.length} of \${e.length} columns are shown.\`:""];i.textContent=p.filter(g=>g!=="").join(" "),i.hidden=i.textContent===""}function d(f){return a("tr",{},...n.map(({name:h},p)=>{let g=f[p];return g===null?ce(\`\${r[p]} null\`,"NULL"):ce(r[p]??"other",Z(C(g),z(h)))}))}m();let w=a("table",{},a("caption",{class:"unseen-caption"},"Rows; the buttons in the headings sort them"),a("thead",{},a("tr",{},...u)),o);return{element:a("div",{class:"rows"},a("div",{class:"scroll",role:"region","aria-label":"Rows",tabindex:0},w),i),replaceRows(f){s=f,m()}}}function Ve(e,t,n){if(t===void 0)return e;let{column:r,direction:o}=t,i=o==="ascending"?1:-1;return e.toSorted((c,s)=>{let[l,u]=[c[r],s[r]];return l===null||u===null?+(l===null)-+(u===null):i*ie(n,l,u)})}function Pe(e,t){return e?.column!==t?{column:t,direction:"ascending"}:e.direction==="ascending"?{column:t,direction:"descending"}:void 0}function ce(e,t){return a("td",{class:e},a("div",{class:"cell"},t))}var le=60;function z(e){return e.length>le?\`\${N(e,le)}\\u2026\`:e}function fe(e,t,n,r){let[o=0]=e.measures,i=d=>z(t[d]?.name??""),c=a("div",{class:"plot"}),s=a("span",{class:"title"}),l=a("span",{class:"readout","aria-hidden":"true"}),u=d=>{s.replaceChildren(x(i(d))," by ",x(i(e.label))),l.textContent="";let w=e.kind==="bars"?Qe(n,e.label,d):Ye(n,{...e,measure:d,locale:r,readout:l});w.setAttribute("aria-label",\`\${e.kind==="bars"?"Bar":"Line"} chart of \${i(d)} by \${i(e.label)}, \${n.length} values; the table below has them\`),c.replaceChildren(w)},m=e.measures.length>1?Je(e.measures,i,u):"";return u(o),a("figure",{},a("figcaption",{},s,l,m),c)}function Je(e,t,n){let r=e.map(i=>a("option",{value:i},t(i))),o=a("select",{"aria-label":"Column to draw"},...r);return o.addEventListener("change",()=>{let i=Number(o.value);e.includes(i)&&n(i)}),o}function Qe(e,t,n){let r=e.map(l=>j(l[n])),o=r.filter(l=>l!==void 0),[i,c]=[Math.min(0,...o),Math.max(0,...o)],s=l=>\`\${l/(c-i||1)*100}%\`;return a("div",{class:"bars",role:"img"},...e.flatMap((l,u)=>{let m=r[u],d=a("span",{class:"bar"});return d.style.left=s(Math.min(0,m??0)-i),d.style.width=s(Math.abs(m??0)),[a("span",{class:"label"},l[t]===null?"NULL":x(C(l[t]))),a("span",{class:"track"},d),a("span",{class:"value"},l[n]===null?"NULL":x(C(l[n])))]}))}var B=200,L={top:10,right:14,bottom:26,left:56};function Ye(e,t){let n=e.flatMap(f=>{let h=I(f[t.label]);return h===void 0?[]:[{...h,row:f,value:j(f[t.measure])}]}).sort((f,h)=>f.timeMs-h.timeMs),r=n.flatMap(({value:f})=>f??[]),o=Ze(r),[i,c]=[o[0]??0,o.at(-1)??1],[s,l]=[n[0]?.timeMs??0,n.at(-1)?.timeMs??1],u=a("div",{class:"line",role:"img"}),m=Xe(t.locale,l-s),d=f=>0;function w(f){let h=Math.max(1,f-L.left-L.right);d=y=>L.left+(y-s)/(l-s||1)*h;let p=y=>L.top+(1-(y-i)/(c-i||1))*(B-L.top-L.bottom),g=({timeMs:y,value:T})=>T===void 0?void 0:\`\${d(y).toFixed(1)} \${p(T).toFixed(1)}\`,M=n.map((y,T)=>{let[R,H]=[g(y),n[T-1]];return R===void 0?"":\`\${H?.value===void 0?"M":"L"}\${R}\`}).join(""),k=n.filter(({value:y},T)=>y!==void 0&&n[T-1]?.value===void 0&&n[T+1]?.value===void 0),$=n.length<=40?n:k;u.replaceChildren(S("svg",{width:f,height:B,viewBox:\`0 0 \${f} \${B}\`},...o.flatMap(y=>[S("line",{class:"grid",x1:L.left,x2:f-L.right,y1:p(y),y2:p(y)}),S("text",{x:L.left-8,y:p(y)+4,"text-anchor":"end"},m.number(y))]),...Ge(n,h).map(({timeMs:y,clockMs:T},R,H)=>S("text",{x:d(y),y:B-8,"text-anchor":R===0?"start":R===H.length-1?"end":"middle"},m.time(T))),S("path",{class:"curve",d:M}),...$.flatMap(y=>y.value===void 0?[]:[S("circle",{cx:d(y.timeMs),cy:p(y.value),r:2.5})])))}return u.addEventListener("pointermove",({clientX:f})=>{let h=f-u.getBoundingClientRect().left,[p]=n.toSorted((k,$)=>Math.abs(d(k.timeMs)-h)-Math.abs(d($.timeMs)-h));if(p===void 0)return;let[g,M]=[p.row[t.label],p.row[t.measure]];t.readout.replaceChildren(x(C(g)),": ",M===null?"NULL":x(C(M)))}),u.addEventListener("pointerleave",()=>t.readout.replaceChildren()),new v.ResizeObserver(()=>w(u.clientWidth)).observe(u),u}function Ze(e){let[t,n]=[Math.min(...e),Math.max(...e)],r=t>0?n-t<n/3:n<0&&n-t<-t/3,[o,i]=r?[t,n]:[Math.min(0,t),Math.max(0,n)],c=(i-o||Math.abs(i)||1)/4,s=10**Math.floor(Math.log10(c)),l=s*([1,2,2.5,5,10].find(d=>d*s>=c)??10),u=Math.floor(o/l),m=Math.max(u+1,Math.ceil(i/l));return Array.from({length:m-u+1},(d,w)=>(u+w)*l)}function Ge(e,t){let n=Math.min(e.length,Math.max(2,Math.floor(t/110))),[r,o]=[e[0]?.timeMs??0,e.at(-1)?.timeMs??0],i=Array.from({length:n},(c,s)=>{let l=r+(o-r)*(s/(n-1));return e.reduce((u,m)=>Math.abs(m.timeMs-l)<Math.abs(u.timeMs-l)?m:u)});return[...new Set(i)]}var de=864e5;function Xe(e,t){let n=new Intl.NumberFormat(e,{notation:"compact",maximumSignificantDigits:4}),r=new Intl.DateTimeFormat(e,{timeZone:"UTC",...t>500*de?{year:"numeric",month:"short"}:t>=3*de?{month:"short",day:"numeric"}:{month:"short",day:"numeric",hour:"2-digit",minute:"2-digit"}});return{number:o=>n.format(o),time:o=>r.format(o)}}var et=5e3,tt=2e4;function me(e,{locale:t,limit:n,callTool:r}){let{columns:o,sql:i,database:c}=e,{rows:s,truncated:l,nextOffset:u}=e,m=ue(o,s),d=a("div"),w=a("h1",{role:"status"}),f=a("p",{class:"fault",role:"alert"}),h=a("button",{type:"button",class:"next"},\`Next \${n} rows\`);function p(){let M=\`\${s.length.toLocaleString(t)} \${s.length===1?"row":"rows"}\`;w.textContent=l?\`\${M}, more available\`:M;let k=ae(o,s);d.replaceChildren(...k===void 0?[]:[fe(k,o,s,t)]),h.hidden=r===void 0||i===void 0||u===void 0||s.length>=et,g.hidden=!l}let g=a("p",{class:"note"},"Sorting and drawing concern the rows that are here.",/\\border\\s+by\\b/i.test(i??"")?"":" The statement has no ORDER BY: the next rows may repeat some of these.");return h.addEventListener("click",async({isTrusted:M})=>{if(!(!M||r===void 0||u===void 0)){h.disabled=!0,f.textContent="";try{let k=await r("query_database",{query:i,limit:n,offset:u,...c===void 0?{}:{database:c}}),$=E(b(k)?k:{});$.kind!=="rows"?f.textContent=W($.kind==="text"?$.text:"the answer has no rows"):$.columns.length!==o.length?f.textContent=W("the statement's columns are no longer the same"):(s=[...s,...$.rows],{truncated:l,nextOffset:u}=$,m.replaceRows(s),p())}catch(k){f.textContent=W(k instanceof Error?k.message:"the host refused")}h.disabled=!1}}),p(),a("div",{class:"result"},a("div",{class:"head"},w,...c===void 0?[]:[a("span",{class:"database"},x(c))]),d,s.length===0&&o.length===0?"":m.element,a("div",{class:"foot"},h,g),f,...i===void 0?[]:[a("details",{class:"sql"},a("summary",{},"SQL"),a("pre",{tabindex:0},x(N(i,tt))))])}function W(e){return\`Cannot get the next rows: \${N(e,500)}\`}var nt=5e4,O=v.document.getElementById("main"),q=oe(),ge=100,D=!1,K=!1,V=G({onNotification(e,t){switch(e){case"ui/notifications/host-context-changed":return q.change(t),be();case"ui/notifications/tool-input":{let n=b(t.arguments)?t.arguments.limit:void 0;typeof n=="number"&&n>=1&&n<=1e3&&!D&&(ge=Math.floor(n));return}case"ui/notifications/tool-result":D||rt(t);return;case"ui/notifications/tool-cancelled":return F(a("p",{class:"note",role:"status"},"The call was cancelled."))}}});async function he(e,t){return D=!0,await V.request("tools/call",{name:e,arguments:t})}function rt(e){let t=E(e);switch(t.kind){case"rows":return F(me(t,{locale:q.locale,limit:ge,callTool:K?he:void 0}));case"answer":return F(te(t,K?he:void 0));case"text":{let n=t.isError?{class:"prose fault",role:"alert"}:{class:"prose"};return F(a("p",n,x(N(t.text,nt))))}}}function F(e){O?.replaceChildren(e)}var pe=0;function be(){let e=O===null?void 0:q.heightFor(Math.ceil(O.offsetHeight));e===void 0||e===pe||(pe=e,V.notify("ui/notifications/size-changed",{width:Math.ceil(v.innerWidth),height:e}))}var{capabilities:ot,context:st}=await V.initialize();K=b(ot.serverTools);q.change(st);O!==null&&new v.ResizeObserver(be).observe(O);</script>
  </body>
</html>
`;
