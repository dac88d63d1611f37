import { Agent } from "node:http";
import type { SignedDelivery } from "../delivery.js";
import { HttpSender, type Reply, type Sending } from "../http-sender.js";
import { signedDelivery, type SignedDeliveryOptions } from "../signed-delivery.js";
import { contractSecret, memoryHeader, type ContractMemory } from "./contract-receiver.js";

const patienceMs = 60_000;

/** Sends deliveries to a mounted adapter, and reads the lists that its receiver keeps. */
export class Probe extends HttpSender {
  constructor(url: string) {
    super(url, patienceMs);
  }

  /** Creates a signed delivery. A string or bytes become the body unchanged; any other value is sent as JSON. */
  signed(event: unknown, options: SignedDeliveryOptions = {}): Promise<SignedDelivery> {
    return signedDelivery(event, { secret: contractSecret, ...options });
  }

  /** Creates a signed delivery of an event of the given type. */
  event(type: string, options?: SignedDeliveryOptions): Promise<SignedDelivery> {
    return this.signed({ type }, options);
  }

  /** Reads and clears one of the receiver's lists. */
  async take<List extends keyof ContractMemory>(list: List): Promise<ContractMemory[List]> {
    // Sends JSON, because middleware that parses the body would fail on an empty body.
    const { body } = await this.send({
      headers: { "content-type": "application/json", [memoryHeader]: list },
      body: new TextEncoder().encode("{}"),
    });
    const { status } = JSON.parse(body) as { readonly status: string };
    return JSON.parse(status) as ContractMemory[List];
  }

  /** Sends the body in one-byte chunks. */
  sendBytewise({ headers, body }: SignedDelivery): Promise<Reply> {
    const outgoing = this.open({ headers: { ...headers, "transfer-encoding": "chunked" } });
    outgoing.flushHeaders();
    // Writes all chunks in one call: with a `write` for each, the client would take four times as long as the server.
    const chunks = Array.from(body, (byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join("");
    outgoing.once("socket", (socket) =>
      socket.once("connect", () => {
        socket.write(chunks, "latin1");
        outgoing.end();
      }),
    );
    return this.replyTo(outgoing, { extraMs: 60_000 });
  }

  /**
   * Sends `first`, ignores the response, and sends `second` over the same connection. If the server has closed that
   * connection, sends `second` over a new one, as clients do. Resolves to the response to `second`.
   */
  async sendAfter(first: Sending, second: Sending): Promise<Reply> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      await this.send({ ...first, agent }).catch(unlessReset);
      return (await this.send({ ...second, agent }).catch(unlessReset)) ?? this.send(second);
    } finally {
      agent.destroy();
    }
  }
}

function unlessReset(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ECONNRESET" && error.code !== "EPIPE") throw error;
}
