import type { Substitutes } from "./substitutes.js";

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/i;

/** Returns a name in example.com for a host, with its port. A loopback host stays. */
export function hostLike(host: string, { bytes }: Pick<Substitutes, "bytes">): string {
  const [, name = host, port = ""] = /^([^]*?)(:\d{1,5})?$/.exec(host) ?? [];
  if (loopback.test(name)) return host;
  return `host-${bytes(`host:${name.toLowerCase()}`, 6).toString("hex")}.example.com${port}`;
}

/** Returns whether a text is a name of the DNS with at least two labels. */
export const isHost = (text: string): boolean =>
  /^(?:[\p{L}\p{N}_-]+\.)+\p{L}{2,}(?::\d{1,5})?$/u.test(text);
