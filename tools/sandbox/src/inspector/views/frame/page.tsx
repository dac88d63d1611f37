import type { Child } from "hono/jsx";
import { schemeAsset, scriptAsset, styleAsset } from "../../assets.js";
import type { View } from "../../view.js";
import { visibleText } from "../../visible.js";
import { Key } from "../parts/elements.js";

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 20 20'%3E%3Cpath fill='%231d4ecb' d='M3 2h14a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-5l-4 4v-4H3a2 2 0 0 1-2-2V4c0-1.1.9-2 2-2Z'/%3E%3C/svg%3E";

interface PageProps {
  readonly view: View;
  readonly title: string;
  readonly header: Child;
  readonly main: Child;
  readonly setup: Child;
}

/** The HTML document that contains the parts. */
export const Page = ({ view, title, header, main, setup }: PageProps) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <title>{visibleText(title)}</title>
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      {view.state.refresh !== undefined && (
        <noscript>
          <meta http-equiv="refresh" content={view.state.refresh} />
        </noscript>
      )}
      <link rel="icon" href={icon} />
      <link rel="stylesheet" href={styleAsset.path} />
      <script type="module" src={scriptAsset.path} />
      <script src={schemeAsset.path} />
    </head>
    <body data-stream={`${view.overview.epoch}-${view.overview.seq}`}>
      <Sprite />
      <a class="skip" href="#timeline">
        Skip to the timeline
      </a>
      {header}
      <p class="vh" role="status" id="status" />
      <div class="app">
        <main>{main}</main>
        {setup}
      </div>
      <Shortcuts />
    </body>
  </html>
);

const shortcuts = [
  ["j k", "next, previous line of the timeline"],
  ["Enter", "open the line"],
  ["[ ]", "previous, next attempt"],
  ["/", "search"],
  ["Esc", "leave a field, close its menu"],
  ["t", "send a test email"],
  ["n", "run the next attempt now"],
  ["r", "redeliver"],
  ["e", "edit and send"],
  ["c", "copy as curl"],
  [".", "move the clock to the next task"],
  ["p", "pause"],
  ["1 2 3 4", "endpoints, faults, assumptions, domains"],
  ["?", "this list"],
] as const;

const Shortcuts = () => (
  <dialog id="shortcuts" aria-labelledby="h-shortcuts">
    <h2 id="h-shortcuts">Keyboard shortcuts</h2>
    <dl class="kv">
      {shortcuts.map(([keys, what]) => (
        <>
          <dt>
            {keys.split(" ").map((key) => (
              <>
                <Key of={key} />{" "}
              </>
            ))}
          </dt>
          <dd>{what}</dd>
        </>
      ))}
    </dl>
    <form method="dialog" class="line">
      <label class="check">
        <input type="checkbox" id="shortcuts-on" checked /> Shortcuts are on
      </label>
      <button>Close</button>
    </form>
  </dialog>
);

const drawings = {
  ok: "M8 0a8 8 0 1 1 0 16A8 8 0 0 1 8 0Zm3.9 4.9-4.6 5.3-2.5-2.3-1.1 1.2 3.7 3.4 5.8-6.5-1.3-1.1Z",
  bad: "M2.5 0h11A2.5 2.5 0 0 1 16 2.500v11a2.5 2.5 0 0 1-2.5 2.500h-11A2.5 2.5 0 0 1 0 13.500v-11A2.5 2.5 0 0 1 2.5 0Zm2.2 3.600L3.6 4.7 6.9 8l-3.3 3.3 1.1 1.100L8 9.100l3.3 3.3 1.1-1.100L9.1 8l3.3-3.3-1.1-1.100L8 6.9 4.7 3.600Z",
  wait: "M8 0a8 8 0 1 1 0 16A8 8 0 0 1 8 0Zm0 1.600a6.4 6.4 0 1 0 0 12.800A6.4 6.4 0 0 0 8 1.600Zm-.8 2h1.600v4.100l2.7 1.6-.8 1.3-3.5-2.100V3.600Z",
  half: "M8 0a8 8 0 1 1 0 16A8 8 0 0 1 8 0Zm0 1.600a6.4 6.4 0 0 0 0 12.800V1.600Z",
  none: "M8 0a8 8 0 1 1 0 16A8 8 0 0 1 8 0Zm0 1.600a6.4 6.4 0 0 0-5.1 10.300l9-9A6.4 6.4 0 0 0 8 1.600Zm5.1 2.5-9 9a6.4 6.4 0 0 0 9-9Z",
  flag: "M3 1h1.600v1H14l-2.4 3.500L14 9H4.600v6H3V1Z",
  warn: "M8 .8 16 15H0L8 .8Zm0 3.300L2.7 13.400h10.600L8 4.100Zm-.8 2.700h1.600v3.300H7.200V6.800Zm0 4.200h1.600v1.500H7.200V11Z",
  event: "M8 .6 15.4 8 8 15.4.6 8 8 .6Zm0 2.300L2.9 8 8 13.1 13.1 8 8 2.900Z",
  call: "M1 2h5v1.600H2.600v8.800H6V14H1V2Zm7.9 1.700L10 2.6 15.4 8 10 13.400l-1.1-1.1 3.5-3.500H5V7.200h7.400L8.9 3.700Z",
  mail: "M1 2.500h14v11H1v-11Zm1.6 2.400v7h10.800v-7L8 9.2 2.6 4.900Zm10-.8H3.400L8 7.400l4.6-3.300Z",
  sent: "M1 1.500 15.500 8 1 14.500 3.300 8 1 1.500Zm2.900 3.100.9 2.600H9v1.600H4.800l-.9 2.600L11.500 8 3.900 4.600Z",
  delivered:
    "M7.200 1h1.600v4.800l1.800-1.800 1.100 1.100L8 8.800 4.300 5.100 5.400 4l1.800 1.800V1ZM1 8.500h1.600v4.900h10.800V8.500H15V15H1V8.500Z",
  copy: "M5 1h10v10h-4v4H1V5h4V1Zm1.6 1.600V5H11v4.400h2.400V2.600H6.600ZM2.6 6.600v6.800h6.800V6.600H2.600Z",
  dot: "M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3Z",
  logo: "M2.4 1.600h11.200A1.6 1.6 0 0 1 15.2 3.200v6.400a1.6 1.6 0 0 1-1.6 1.600h-4l-3.2 3.200v-3.200h-4A1.6 1.6 0 0 1 .8 9.600V3.200a1.6 1.6 0 0 1 1.6-1.600Zm2.8 2.8-2 2 2 2 .9-.9-1.1-1.1 1.1-1.1-.9-.9Zm5.6 0-.9.9 1.1 1.1-1.1 1.1.9.9 2-2-2-2Z",
} as const;

/** The drawings of all icons. The icons on the page refer to them. */
const Sprite = () => (
  <svg class="sprite" aria-hidden="true">
    {Object.entries(drawings).map(([name, path]) => (
      <symbol id={`i-${name}`} viewBox="0 0 16 16">
        <path fill-rule="evenodd" d={path} />
      </symbol>
    ))}
  </svg>
);
