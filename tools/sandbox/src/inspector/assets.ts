import { createHash } from "node:crypto";
// The lint rule does not see the default exports, because the build adds them.
// oxlint-disable import/default
import script from "./script/main.ts?script";
import scheme from "./script/scheme.ts?script";
// oxlint-enable import/default
import base from "./style/base.css?raw";
import controls from "./style/controls.css?raw";
import frame from "./style/frame.css?raw";
import timeline from "./style/timeline.css?raw";
import detail from "./style/detail.css?raw";
import parts from "./style/parts.css?raw";
import setup from "./style/setup.css?raw";
import viewports from "./style/viewports.css?raw";

/** Creates an asset. Its path contains a hash of its content, so that browsers may cache it forever. */
const asset = (extension: string, type: string, content: string) => {
  const hash = createHash("sha256").update(content).digest("base64url").slice(0, 12);
  return { path: `/assets/${hash}.${extension}`, type, content };
};

// The order matters, because later rules override earlier ones.
const style = [base, controls, frame, timeline, detail, parts, setup, viewports].join("");

const javascript = "text/javascript; charset=utf-8";
export const scriptAsset = asset("js", javascript, script);
export const schemeAsset = asset("js", javascript, scheme);
export const styleAsset = asset("css", "text/css; charset=utf-8", style);
