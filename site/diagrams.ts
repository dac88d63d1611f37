import type { MarkdownRenderer } from "vitepress";

interface Message {
  readonly kind: "message";
  readonly from: number;
  readonly to: number;
  readonly isReply: boolean;
  readonly text: string;
}

interface Note {
  readonly kind: "note";
  readonly over: number;
  readonly text: string;
}

interface Sequence {
  readonly participants: readonly string[];
  readonly steps: readonly (Message | Note)[];
}

const participantLine = /^participant (\w+) as (.+)$/;
const messageLine = /^(\w+)(-->>|->>)(\w+): (.+)$/;
const noteLine = /^Note over (\w+): (.+)$/;

/**
 * Parses the part of Mermaid's sequence diagrams that the pages use: participants with names, messages, replies and
 * notes over one participant.
 *
 * @throws Error for any other line
 */
function parse(code: string): Sequence {
  const [head, ...lines] = code
    .trim()
    .split("\n")
    .map((line) => line.trim());
  if (head !== "sequenceDiagram") throw new Error(`site/diagrams.ts cannot draw a ${head}.`);
  const names = lines.flatMap((line) => {
    const [, id, name] = participantLine.exec(line) ?? [];
    return id === undefined ? [] : [[id, name ?? id] as const];
  });
  const column = (id = "") => {
    const at = names.findIndex(([one]) => one === id);
    if (at === -1) throw new Error(`The diagram has no participant ${id}.`);
    return at;
  };
  const stepOf = (line: string): Message | Note => {
    const [, from, arrow, to, text] = messageLine.exec(line) ?? [];
    if (text !== undefined) {
      const isReply = arrow === "-->>";
      return { kind: "message", from: column(from), to: column(to), isReply, text };
    }
    const [, over, note] = noteLine.exec(line) ?? [];
    if (note === undefined) throw new Error(`site/diagrams.ts cannot draw the line "${line}".`);
    return { kind: "note", over: column(over), text: note };
  };
  const steps = lines.filter((line) => !participantLine.test(line)).map(stepOf);
  return { participants: names.map(([, name]) => name), steps };
}

const columnWidth = 190;
const rowHeight = 44;
const top = 56;

const middle = (column: number) => column * columnWidth + columnWidth / 2;

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

const label = (x: number, y: number, text: string) =>
  `<text x="${x}" y="${y}">${escaped(text)}</text>`;

const box = (x: number, y: number, width: number, kind: string) =>
  `<rect class="${kind}" x="${x - width / 2}" y="${y}" width="${width}" height="30" rx="6"/>`;

function drawStep(step: Message | Note, row: number): string {
  const y = top + row * rowHeight + rowHeight / 2;
  if (step.kind === "note") {
    const x = middle(step.over);
    return box(x, y - 15, 150, "note") + label(x, y + 4, step.text);
  }
  const [from, to] = [middle(step.from), middle(step.to)];
  // The arrow ends before the lifeline, so that its head is not hidden by it.
  const end = to - Math.sign(to - from) * 3;
  const kind = step.isReply ? "reply" : "call";
  return (
    `<path class="${kind}" d="M${from} ${y + 8}H${end}" marker-end="url(#arrow)"/>` +
    label((from + to) / 2, y, step.text)
  );
}

/** Draws a sequence diagram as SVG. The theme's style sheet has its colours. */
export function draw(code: string): string {
  const { participants, steps } = parse(code);
  const [width, height] = [participants.length * columnWidth, top + steps.length * rowHeight + 12];
  const columns = participants.map((name, i) => {
    const x = middle(i);
    return `<path class="life" d="M${x} 38V${height}"/>${box(x, 8, 130, "participant")}${label(x, 28, name)}`;
  });
  const inWords = steps.map((step) =>
    step.kind === "note"
      ? `${participants[step.over]}: ${step.text}`
      : `${participants[step.from]} to ${participants[step.to]}: ${step.text}`,
  );
  return (
    `<div class="diagram" tabindex="0" role="region" aria-label="Diagram"><svg role="img" viewBox="0 0 ${width} ${height}" width="${width}"` +
    ` aria-label="${escaped(`Sequence diagram. ${inWords.join(". ")}.`)}">` +
    '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">' +
    `<path class="head" d="M0 0L10 5L0 10z"/></marker></defs>` +
    `${columns.join("")}${steps.map(drawStep).join("")}</svg></div>\n`
  );
}

/** Draws blocks of Mermaid when the site is built. */
export function diagrams(md: MarkdownRenderer): void {
  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (tokens, at, options, env, self) => {
    const { info = "", content = "" } = tokens[at] ?? {};
    if (info.trim() === "mermaid") return draw(content);
    return fence?.(tokens, at, options, env, self) ?? "";
  };
}
