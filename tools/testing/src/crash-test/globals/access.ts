/** Types of asynchronous resources that reach outside of the process, with their names in a report. */
const outside: Readonly<Record<string, string>> = {
  TCPWRAP: "a TCP socket",
  TLSWRAP: "a TLS socket",
  PIPECONNECTWRAP: "a Unix socket",
  UDPWRAP: "a UDP socket",
  GETADDRINFOREQWRAP: "a DNS lookup",
  QUERYWRAP: "a DNS query",
  HTTPCLIENTREQUEST: "a request of node:http",
  FSREQCALLBACK: "a file (node:fs)",
  FSREQPROMISE: "a file (node:fs/promises)",
  PROCESSWRAP: "a child process",
  WORKER: "a worker thread",
  // Virtual timers do not create this resource.
  Timeout: "a real timer, whose function was imported before the test",
};

/** Types of resources that reach another program and may change something there. */
const real: ReadonlySet<string> = new Set([
  "TCPWRAP",
  "TLSWRAP",
  "PIPECONNECTWRAP",
  "UDPWRAP",
  "HTTPCLIENTREQUEST",
  "PROCESSWRAP",
]);

/** Matches types of thread-pool operations, which complete in real time. The types of `crypto` end in `REQUEST`. */
const operation = /^(?:FSREQ|FILEHANDLECLOSEREQ|(?!HTTP)\w+REQUEST$)/;

export const isReal = (type: string): boolean => real.has(type);

export const isUnseen = (type: string): boolean => Object.hasOwn(outside, type);

/** Returns the name of a type of access in a report. */
export const accessName = (type: string): string => outside[type] ?? type;

/** Returns whether a type is that of a compression stream, each of whose writes is an operation of the thread pool. */
export const isCompression = (type: string): boolean => type === "ZLIB";

export const isHeldBack = (type: string): boolean => operation.test(type);
