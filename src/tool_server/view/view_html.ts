// made by tools/build_view.ts of the files in page/
// deno-fmt-ignore-file

/** The page that hosts show results in. */
export const viewHtml = `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-Q0GbDI/2DhCLRO1/UrWyjQVKM6NuvXuR7nCXykJiDhM='; style-src 'sha256-aCtmBDJk31YdKJRaA96l+A9mTAxDDrtHAJ+gYZV8mUQ='; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'">
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
  /* a type whose name is not known has no line below the column's */
  vertical-align: top;
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
.cite {
  padding: 0 1px;
  border: 0;
  background: none;
  color: var(--accent);
  font-size: 12px;
  cursor: pointer;
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
    <script type="module">var C=globalThis;function c(e,t={},...n){return P(C.document.createElement(e),t,n)}function S(e,t,...n){return P(C.document.createElementNS("http://www.w3.org/2000/svg",e),t,n)}function P(e,t,n){for(let[r,o]of Object.entries(t))e.setAttribute(r,String(o));return e.append(...n),e}function U(e,t){let[n,r]=[Y(e),Y(t)],o=new Map;for(let[a]of n.entries()){let i=J(n,a);i!==void 0&&o.set(i,[...o.get(i)??[],a].slice(0,50))}let s=[];for(let a=0;a<r.length;){let i=J(r,a),l=Math.max(0,...(i===void 0?[]:o.get(i)??[]).map(x=>xe(n,x,r,a))),[u,m]=[r[a],r[a+l-1]],d=u!==void 0&&m!==void 0&&m.to-u.from>=14;d&&s.push({from:u.from,to:m.to}),a+=d?l:1}return s}function Y(e){return Array.from(e.slice(0,5e4).matchAll(/[\\p{L}\\p{M}\\p{N}]+(?:[.,]\\p{N}+)*/gu),({0:t,index:n})=>({key:t.toLowerCase(),from:n,to:n+t.length}))}function J(e,t){return t+3>e.length?void 0:e.slice(t,t+3).map(({key:n})=>n).join(" ")}function xe(e,t,n,r){let o=0;for(;e[t+o]!==void 0&&e[t+o]?.key===n[r+o]?.key;)o++;return o}var Q=160,we=2e5,ye=/[\\0-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069]/g;function Me(e){let t=[],n=0;for(let{index:r,0:o}of e.matchAll(ye)){r>n&&t.push({text:e.slice(n,r),isMark:!1});let s=o.charCodeAt(0).toString(16).toUpperCase().padStart(4,"0");t.push({text:\`U+\${s}\`,isMark:!0}),n=r+1}return n<e.length&&t.push({text:e.slice(n),isMark:!1}),t}function y(e){let t=Me(e).map(({text:n,isMark:r})=>r?c("span",{class:"unseen"},n):n);return c("bdi",{},...t)}function Z(e,t){if(e.length<=Q)return y(e);let n=c("span",{class:"long"}),r=c("button",{type:"button",class:"more"}),o=!1;function s(){let a=o?we:Q,i=e.length>a;n.replaceChildren(y(N(e,a)),i?"\\u2026":""),r.textContent=o?"Less":\`All \${e.length.toLocaleString()} characters\`,r.setAttribute("aria-expanded",String(o)),r.setAttribute("aria-label",\`\${o?"Show less":r.textContent} of \${t}\`)}return s(),r.addEventListener("click",()=>{o=!o,s()}),c("span",{class:"expandable"},n," ",r)}function N(e,t){return e.length<=t?e:e.slice(0,t).replace(/[\\ud800-\\udbff]$/,"")}var ve="2026-01-26";function G({onNotification:e}){let{parent:t}=C,n=new Map,r=0,o=a=>t.postMessage({jsonrpc:"2.0",...a},"*");function s(a,i){let l=++r,u=Promise.withResolvers();return n.set(l,u),o({id:l,method:a,params:i}),u.promise}return C.addEventListener("message",({source:a,data:i})=>{if(a!==t||!w(i)||i.jsonrpc!=="2.0")return;let{id:l,method:u,params:m}=i;if(typeof u=="string")return l===void 0?e(u,w(m)?m:{}):o(u==="ping"||u==="ui/resource-teardown"?{id:l,result:{}}:{id:l,error:{code:-32601,message:"Method not found"}});let d=typeof l=="number"?n.get(l):void 0;d!==void 0&&(n.delete(Number(l)),w(i.error)?d.reject(new Error(String(i.error.message))):d.resolve(i.result))}),{request:s,notify:(a,i={})=>o({method:a,params:i}),async initialize(){let a=await s("ui/initialize",{appInfo:{name:"postern",title:"Postern",version:"1"},appCapabilities:{availableDisplayModes:["inline","fullscreen"]},protocolVersion:ve}),{hostCapabilities:i,hostContext:l}=w(a)?a:{};return o({method:"ui/notifications/initialized",params:{}}),{capabilities:w(i)?i:{},context:w(l)?l:{}}}}}function w(e){return typeof e=="object"&&e!==null&&!Array.isArray(e)}function E(e){let{structuredContent:t,isError:n,content:r}=w(e)?e:{};if(n!==!0&&w(t)){let s=Ce(t)??ke(t);if(s!==void 0)return s;let{question:a}=t;if(typeof a=="string")return{kind:"text",text:a,isError:!1}}return{kind:"text",text:(Array.isArray(r)?r.flatMap(s=>w(s)&&s.type==="text"&&typeof s.text=="string"?[s.text]:[]):[]).join(\`

\`),isError:n===!0}}function Ce(e){let{columns:t,rows:n,truncated:r,next_offset:o}=e;if(!Array.isArray(t)||!Array.isArray(n))return;let s=t.every(i=>w(i)&&typeof i.name=="string"&&typeof i.type=="string"),a=n.every(i=>Array.isArray(i)&&i.length===t.length);if(!(!s||!a))return{kind:"rows",database:A(e.database),sql:A(e.sql),columns:t,rows:n,truncated:r===!0,nextOffset:Number.isSafeInteger(o)?Number(o):void 0}}function ke({answer:e,sources:t=[]}){if(!(typeof e!="string"||!Array.isArray(t)))return{kind:"answer",answer:e,sources:t.flatMap(n=>{if(!w(n))return[];let{id:r,title:o,content:s,score:a}=n;return[{title:A(o),id:typeof r=="number"?String(r):A(r),content:A(s),score:typeof a=="number"?a:void 0}]})}}function X(e){let{structuredContent:t,isError:n}=w(e)?e:{};return n!==!0&&w(t)?A(t.text):void 0}function A(e){return typeof e=="string"?e:void 0}var ee=140,Ne=5e4;function te({answer:e,sources:t},n){let r=[],o=c("p",{class:"prose",dir:"auto"}),s=t.map(i=>$e(i,e,n,a));function a(i){r.push(...U(i,e)),o.replaceChildren(...ne(e,Ae(r),l=>Te(l,s)))}a("");for(let{content:i}of t)i!==void 0&&a(i);return c("div",{class:"answer"},o,...t.length===0?[]:[c("h2",{},\`\${t.length} \${t.length===1?"source":"sources"}\`),c("ol",{},...s.map(({item:i})=>i))])}function $e(e,t,n,r){let{id:o,title:s,content:a,score:i}=e,l=[c("span",{class:"preview"},y(Se(s??a??o??""))),c("span",{class:"score"},i===void 0?"":\`score \${i.toFixed(2)}\`)],u=c("div",{class:"content"}),m=h=>u.replaceChildren(c("p",{class:"prose",dir:"auto"},...ne(N(h,Ne),U(t,h))));if(a!==void 0)m(a);else if(n===void 0||o===void 0)return{item:c("li",{},c("div",{class:"summary"},...l))};let d=c("summary",{},...l),x=c("details",{},d,u),f=a!==void 0;async function p(){if(!(f||n===void 0)){f=!0,u.replaceChildren(c("p",{class:"note",role:"status"},"Reading it\\u2026"));try{let h=await n("fetch",{id:o}),g=X(h);if(g===void 0)throw new Error(Le(h));m(g),r(g)}catch(h){f=!1;let g=h instanceof Error?h.message:"the host refused";u.replaceChildren(c("p",{class:"fault",role:"alert"},\`Cannot read it: \${N(g,500)}\`))}}}return d.addEventListener("click",({isTrusted:h})=>{h&&!x.open&&p()}),{item:c("li",{},x),open(){x.open=!0,d.focus(),p()}}}function Te(e,t){return e.split(/(\\[\\d{1,3}\\])/).map(n=>{let r=/^\\[(\\d+)\\]$/.exec(n)?.[1],o=r===void 0?void 0:t[Number(r)-1]?.open;if(o===void 0)return y(n);let s=c("button",{type:"button",class:"cite","aria-label":\`Source \${r}\`},n);return s.addEventListener("click",({isTrusted:a})=>{a&&o()}),s})}function Le(e){let t=E(e);return t.kind==="text"&&t.text!==""?t.text:"the answer has no text"}function Se(e){let t=e.replace(/\\s+/g," ").trim();return t.length>ee?\`\${N(t,ee)}\\u2026\`:t}function ne(e,t,n=r=>[y(r)]){let r=0;return[...t.flatMap(s=>{let a=e.slice(r,s.from);return r=s.to,[...n(a),c("mark",{},...n(e.slice(s.from,s.to)))]}),...n(e.slice(r))]}function Ae(e){let t=[];for(let n of e.toSorted((r,o)=>r.from-o.from)){let r=t.at(-1);r!==void 0&&n.from<=r.to?t.splice(-1,1,{from:r.from,to:Math.max(r.to,n.to)}):t.push(n)}return t}var Ee=["--color-background-primary","--color-background-secondary","--color-text-primary","--color-text-secondary","--color-border-primary","--font-sans","--font-mono"],Re=["--color-background-primary","--color-text-primary"],re=720;function oe(){let e=C.document.documentElement,t={};function n(){let{containerDimensions:r}=t;return w(r)?r:{}}return{change(r){t={...t,...r};let{theme:o,styles:s,displayMode:a}=t;(o==="light"||o==="dark")&&(e.style.colorScheme=o);let i=w(s)&&w(s.variables)?s.variables:{};if(Re.every(u=>typeof i[u]=="string"))for(let u of Ee){let m=i[u];typeof m=="string"&&e.style.setProperty(u,m)}let l=a==="fullscreen"||typeof n().height=="number";e.setAttribute("class",l?"fills":"")},heightFor(r){let{height:o,maxHeight:s}=n();if(!(typeof o=="number"||t.displayMode==="fullscreen"))return Math.min(r,re,typeof s=="number"&&s>0?s:re)},get locale(){let{locale:r}=t;try{return typeof r=="string"?Intl.getCanonicalLocales(r)[0]:void 0}catch{return}}}}var Ie=["bigint","smallint","integer","real","double precision","numeric"],Oe=["date","timestamp","timestamp with time zone"],_e=["boolean","text","name","character","character varying","other"];function _(e){return Ie.includes(e)?"number":Oe.includes(e)?"time":_e.includes(e)?"category":"other"}function v(e){return typeof e=="string"?e:JSON.stringify(e)??""}var je=/^(\\d{4})-(\\d\\d)-(\\d\\d)(?: (\\d\\d):(\\d\\d):(\\d\\d)(\\.\\d+)?(?:([+-])(\\d\\d)(?::(\\d\\d))?(?::\\d\\d)?)?)?$/;function R(e){let t=typeof e=="string"?je.exec(e):null;if(t===null)return;let[,n,r,o,s=0,a=0,i=0,l=0,u,m=0,d=0]=t,x=Date.UTC(+(n??0),+(r??0)-1,+(o??0),+s,+a,+i)+ +l*1e3,f=(+m*60+ +d)*6e4*(u==="-"?-1:1);return{clockMs:x,timeMs:x-f}}function ie(e,t,n){if(e==="number")return We(v(t),v(n));if(e==="time"){let[r,o]=[se(v(t)),se(v(n))];if(r!==o)return r-o}return ze.compare(v(t),v(n))}var ze=new Intl.Collator("en",{numeric:!0});function We(e,t){let[n,r]=[Number(e),Number(t)];return Number.isNaN(n)||Number.isNaN(r)?Number(Number.isNaN(n))-Number(Number.isNaN(r)):n!==r?n-r:/^-?\\d+$/.test(e)&&/^-?\\d+$/.test(t)?Number(BigInt(e)-BigInt(t)):0}function se(e){let t=R(e)?.timeMs;return t!==void 0?t:e.startsWith("-")||e.endsWith("BC")?-1/0:1/0}var Be=30,De=60;function ae(e,t){let n=e.map(({type:i})=>_(i)),r=n.flatMap((i,l)=>i==="number"?[]:[l]),[o]=r;if(o===void 0||r.length>1)return;let s=e.flatMap(({name:i},l)=>n[l]==="number"&&!Fe(i)&&Ue(t,l)?[l]:[]);if(s.length===0)return;let a=n[o]==="time";if(!(!a&&n[o]!=="category"))return(a?qe(t,o):He(t,o))?{kind:a?"line":"bars",label:o,measures:s}:void 0}function Fe(e){return/^(?:id|.+_id)$/i.test(e)}function Ue(e,t){return e.filter(n=>j(n[t])!==void 0).length>=2}function j(e){if(e===null||e==="")return;let t=Number(e);return Number.isFinite(t)?t:void 0}function He(e,t){let n=e.map(r=>r[t]===null?null:v(r[t]));return e.length<=Be&&new Set(n).size===n.length&&n.every(r=>r===null||r.length<=De)}function qe(e,t){let n=e.flatMap(r=>R(r[t])?.timeMs??[]);return n.length>=3&&n.length===e.length&&new Set(n).size===n.length}var Ke=12e3,Ve=100;function ue(e,t){let n=e.slice(0,Ve),r=n.map(({type:f})=>_(f)),o=c("tbody"),s=c("p",{class:"note"}),a=new Map,i=t,l,u=n.map(({name:f,type:p},h)=>{let g=c("button",{type:"button"},c("span",{class:"name"},y(z(f))),c("span",{class:"arrow","aria-hidden":"true"}),...p==="other"?[]:[c("span",{class:"type"},p)]),M=c("th",{scope:"col",class:r[h]??"other","aria-sort":"none"},g);return g.addEventListener("click",()=>{l=Ye(l,h),m()}),M});function m(){for(let[g,M]of u.entries())M.setAttribute("aria-sort",l?.column===g?l.direction:"none");let f=Math.floor(Ke/Math.max(1,n.length)),p=Pe(i,l,r[l?.column??0]??"other").slice(0,f);o.replaceChildren(...p.map(g=>{let M=a.get(g)??d(g);return a.set(g,M),M}));let h=[p.length<i.length?\`The first \${p.length} of \${i.length} rows are shown.\`:"",n.length<e.length?\`The first \${n.length} of \${e.length} columns are shown.\`:""];s.textContent=h.filter(g=>g!=="").join(" "),s.hidden=s.textContent===""}function d(f){return c("tr",{},...n.map(({name:p},h)=>{let g=f[h];return g===null?ce(\`\${r[h]} null\`,"NULL"):ce(r[h]??"other",Z(v(g),z(p)))}))}m();let x=c("table",{},c("caption",{class:"unseen-caption"},"Rows; the buttons in the headings sort them"),c("thead",{},c("tr",{},...u)),o);return{element:c("div",{class:"rows"},c("div",{class:"scroll",role:"region","aria-label":"Rows",tabindex:0},x),s),replaceRows(f){i=f,m()}}}function Pe(e,t,n){if(t===void 0)return e;let{column:r,direction:o}=t,s=o==="ascending"?1:-1;return e.toSorted((a,i)=>{let[l,u]=[a[r],i[r]];return l===null||u===null?+(l===null)-+(u===null):s*ie(n,l,u)})}function Ye(e,t){return e?.column!==t?{column:t,direction:"ascending"}:e.direction==="ascending"?{column:t,direction:"descending"}:void 0}function ce(e,t){return c("td",{class:e},c("div",{class:"cell"},t))}var le=60;function z(e){return e.length>le?\`\${N(e,le)}\\u2026\`:e}function de(e,t,n,r){let[o=0]=e.measures,s=d=>z(t[d]?.name??""),a=c("div",{class:"plot"}),i=c("span",{class:"title"}),l=c("span",{class:"readout","aria-hidden":"true"}),u=d=>{i.replaceChildren(y(s(d))," by ",y(s(e.label))),l.textContent="";let x=e.kind==="bars"?Qe(n,e.label,d):Ze(n,{...e,measure:d,locale:r,readout:l});x.setAttribute("aria-label",\`\${e.kind==="bars"?"Bar":"Line"} chart of \${s(d)} by \${s(e.label)}, \${n.length} values; the table below has them\`),a.replaceChildren(x)},m=e.measures.length>1?Je(e.measures,s,u):"";return u(o),c("figure",{},c("figcaption",{},i,l,m),a)}function Je(e,t,n){let r=e.map(s=>c("option",{value:s},t(s))),o=c("select",{"aria-label":"Column to draw"},...r);return o.addEventListener("change",()=>{let s=Number(o.value);e.includes(s)&&n(s)}),o}function Qe(e,t,n){let r=e.map(l=>j(l[n])),o=r.filter(l=>l!==void 0),[s,a]=[Math.min(0,...o),Math.max(0,...o)],i=l=>\`\${l/(a-s||1)*100}%\`;return c("div",{class:"bars",role:"img"},...e.flatMap((l,u)=>{let m=r[u],d=c("span",{class:"bar"});return d.style.left=i(Math.min(0,m??0)-s),d.style.width=i(Math.abs(m??0)),[c("span",{class:"label"},l[t]===null?"NULL":y(v(l[t]))),c("span",{class:"track"},d),c("span",{class:"value"},l[n]===null?"NULL":y(v(l[n])))]}))}var W=200,L={top:10,right:14,bottom:26,left:56};function Ze(e,t){let n=e.flatMap(f=>{let p=R(f[t.label]);return p===void 0?[]:[{...p,row:f,value:j(f[t.measure])}]}).sort((f,p)=>f.timeMs-p.timeMs),r=n.flatMap(({value:f})=>f??[]),o=Ge(r),[s,a]=[o[0]??0,o.at(-1)??1],[i,l]=[n[0]?.timeMs??0,n.at(-1)?.timeMs??1],u=c("div",{class:"line",role:"img"}),m=et(t.locale,n),d=f=>0;function x(f){let p=Math.max(1,f-L.left-L.right);d=b=>L.left+(b-i)/(l-i||1)*p;let h=b=>L.top+(1-(b-s)/(a-s||1))*(W-L.top-L.bottom),g=({timeMs:b,value:T})=>T===void 0?void 0:\`\${d(b).toFixed(1)} \${h(T).toFixed(1)}\`,M=n.map((b,T)=>{let[O,be]=[g(b),n[T-1]];return O===void 0?"":\`\${be?.value===void 0?"M":"L"}\${O}\`}).join(""),k=n.filter(({value:b},T)=>b!==void 0&&n[T-1]?.value===void 0&&n[T+1]?.value===void 0),$=n.length<=40?n:k;u.replaceChildren(S("svg",{width:f,height:W,viewBox:\`0 0 \${f} \${W}\`},...o.flatMap(b=>[S("line",{class:"grid",x1:L.left,x2:f-L.right,y1:h(b),y2:h(b)}),S("text",{x:L.left-8,y:h(b)+4,"text-anchor":"end"},m.number(b))]),...Xe(n,p/m.timeWidth,b=>d(b.timeMs)/m.timeWidth).map((b,T,O)=>S("text",{x:d(b.timeMs),y:W-8,"text-anchor":b===n[0]?"start":b===n.at(-1)?"end":"middle"},m.time(b.clockMs,O[T-1]?.clockMs))),S("path",{class:"curve",d:M}),...$.flatMap(b=>b.value===void 0?[]:[S("circle",{cx:d(b.timeMs),cy:h(b.value),r:2.5})])))}return u.addEventListener("pointermove",({clientX:f})=>{let p=f-u.getBoundingClientRect().left,[h]=n.toSorted((k,$)=>Math.abs(d(k.timeMs)-p)-Math.abs(d($.timeMs)-p));if(h===void 0)return;let[g,M]=[h.row[t.label],h.row[t.measure]];t.readout.replaceChildren(y(v(g)),": ",M===null?"NULL":y(v(M)))}),u.addEventListener("pointerleave",()=>t.readout.replaceChildren()),new C.ResizeObserver(()=>x(u.clientWidth)).observe(u),u}function Ge(e){let[t,n]=[Math.min(...e),Math.max(...e)],r=t>0?n-t<n/3:n<0&&n-t<-t/3,[o,s]=r?[t,n]:[Math.min(0,t),Math.max(0,n)],a=(s-o||Math.abs(s)||1)/4,i=10**Math.floor(Math.log10(a)),l=i*([1,2,2.5,5,10].find(d=>d*i>=a)??10),u=Math.floor(o/l),m=Math.max(u+1,Math.ceil(s/l));return Array.from({length:m-u+1},(d,x)=>(u+x)*l)}function Xe(e,t,n){let r=Math.ceil(e.length/Math.max(1,Math.floor(t))),o=[];for(let s=0;s<e.length;s+=r){let[a,i]=[e[s],o.at(-1)];a!==void 0&&(i===void 0||n(a)-n(i)>=.7)&&o.push(a)}return o}var B=864e5;function et(e,t){let n=new Intl.NumberFormat(e,{notation:"compact",maximumSignificantDigits:4}),r=(t.at(-1)?.timeMs??0)-(t[0]?.timeMs??0),o=d=>new Date(d).getUTCFullYear(),s=t.every(({clockMs:d})=>d%B===0&&new Date(d).getUTCDate()===1),a=r>500*B||s&&r>=28*B,i=!a&&r<3*B,l={timeZone:"UTC",month:"short",...a?{}:{day:"numeric"},...i?{hour:"2-digit",minute:"2-digit"}:{}},u=new Intl.DateTimeFormat(e,l),m=new Intl.DateTimeFormat(e,{...l,year:"numeric"});return{number:d=>n.format(d),time(d,x){return(!a&&x!==void 0&&o(d)===o(x)?u:m).format(d)},timeWidth:i?170:110}}var tt=5e3,nt=2e4;function fe(e,{locale:t,limit:n,callTool:r}){let{columns:o,sql:s,database:a}=e,{rows:i,truncated:l,nextOffset:u}=e,m=ue(o,i),d=c("div"),x=c("h1",{role:"status"}),f=c("p",{class:"fault",role:"alert"}),p=c("button",{type:"button",class:"next"},\`Next \${n} rows\`);function h(){let M=\`\${i.length.toLocaleString(t)} \${i.length===1?"row":"rows"}\`;x.textContent=l?\`\${M}, more available\`:M;let k=ae(o,i);d.replaceChildren(...k===void 0?[]:[de(k,o,i,t)]),p.hidden=r===void 0||s===void 0||u===void 0||i.length>=tt,g.hidden=!l}let g=c("p",{class:"note"},"Sorting and drawing concern the rows that are here.",/\\border\\s+by\\b/i.test(s??"")?"":" The statement has no ORDER BY: the next rows may repeat some of these.");return p.addEventListener("click",async({isTrusted:M})=>{if(!(!M||r===void 0||u===void 0)){p.disabled=!0,f.textContent="";try{let k=await r("query_database",{query:s,limit:n,offset:u,...a===void 0?{}:{database:a}}),$=E(w(k)?k:{});$.kind!=="rows"?f.textContent=H($.kind==="text"?$.text:"the answer has no rows"):$.columns.length!==o.length?f.textContent=H("the statement's columns are no longer the same"):(i=[...i,...$.rows],{truncated:l,nextOffset:u}=$,m.replaceRows(i),h())}catch(k){f.textContent=H(k instanceof Error?k.message:"the host refused")}p.disabled=!1}}),h(),c("div",{class:"result"},c("div",{class:"head"},x,...a===void 0?[]:[c("span",{class:"database"},y(a))]),d,i.length===0&&o.length===0?"":m.element,c("div",{class:"foot"},p,g),f,...s===void 0?[]:[c("details",{class:"sql"},c("summary",{},"SQL"),c("pre",{tabindex:0},y(N(s,nt))))])}function H(e){return\`Cannot get the next rows: \${N(e,500)}\`}var rt=5e4,I=C.document.getElementById("main"),F=oe(),pe=100,q=!1,K=!1,V=G({onNotification(e,t){switch(e){case"ui/notifications/host-context-changed":return F.change(t),ge();case"ui/notifications/tool-input":{let n=w(t.arguments)?t.arguments.limit:void 0;typeof n=="number"&&n>=1&&n<=1e3&&!q&&(pe=Math.floor(n));return}case"ui/notifications/tool-result":q||ot(t);return;case"ui/notifications/tool-cancelled":return D(c("p",{class:"note",role:"status"},"The call was cancelled."))}}});async function me(e,t){return q=!0,await V.request("tools/call",{name:e,arguments:t})}function ot(e){let t=E(e);switch(t.kind){case"rows":return D(fe(t,{locale:F.locale,limit:pe,callTool:K?me:void 0}));case"answer":return D(te(t,K?me:void 0));case"text":{let n=t.isError?{class:"prose fault",role:"alert"}:{class:"prose"};return D(c("p",n,y(N(t.text,rt))))}}}function D(e){I?.replaceChildren(e)}var he=0;function ge(){let e=I===null?void 0:F.heightFor(Math.ceil(I.offsetHeight));e===void 0||e===he||(he=e,V.notify("ui/notifications/size-changed",{width:Math.ceil(C.innerWidth),height:e}))}var{capabilities:st,context:it}=await V.initialize();K=w(st.serverTools);F.change(it);I!==null&&new C.ResizeObserver(ge).observe(I);</script>
  </body>
</html>
`;
