import { createHash } from "node:crypto";
import style from "./assets/inspector.css?raw";
// The build gives it a default export.
// oxlint-disable-next-line import/default
import script from "./script/main.ts?script";

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

export const scriptAsset: Asset = asset("js", "text/javascript; charset=utf-8", script);
export const styleAsset: Asset = asset("css", "text/css; charset=utf-8", style);
