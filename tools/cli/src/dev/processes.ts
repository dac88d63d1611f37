import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { isIP } from "node:net";
import { endianness } from "node:os";

/* Reads from /proc which processes and ports exist on Linux. On other systems, no processes and ports are found. */

/** A TCP socket that accepts connections. */
export interface Listener {
  readonly address: string;
  readonly port: number;
}

/** Returns a listener's address and port as a URL contains them. */
export const hostAndPort = ({ address, port }: Listener): string =>
  `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Returns an empty text: the process has exited, the file is not readable, or this system has no `/proc`.
    return "";
  }
}

function list(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** Returns the target of a symbolic link, or an empty string if it cannot be read. */
export function linkAt(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

const socketOf = (path: string) => /^socket:\[(\d+)\]$/.exec(linkAt(path))?.[1];

/** Returns the fields of `/proc/<pid>/stat` from the process's state on, or one empty text if there is no such file. */
export const statOf = (pid: number): readonly string[] =>
  // Skips the program's name, which is in parentheses and may contain spaces.
  read(`/proc/${pid}/stat`).split(") ").at(-1)?.split(" ") ?? [];

/** Returns whether a process exists, or a group if the id is negative. */
export function exists(target: number): boolean {
  try {
    return process.kill(target, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

const processIds = () => list("/proc").filter((name) => /^\d+$/.test(name));

/** Returns the ids of the processes whose environment has a variable with this value. */
export const processesWith = (name: string, value: string): readonly number[] =>
  processIds()
    .filter((id) => read(`/proc/${id}/environ`).split("\0").includes(`${name}=${value}`))
    .map(Number);

/**
 * Returns the ids of a session's processes, except zombies. Returns undefined if this system does not list processes in
 * `/proc`.
 */
export function processesOf(session: number): readonly number[] | undefined {
  const ids = processIds();
  if (ids.length === 0) return undefined;
  return ids.map(Number).filter((id) => {
    const values = statOf(id);
    return values[0] !== "Z" && Number(values[3]) === session;
  });
}

/** Parses an address such as `0100007F`, which consists of 32-bit words in the byte order of the machine. */
function addressOf(hex: string): string {
  const words = hex.match(/.{8}/g) ?? [];
  const bytes = words.flatMap((word) => {
    const four = Array.from(Buffer.from(word, "hex"));
    return endianness() === "LE" ? four.toReversed() : four;
  });
  if (bytes.length === 4) return bytes.join(".");
  const groups = Array.from({ length: 8 }, (_, index) =>
    ((bytes[2 * index] ?? 0) * 256 + (bytes[2 * index + 1] ?? 0)).toString(16),
  );
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}

/** Returns the TCP sockets on which one of the processes listens. */
export function listenersOf(pids: readonly number[]): readonly Listener[] {
  const sockets = new Set(
    pids.flatMap((pid) => list(`/proc/${pid}/fd`).map((fd) => socketOf(`/proc/${pid}/fd/${fd}`))),
  );
  const rows = ["tcp", "tcp6"].flatMap((name) => read(`/proc/net/${name}`).split("\n").slice(1));
  return rows.flatMap((row) => {
    const [, local = "", , state, , , , , , inode] = row.trim().split(/\s+/);
    const [address = "", port = ""] = local.split(":");
    // Keeps only the listening sockets of these processes. Their state is 0A.
    if (state !== "0A" || !sockets.has(inode)) return [];
    return [{ address: addressOf(address), port: Number.parseInt(port, 16) }];
  });
}
