import { command, type Context } from "../command.js";
import { UsageError } from "../errors.js";
import { readText } from "../lib/read.js";
import { serviceOptions, waitOption, withService } from "../lib/service.js";
import { fields } from "../lib/terminal/table.js";

const options = {
  from: { type: "string", required: true, value: "address", text: "sender, on a verified domain" },
  to: { type: "string", multiple: true, value: "address", text: "recipient; may be repeated" },
  subject: { type: "string", required: true, text: "at most 300 characters" },
  text: { type: "string", text: "plain-text body" },
  html: { type: "string", text: "HTML body" },
  "text-file": {
    type: "string",
    value: "file",
    isInput: true,
    text: "file with the plain-text body",
  },
  "html-file": { type: "string", value: "file", isInput: true, text: "file with the HTML body" },
  "idempotency-key": {
    type: "string",
    value: "key",
    text: "repeating the command with the same key does not send a second email (default: random)",
  },
  wait: waitOption,
  ...serviceOptions,
} as const;

export const emailsSend = command({
  usage: "--from <address> --to <address> --subject <text> [options]",
  details: [
    "Submits an email and prints the resulting send. With --wait, the exit code is 1 unless the email is delivered.",
  ],
  examples: [
    "svc-webhooks service emails send --from ada@mail.test --to bob@b.test --subject Hi --text Hello",
  ],
  options,
  async run(context) {
    const { options: values, show, signal } = context;
    const { from, to, subject, wait, "idempotency-key": idempotencyKey } = values;
    if (to.length === 0 || to.includes(""))
      throw new UsageError("--to is missing.", "Write it as --to ada@example.com.");
    const [text, html] = [await bodyOf("text", context), await bodyOf("html", context)];
    if (!text && !html) {
      throw new UsageError(
        "The email has no body.",
        "Add --text or --html, or read the body from a file with --text-file or --html-file.",
      );
    }
    return withService(context, async ({ emails, sends }) => {
      const body = html ? { html, text: text || undefined } : { text: text ?? "" };
      const email = { from, to, subject, ...body };
      const { idempotencyKey: idempotency_key, ...accepted } = await emails.send(email, {
        idempotencyKey,
        signal,
      });
      const { send_id } = accepted;
      const send = wait ? await sends.waitFor(send_id, { signal }) : accepted;
      const { status } = send;
      show(
        { ...accepted, ...send, idempotency_key },
        fields({ send_id, status, to: to.join(", "), subject, idempotency_key }),
      );
      return wait && send.status !== "delivered" ? 1 : 0;
    });
  },
});

/**
 * Resolves to the text or HTML body of the email, or to undefined if no option selects it.
 *
 * @throws UsageError (as a rejection) if both options are given, the text is `-`, or the file cannot be read
 */
async function bodyOf(
  name: "text" | "html",
  context: Context<typeof options>,
): Promise<string | undefined> {
  const { [name]: text, [`${name}-file` as const]: file } = context.options;
  if (file !== undefined && text !== undefined) {
    throw new UsageError(
      `The ${name} body was given more than once.`,
      `Use either --${name} or --${name}-file.`,
    );
  }
  if (text === "-") {
    throw new UsageError(
      `--${name} is the body itself, so - does not stand for stdin.`,
      `To read the body from stdin, write --${name}-file -.`,
    );
  }
  return file === undefined ? text : readText(`--${name}-file`, file, context);
}
