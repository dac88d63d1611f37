import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@svc-webhooks/kit/programs";
import { newFile } from "./support.js";

const modules = (path: string) => JSON.stringify(`file://${join(root, path)}`);

/** The core, as a module specifier in quotes. */
export const coreModule: string = modules("packages/core/dist/main.js");

/**
 * Writes a module whose default export is the `admin` of an inbox in memory: with two dead letters, of which the first
 * would now succeed, and a job that is ready. Returns its path.
 *
 * @param rest statements before the export
 * @param exported the default export
 */
export function adminFile(rest = "", exported = "inbox.admin"): string {
  const file = newFile("inbox.admin.mjs");
  writeFileSync(
    file,
    `
    import { createReceiver, memoryStore, PermanentError } from ${coreModule};
    import { signedDelivery } from ${modules("tools/testing/dist/index.js")};
    import { memoryInbox } from ${modules("tools/testing/dist/inbox.js")};
    const inbox = memoryInbox();
    let isFixed = false;
    const receiver = createReceiver({
      secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
      store: memoryStore(),
      logger: { info() {}, warn() {}, error() {} },
      on: {
        "*": inbox((event) => {
          if (event.type === "a.sent" && isFixed) return;
          throw new PermanentError("no such\\n account");
        }),
      },
    });
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const send = async (type, deliveryId) =>
      receiver.receive(await signedDelivery({ type, to: "me@example.com" }, { secret, deliveryId }));
    await send("a.sent", "dlv_1");
    await send("b.sent", "dlv_2");
    await inbox.run(receiver);
    isFixed = true;
    await send("a.sent", "dlv_3");
    export const letters = inbox.jobs().filter(({ state }) => state === "dead");
    ${rest}
    export default ${exported};`,
  );
  return file;
}
