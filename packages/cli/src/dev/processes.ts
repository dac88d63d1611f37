import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/* Processes as Linux shows them in /proc. Other systems show nothing here: no children and no ports. */

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The process has exited, or this system has no `/proc`.
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

/** Returns the ids of a process and of all its descendants. */
export function treeOf(pid: number): readonly number[] {
  const parents = list("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => {
      // The program's name is in parentheses and may contain spaces.
      const [, parent] = read(`/proc/${name}/stat`).split(") ").at(-1)?.split(" ") ?? [];
      return { pid: Number(name), parent: Number(parent) };
    });
  const found = [pid];
  for (const one of found) {
    found.push(...parents.filter(({ parent }) => parent === one).map((child) => child.pid));
  }
  return found;
}

/** Returns the TCP ports on which a process or any of its descendants listens. */
export function portsOf(pid: number): readonly number[] {
  const sockets = new Set(
    treeOf(pid).flatMap((one) =>
      list(`/proc/${one}/fd`).map((fd) => socketOf(`/proc/${one}/fd/${fd}`)),
    ),
  );
  const rows = ["tcp", "tcp6"].flatMap((name) => read(`/proc/net/${name}`).split("\n").slice(1));
  const ports = rows.flatMap((row) => {
    const [, local = "", , state, , , , , , inode] = row.trim().split(/\s+/);
    // 0A is the state of a listening socket.
    return state === "0A" && sockets.has(inode)
      ? [Number.parseInt(local.split(":")[1] ?? "", 16)]
      : [];
  });
  return [...new Set(ports)].toSorted((a, b) => a - b);
}
