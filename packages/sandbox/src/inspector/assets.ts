import { createHash } from "node:crypto";
import script from "./assets/inspector.js?raw";
import style from "./assets/inspector.css?raw";

export interface Asset {
  /** Has a hash of the content, so that browsers may keep it. */
  readonly path: string;
  readonly type: string;
  readonly content: string;
}

const asset = (extension: string, type: string, content: string): Asset => {
  const hash = createHash("sha256").update(content).digest("base64url").slice(0, 12);
  return { path: `/assets/${hash}.${extension}`, type, content };
};

/** Its comments are for those who read the source. */
const withoutComments = script.replaceAll(/\/\*[^]*?\*\/\n?|^ *\/\/.*\n/gm, "");

export const scriptAsset: Asset = asset("js", "text/javascript; charset=utf-8", withoutComments);
export const styleAsset: Asset = asset("css", "text/css; charset=utf-8", style);
