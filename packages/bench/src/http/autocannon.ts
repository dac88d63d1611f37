import { createRequire } from "node:module";
import { outputOf, withFile } from "./command.js";
import { connections, type Loaded, type LoadTool } from "./load.js";

const script = createRequire(import.meta.url).resolve("autocannon");

/** https://github.com/mcollina/autocannon: it takes more of the machine than wrk, but npm brings it. */
export const autocannon: LoadTool = {
  name: "autocannon",
  load: (port, { headers, body }, ms) =>
    withFile(body, async (input) => {
      const args = [
        ["--json", "--method", "POST", "--input", input],
        ["--connections", String(connections), "--duration", String(ms / 1_000)],
        // Whether time is up is looked at once in a sample.
        ["--sampleInt", "100"],
        // Makes another text of [<id>] in each request. It must not end an argument: brackets mean something there.
        ["--idReplacement"],
        Object.entries(headers("dlv_[<id>]_")).flatMap((field) => ["--headers", field.join("=")]),
        [`http://127.0.0.1:${port}/webhooks`],
      ];
      return parseAutocannon(await outputOf(process.execPath, [script, ...args.flat()]));
    }),
};

function parseAutocannon(output: string): Loaded {
  const { requests, non2xx, duration } = JSON.parse(output) as {
    readonly requests: { readonly sent: number; readonly total: number };
    readonly non2xx: number;
    readonly duration: number;
  };
  // Its own count of errors leaves out connections that the server closes: those are made anew without
  // a word, and their requests are lost. At the end each connection has one request under way.
  const broken = Math.max(requests.sent - requests.total - connections, 0);
  return { answered: requests.total, refused: non2xx, broken, seconds: duration };
}
