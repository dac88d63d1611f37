import { setMaxListeners } from "node:events";
import { createTransport, type NodemailerError } from "nodemailer";
import { createLanes } from "../delivery/lanes.js";
import { clearTimeout, setImmediate, setTimeout } from "../lib/timers.js";
import type { SmtpServer } from "../options.js";
import type { World } from "../world.js";
import type { SendRecord } from "../state/records.js";

/** Relays accepted emails to an SMTP server on this machine. */
export interface Relay {
  /** Queues the email of a send. The result is added to the send's history and changes nothing else. */
  readonly send: (sendId: string) => void;
  /** Aborts running transfers and discards queued sends. */
  readonly close: () => void;
}

/** The maximum number of emails that are relayed at the same time. They start in the order of their sends. */
const atOnce = 3;

/** The domain of the id in a Message-ID header (RFC 5322, section 3.6.4). */
const messageIdDomain = "sandbox.test";

/**
 * Creates the relay of a sandbox.
 *
 * @param server the SMTP server. If undefined, nothing is relayed.
 * @param limitMs the time limit of one email, in real milliseconds. Default 10 s.
 */
export function createRelay(server: SmtpServer | undefined, world: World, limitMs = 10_000): Relay {
  if (server === undefined) return { send() {}, close() {} };
  const { host, port } = server;
  const place = `${host === "::1" ? "[::1]" : host}:${port}`;
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const inLane = createLanes(atOnce);

  const pass = async (send: SendRecord): Promise<string> => {
    const controller = new AbortController();
    const abort = () => controller.abort();
    const timer = setTimeout(abort, limitMs);
    closing.signal.addEventListener("abort", abort, { signal: controller.signal });
    let offersUtf8: boolean | undefined;
    const transport = createTransport({
      host,
      port,
      secure: false,
      ignoreTLS: true,
      disableFileAccess: true,
      disableUrlAccess: true,
      socketCloseTimeout: 0,
      // nodemailer would send an address that is not ASCII to any server. Only its log shows whether the server
      // supports such addresses (RFC 6531, section 3.2), so the logger checks that, and aborts if the server does not.
      transactionLog: [send.from, ...send.to].some(needsUtf8),
      logger: {
        debug({ tnx }: { readonly tnx?: unknown }, text: string) {
          if (tnx !== "server" || !text.startsWith("250")) return;
          offersUtf8 ??= /[ -]SMTPUTF8\b/i.test(text);
          if (!offersUtf8) abort();
        },
      },
    });
    try {
      const { rejected } = await transport.sendMail({
        messageId: `<${send.messageId}@${messageIdDomain}>`,
        // Addresses are passed as objects, so that none is parsed as a list.
        from: { name: "", address: send.from },
        to: send.to.map((address) => ({ name: "", address })),
        subject: send.subject,
        html: send.html,
        text: send.text,
        signal: controller.signal,
      });
      const refused = rejected.length;
      return refused === 0
        ? `relayed to ${place}`
        : `relayed to ${place}, which rejected ${refused} of ${send.to.length} recipients`;
    } catch (error) {
      if (offersUtf8 === false) return `relay failed: ${place} does not support SMTPUTF8`;
      return `relay failed: ${cause(error as NodemailerError, place, limitMs)}`;
    } finally {
      clearTimeout(timer);
      controller.abort();
    }
  };

  return {
    send(sendId) {
      void inLane("", async () => {
        // Waits for a later turn of the event loop. By then, the send has been committed or rolled back.
        await new Promise((resolve) => setImmediate(resolve));
        const send = world.state.sends.get(sendId);
        if (!send || closing.signal.aborted) return;
        const note = await pass(send);
        // The result is not recorded if the send has been removed or replaced meanwhile, for example by a reset.
        if (closing.signal.aborted || world.state.sends.get(sendId) !== send) return;
        send.history.push({ status: send.status, at: world.clock.now(), note });
        world.state.sends.put(send);
        world.state.commitSoon();
      });
    },
    close: () => closing.abort(),
  };
}

/** Whether an address needs SMTPUTF8. A domain never does, because it is sent in Punycode. */
const needsUtf8 = (address: string) => /[^\0-\u007f].*@/su.test(address);

/** Describes why an email was not relayed, without any text from the server. */
function cause(error: NodemailerError, place: string, limitMs: number): string {
  if (error.responseCode !== undefined) return `${place} responded ${error.responseCode}`;
  if (error.name === "AbortError") return `${place} did not finish within ${limitMs / 1_000} s`;
  if (error.code === "EPROTOCOL") return `${place} is not an SMTP server`;
  return /ECONNREFUSED/.test(error.message)
    ? `nothing is listening on ${place}`
    : `${place} closed the connection`;
}
