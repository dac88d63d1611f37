import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/* Processes as Linux shows them in /proc. Other systems show nothing here: no children and no ports. */

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The process has ended, or this is another system.
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

function socketOf(link: string): string | undefined {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(link))?.[1];
  } catch {
    return undefined;
  }
}

/** Returns a process and all processes that it has started, directly or not. */
export function treeOf(pid: number): readonly number[] {
  const parents = list("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => {
      // The name of the program is in parentheses and may contain spaces.
      const [, parent] = read(`/proc/${name}/stat`).split(") ").at(-1)?.split(" ") ?? [];
      return { pid: Number(name), parent: Number(parent) };
    });
  const found = [pid];
  for (const one of found) {
    found.push(...parents.filter(({ parent }) => parent === one).map((child) => child.pid));
  }
  return found;
}

/** Returns the TCP ports on which a process, or one that it has started, listens. */
export function portsOf(pid: number): readonly number[] {
  const sockets = new Set(
    treeOf(pid).flatMap((one) =>
      list(`/proc/${one}/fd`).map((fd) => socketOf(`/proc/${one}/fd/${fd}`)),
    ),
  );
  const rows = ["tcp", "tcp6"].flatMap((name) => read(`/proc/net/${name}`).split("\n").slice(1));
  const ports = rows.flatMap((row) => {
    const [, local = "", , state, , , , , , inode] = row.trim().split(/\s+/);
    // 0A is the state of a socket that listens.
    return state === "0A" && sockets.has(inode)
      ? [Number.parseInt(local.split(":")[1] ?? "", 16)]
      : [];
  });
  return [...new Set(ports)].toSorted((a, b) => a - b);
}
