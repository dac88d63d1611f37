import { Failure } from "../errors.js";
import { hostAndPort, type Listener } from "./processes.js";

/** Returns the error for an app that does not listen at the URL. It states where the app listens, and the fix. */
export function notListening(
  url: URL,
  port: number,
  waitMs: number,
  all: readonly Listener[],
): Failure {
  const after = `after ${waitMs / 1_000} s`;
  const same = all.find((listener) => listener.port === port);
  if (same) {
    const { address } = same;
    const text = `The app is not accepting connections at ${url.hostname}:${port} ${after}. It listens on ${hostAndPort(same)}.`;
    const host = hostFor(address);
    const change = host === undefined ? "" : `, or pass --to ${urlWith(url, host, port)}`;
    const wanted = url.hostname === "[::1]" ? "::1" : "127.0.0.1";
    return new Failure("app_not_listening", text, `Make it listen on ${wanted}${change}.`);
  }
  const others = Array.from(new Set(all.map((listener) => listener.port))).toSorted(
    (a, b) => a - b,
  );
  const [other] = others;
  const seen =
    other === undefined
      ? ""
      : ` It listens on ${others.length === 1 ? "port" : "ports"} ${others.join(" and ")}.`;
  const text = `The app is not listening on port ${port} ${after}.${seen}`;
  const only = all.filter((listener) => listener.port === other).map(({ address }) => address);
  const host =
    only.length > 0 && only.every((address) => address === "::1") ? "[::1]" : "localhost";
  const change = other === undefined ? "" : `, or pass --to ${urlWith(url, host, other)}`;
  return new Failure("app_not_listening", text, `Make it listen on process.env.PORT${change}.`);
}

/** Returns the loopback host that reaches a listener, or undefined if none does. */
function hostFor(address: string): string | undefined {
  if (address === "::" || address === "::1") return "[::1]";
  if (address === "0.0.0.0") return "127.0.0.1";
  return address.startsWith("127.") ? address : undefined;
}

function urlWith({ protocol, pathname }: URL, host: string, port: number): string {
  return `${protocol}//${host}:${port}${pathname}`;
}
