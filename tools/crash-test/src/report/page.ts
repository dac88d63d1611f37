import type { Finding, HistoryLine } from "../history.js";
import { plainHtml, sentenceHtml, textHtml } from "./page/escape.js";
import { gridHtml, historiesHtml } from "./page/grid.js";
import { iconHtml } from "./page/icons.js";
import { style, styleHash } from "./page/style.js";
import { lanesOf, timelineHtml } from "./page/timeline.js";
import type { CrashTestReport, ReportPage } from "./report.js";
import { reachText, titleOf, triedText } from "./text.js";
import { functionWords, type Words } from "./words.js";

/** Returns the report as one HTML document that runs no script and makes no request. */
export function pageOf(page: ReportPage, words: Words = functionWords): string {
  const { report } = page;
  const { findings } = report;
  const state = findings.length > 0 ? "bad" : report.unseen.length > 0 ? "fault" : "ok";
  const title = `Crash test of ${report.events.join(", ")}: ${countText(findings.length)}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '${styleHash}'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>${plainHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<header class="panel">
<h1>${iconHtml(state)} ${textHtml(title)}</h1>
<p>${textHtml(triedIn(report, words))}</p>
${findings.length > 1 ? `<ol class="index">${findings.map(linkHtml).join("")}</ol>` : ""}
${factsHtml(report)}
</header>
${findings.map((finding, index) => findingHtml(finding, index, page, words)).join("\n")}
<section class="panel" aria-labelledby="grid">
<h2 id="grid">One fault at each point</h2>
<p class="note">Each result links to the history with this one fault.</p>
${gridHtml(page)}
</section>
<section class="panel" aria-labelledby="histories">
<h2 id="histories">Histories with one fault</h2>
<div>
${historiesHtml(page)}
</div>
</section>
</main>
</body>
</html>
`;
}

const triedIn = (report: CrashTestReport, words: Words): string => {
  const text = triedText(report, words).join(" ");
  return text.includes("(seed") ? text : `${text} Seed ${report.seed}.`.trim();
};

const countText = (count: number): string =>
  count === 0 ? "no finding" : count === 1 ? "1 finding" : `${count} findings`;

const sourceHtml = ({ source }: Finding): string =>
  source === undefined ? "" : ` <code class="source">${textHtml(source)}</code>`;

const linkHtml = (finding: Finding, index: number): string =>
  `<li>${iconHtml("bad")} <a href="#finding-${index + 1}">${textHtml(titleOf(finding))}</a>${sourceHtml(finding)}</li>`;

/** Returns the list of facts that limit the meaning of the report. */
function factsHtml(report: CrashTestReport): string {
  const facts: readonly (readonly [title: string, items: readonly string[], isFault?: boolean])[] =
    [
      ["Accepted findings", report.accepted.map(titleOf)],
      ["Access where no fault was tried", report.unseen, true],
      ["Named but never used", report.unused],
      ["Not compared", report.notCompared],
      ["Not reached, so not tried", report.notReached],
      ["Did not occur again, probably because of timing", report.unsteady],
      ["Not seen by this test", report.blind],
      ["Assumed to honor their idempotency keys", report.keyed],
    ];
  const shown = facts
    .filter(([, items]) => items.length > 0)
    .map(([title, items, isFault]) => {
      const name = isFault ? `<b class="fault">${iconHtml("fault")} ${title}</b>` : title;
      return `<div><dt>${name}</dt><dd><ul>${items.map((item) => `<li>${textHtml(item)}</li>`).join("")}</ul></dd></div>`;
    });
  return shown.length === 0 ? "" : `<dl>${shown.join("")}</dl>`;
}

function findingHtml(
  finding: Finding,
  index: number,
  { report, undisturbed }: ReportPage,
  words: Words,
): string {
  const { effect, history, repeat, cells } = finding;
  const id = `finding-${index + 1}`;
  const normal = undisturbed.map((line) => withEffect(line, effect));
  const lane = [...history, ...undisturbed].find(({ effects }) => effects?.includes(effect))?.to;
  const again = repeat === "" ? "" : ` Repeat it: <code>${textHtml(words.repeat(repeat))}</code>`;
  const grid = cells.length === 0 ? "" : ' <a href="#grid">See the grid.</a>';
  const lanes = lanesOf(history, undisturbed);
  const title =
    repeat === "" ? "Without a fault" : repeat.includes(" ") ? "With the faults" : "With the fault";
  const sides = [[title, timelineHtml(history, lanes, { result: finding, lane })]];
  if (repeat !== "") sides.push(["Undisturbed", timelineHtml(normal, lanesOf(normal, history))]);
  return `<section class="panel finding" aria-labelledby="${id}">
<h2 id="${id}">${iconHtml("bad")} ${textHtml(titleOf(finding))}${sourceHtml(finding)}</h2>
<p class="advice"><b>Fix</b> <span>${sentenceHtml(finding.advice)}</span></p>
<div class="${sides.length > 1 ? "pair" : "single"}">
${sides
  .map(
    ([heading, html], place) => `<div class="side"><h3 id="${id}-${place}">${heading}</h3>
<div class="scroll" tabindex="0" role="region" aria-labelledby="${id} ${id}-${place}">
${html}
</div></div>`,
  )
  .join("\n")}
</div>
<p>${textHtml(reachText(finding, report))}${grid}${again}</p>
</section>`;
}

/** Marks a line of the undisturbed history if it has the effect of a finding. */
const withEffect = (line: HistoryLine, effect: string): HistoryLine =>
  line.effects?.includes(effect) ? { ...line, note: line.note ?? "effect" } : line;
