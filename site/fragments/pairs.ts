import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pairOf, root, senders } from "../pages.js";
import { frameworks } from "./frameworks.js";
import { pairPage } from "./pages.js";
import { senderOf } from "./senders.js";

/** Writes the pages of each sender in each framework. */
export async function writePairs(): Promise<void> {
  rmSync(join(root, "site/senders"), { recursive: true, force: true });
  for (const sender of senders) {
    const fragment = senderOf(sender);
    for (const framework of frameworks) {
      const file = join(root, pairOf(sender, framework.name));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, await pairPage(framework, fragment));
    }
  }
}
