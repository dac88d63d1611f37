/** The hash of {@link style}. The page's Content-Security-Policy allows only this style. A test compares the two. */
export const styleHash = "sha256-3CsZtcWI45u/oYSX8eVZAiaObxg6iqal3R8kWeqckMc=";

/** The style of the page, with the colors, fonts and shapes of the sandbox's page. */
export const style: string = `
:root {
  color-scheme: light dark;
  --page: light-dark(#f4f5f7, #0e1013);
  --surface: light-dark(#fff, #16191d);
  --sunken: light-dark(#f4f5f7, #0f1215);
  --line: light-dark(#e1e4e8, #272c33);
  --edge: light-dark(#838b95, #6f7883);
  --ink: light-dark(#16191d, #e9ebee);
  --ink-2: light-dark(#464e58, #b9c0c9);
  --ink-3: light-dark(#59626d, #98a1ac);
  --accent: light-dark(#1d4ecb, #93b4ff);
  --tint: light-dark(#edf2ff, #182136);
  --ok: light-dark(#12673e, #6fcf9c);
  --bad: light-dark(#a81d17, #ff9a90);
  --bad-tint: light-dark(#fdeeec, #2b191b);
  --fault: light-dark(#744700, #e9bb5b);
  --fault-tint: light-dark(#fdf3df, #2a2213);
  --mono: ui-monospace, "SF Mono", SFMono-Regular, "Cascadia Mono", Menlo, Consolas, "Liberation Mono", monospace;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
}
*, ::before, ::after { box-sizing: border-box; }
body {
  margin: 0;
  background: var(--page);
  color: var(--ink);
  font: 0.875rem/1.25rem var(--sans);
  font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere;
  -webkit-text-size-adjust: 100%;
}
h1, h2, h3, p, ol, ul, dl, dd { margin: 0; padding: 0; }
ol, ul { list-style: none; }
h1 { font-size: 1.125rem; line-height: 1.75rem; font-weight: 650; }
h2 { font-size: 1rem; line-height: 1.5rem; font-weight: 650; }
h3 { color: var(--ink-2); font-size: 0.8125rem; font-weight: 650; }
b { font-weight: 600; }
code { font: 0.8125rem var(--mono); font-variant-ligatures: none; }
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: 2px; }
main { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.5rem; max-width: 100rem; margin: 0 auto; padding: 1.5rem; }
.panel { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.75rem; padding: 1rem; border: 1px solid var(--line); border-radius: 8px; background: var(--surface); }
.vh { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.note, .time, dt { color: var(--ink-3); font-size: 0.75rem; }
.source { margin-left: 0.5rem; color: var(--ink-2); font-weight: 400; }
.mark { white-space: nowrap; margin: 0 1px; padding: 0 0.1875rem; border: 1px solid var(--edge); border-radius: 3px; font: 0.6875rem var(--mono); color: var(--ink-2); }

/* shapes */
.icon { width: 0.875rem; height: 0.875rem; vertical-align: -0.125rem; flex: none; }
svg { fill: currentColor; overflow: visible; }
.cut { fill: none; stroke: var(--surface); stroke-width: 2; }
.ring { fill: none; stroke: currentColor; stroke-width: 2; }
.ok { color: var(--ok); }
.bad { color: var(--bad); }
.fault { color: var(--fault); }
.unreached, .accepted, .none { color: var(--ink-2); }

/* facts */
.index { display: grid; gap: 0.25rem; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); gap: 0.75rem 1.5rem; padding-top: 0.75rem; border-top: 1px solid var(--line); font-size: 0.8125rem; }
dd li { padding-left: 0.75rem; text-indent: -0.75rem; }
dd li::before { content: "– "; color: var(--ink-3); }

/* finding */
.advice { display: flex; gap: 0.75rem; padding: 0.625rem 0.75rem; border-left: 3px solid var(--accent); border-radius: 4px; background: var(--tint); font-size: 0.9375rem; line-height: 1.375rem; }
.advice b { flex: none; color: var(--accent); }
.pair { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem 1.5rem; }
.side { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.25rem; align-content: start; container-type: inline-size; }
.scroll { overflow-x: auto; }
@media (min-width: 75rem) {
  .pair { grid-template-columns: minmax(0, 7fr) minmax(0, 6fr); }
}

/* timeline: time, lanes, text; below each other in a narrow box */
${Array.from({ length: 12 }, (_empty, index) => `.lanes-${index + 1} { --lanes: ${index + 1}; }`).join("\n")}
.history { --lane: clamp(3.875rem, 8cqi, 5.5rem); --width: calc(var(--lanes) * var(--lane)); min-width: calc(var(--width) + 14rem); font-size: 0.8125rem; }
.lane-names { display: flex; width: var(--width); margin-left: 3rem; padding: 0.25rem 0; font-size: 0.6875rem; line-height: 1rem; font-weight: 600; color: var(--ink-2); }
.lane-names span { flex: 1 1 0; min-width: 0; padding: 0 0.125rem; text-align: center; align-self: end; }
.history li { position: relative; display: grid; grid-template-columns: 3rem var(--width) minmax(0, 1fr); align-items: center; min-height: 2rem; padding: 0.25rem 0; }
.history .time { padding-right: 0.5rem; text-align: right; white-space: nowrap; }
.history .what { position: relative; grid-column: 3; padding-left: 0.75rem; line-height: 1.125rem; }
.history .what b.bad { display: inline-block; }
.history .what .note::before { content: "· "; }
.is-later { border-top: 1px dashed var(--edge); }
.is-fault { background: var(--fault-tint); }
.is-bad { background: var(--bad-tint); }
.is-bad .cut { stroke: var(--bad-tint); }
.picture { position: absolute; left: 3rem; top: 0; width: var(--width); height: 100%; }
.life { stroke: var(--line); stroke-width: 2; }
.is-fault .life, .is-bad .life { stroke: var(--edge); stroke-opacity: 0.4; }
.arrow { stroke: var(--ink-2); stroke-width: 1.5; }
.broken { stroke: var(--fault); stroke-dasharray: 4 4; }
.head, .dot, .effect { color: var(--ink-2); }
.is-bad .arrow { stroke: var(--bad); stroke-width: 2; }
@container (max-width: 34rem) {
  .history { --lane: 2.5rem; min-width: var(--width); }
  .lane-names { width: 100%; margin: 0; }
  .lane-names span { display: grid; align-items: center; max-height: 8rem; overflow: hidden; text-align: left; writing-mode: vertical-rl; rotate: 180deg; }
  .history li { grid-template-columns: 3rem minmax(0, 1fr); padding: 0.375rem 0 2rem; border-top: 1px solid var(--line); }
  .history .is-later { border-top: 2px dashed var(--edge); }
  .history .time { padding: 0; text-align: left; }
  .history .what { grid-column: 2; padding: 0; }
  .picture { left: 0; top: auto; bottom: 0; width: 100%; height: 2rem; }
}

/* grid and histories */
.legend { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; font-size: 0.8125rem; }
.legend svg, td.ok a svg { color: var(--ink-2); }
.legend .bad { color: var(--bad); }
.legend .ok, td.ok a .ok { color: var(--ok); }
table { border-collapse: collapse; font-size: 0.8125rem; line-height: 1.125rem; overflow-wrap: normal; }
th, td { padding: 0.375rem 0.625rem; border-top: 1px solid var(--line); text-align: left; vertical-align: top; }
thead th { color: var(--ink-3); font-size: 0.75rem; font-weight: 500; white-space: nowrap; border-top: 0; }
tbody th { font-weight: 500; }
tbody th[rowspan] { min-width: 9rem; max-width: 18rem; overflow-wrap: anywhere; font-weight: 600; }
tbody th[scope="row"] { color: var(--ink-2); white-space: nowrap; }
tbody { border-top: 2px solid var(--line); }
td { min-width: 8.25rem; max-width: 14rem; overflow-wrap: anywhere; }
td a { display: inline-flex; gap: 0.3125rem; min-height: 1.5rem; color: inherit; }
td a .icon { margin-top: 0.125rem; }
td.ok a { color: var(--ink-2); }
td.bad { background: var(--bad-tint); font-weight: 600; }
td.bad .cut { stroke: var(--bad-tint); }
td:not([class]) { color: var(--ink-3); }
details { border-top: 1px solid var(--line); }
summary { padding: 0.25rem 0; cursor: pointer; }
.plain { scroll-margin-top: 3.5rem; padding: 0.25rem 0.75rem 0.5rem; border-radius: 6px; background: var(--sunken); }
.plain:target { outline: 2px solid var(--accent); }
.plain li { display: grid; grid-template-columns: 3.5rem 3.5rem minmax(0, 1fr); gap: 0 0.5rem; padding: 0.125rem 0; }
.plain .time { text-align: right; white-space: nowrap; }
.plain .who { color: var(--ink-2); }
@media (max-width: 40rem) {
  main { gap: 0.75rem; padding: 0.75rem 0.5rem; }
  .panel { padding: 0.75rem; }
}
@media print {
  :root { color-scheme: light; }
  body { background: none; font-size: 0.75rem; }
  main { padding: 0; }
  .panel { border: 0; padding: 0; }
  .scroll { overflow: visible; }
  li, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  * { print-color-adjust: exact; }
}
`;
