import { faultKinds, faultName, placeOf, type FaultKind } from "../../faults.js";
import { nameOf } from "../../judge/judge.js";
import { kindText, timeOf } from "../text.js";
import type { Cell, ReportPage } from "../report.js";
import { textHtml } from "./escape.js";
import { iconHtml, type Shape } from "./icons.js";
import { whatHtml } from "./timeline.js";

interface State {
  readonly shape: Shape;
  readonly word: string;
}

const placeText = (point: number): string =>
  placeOf(point).isAfter ? "executed, reply not read" : "before it is sent";

const anchorOf = ({ kind, point }: Cell): string => `${kind}-${point}`;

/** Returns the finding's name as people read it: `order-dependent stats`. */
const findingName = (name: string): string =>
  name.replace("order_dependent", kindText("order_dependent"));

/** Returns the state of a cell. Its word names the findings, if there are any. */
function stateOf({ findings, isReached }: Cell, accepted: ReadonlySet<string>): State {
  if (!isReached) return { shape: "unreached", word: "not reached" };
  if (findings.length === 0) return { shape: "ok", word: "no finding" };
  const word = findings.map(findingName).join(", ");
  return findings.every((name) => accepted.has(name))
    ? { shape: "accepted", word: `accepted: ${word}` }
    : { shape: "bad", word };
}

const stateHtml = ({ shape, word }: State): string =>
  `${iconHtml(shape)} <span>${textHtml(word)}</span>`;

const acceptedIn = ({ report }: ReportPage): ReadonlySet<string> =>
  new Set(report.accepted.map(nameOf));

const legend: readonly State[] = [
  { shape: "bad", word: "finding" },
  { shape: "ok", word: "no finding" },
  { shape: "accepted", word: "accepted finding" },
  { shape: "unreached", word: "not reached, so not tried" },
  { shape: "none", word: "not applicable" },
];

/** Returns the table of points and kinds of faults. Each result links to its history. */
export function gridHtml(page: ReportPage): string {
  const { cells, points } = page;
  if (cells.length === 0) return "<p>No history with one fault was run.</p>";
  const accepted = acceptedIn(page);
  const kinds = faultKinds.filter((kind) => cells.some((cell) => cell.kind === kind));
  const byAnchor = new Map(cells.map((cell) => [anchorOf(cell), cell]));
  const cellHtml = (kind: FaultKind, point: number): string => {
    const cell = byAnchor.get(`${kind}-${point}`);
    if (!cell) return `<td>${stateHtml({ shape: "none", word: "not applicable" })}</td>`;
    const state = stateOf(cell, accepted);
    return `<td class="${state.shape}"><a href="#${anchorOf(cell)}">${stateHtml(state)}</a></td>`;
  };
  const rows = points.flatMap((name, index) =>
    [index * 2 + 1, index * 2 + 2].map((point) => {
      const isFirst = point % 2 === 1;
      const crossing = `<th scope="rowgroup" rowspan="2"><span class="note">${index + 1}.</span> ${textHtml(name)}</th>`;
      const row = `${isFirst ? crossing : ""}<th scope="row">${placeText(point)} <span class="note">@${point}</span></th>`;
      const tds = kinds.map((kind) => cellHtml(kind, point)).join("");
      return `${isFirst ? "<tbody>\n" : ""}<tr>${row}${tds}</tr>${isFirst ? "" : "\n</tbody>"}`;
    }),
  );
  return `<ul class="legend">${legend.map((state) => `<li>${stateHtml(state)}</li>`).join("")}</ul>
<div class="scroll" tabindex="0" role="region" aria-label="Grid of points and faults">
<table>
<caption class="vh">The result of each fault at each point. Each result links to its history.</caption>
<thead><tr><th scope="col">Call</th><th scope="col">Point</th>${kinds.map((kind) => `<th scope="col">${faultName(kind)}</th>`).join("")}</tr></thead>
${rows.join("\n")}
</table>
</div>`;
}

/** Returns the histories of all cells, collapsed. A browser expands a history when a link points to its content. */
export function historiesHtml(page: ReportPage): string {
  const accepted = acceptedIn(page);
  return page.cells
    .map((cell) => {
      const { kind, point, lines } = cell;
      const call = page.points[placeOf(point).crossing - 1] ?? "";
      const rows = lines.map(
        (line) =>
          `<li><span class="time">${timeOf(line.ms)}</span><span class="who">${textHtml(line.who)}</span><span class="what">${whatHtml(line)}</span></li>`,
      );
      return `<details><summary><code>${kind}@${point}</code> ${textHtml(call)}, ${placeText(point)}: <span class="state">${stateHtml(stateOf(cell, accepted))}</span></summary>
<ol class="plain" id="${anchorOf(cell)}" tabindex="-1">
${rows.join("\n")}
</ol></details>`;
    })
    .join("\n");
}
