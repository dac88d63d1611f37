import type { Sender } from "@svc-webhooks/schemes/senders";
import type { Question } from "./form.js";
import { resultOf, type Answer } from "./result.js";

const ed25519 = new Set<Sender["name"]>(["discord", "standard-webhooks-ed25519"]);

/** Returns whether this browser can verify Ed25519 signatures. Not every supported browser can. */
const hasEd25519 = async (): Promise<boolean> =>
  crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]).then(
    () => true,
    () => false,
  );

async function answerTo(question: Question): Promise<Answer> {
  const { sender } = question;
  if (ed25519.has(sender) && !(await hasEd25519())) {
    const error = `This browser cannot verify Ed25519 signatures. Use a newer browser, or run svc-webhooks verify --scheme ${sender} --explain.`;
    return { option: "scheme", error };
  }
  return { result: await resultOf(question) };
}

addEventListener("message", ({ data }: MessageEvent<Question>) => {
  void answerTo(data)
    .catch((error: unknown): Answer => {
      const { option, message } = error as { readonly option?: string; readonly message?: string };
      return { option, error: message ?? String(error) };
    })
    .then((answer) => postMessage(answer));
});
