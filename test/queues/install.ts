import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { npm } from "@svc-webhooks/kit/npm";
import { npx } from "@svc-webhooks/kit/npx";
import { outputOf, outsideDirectory, root } from "@svc-webhooks/kit/programs";

/** The settings of an installation. */
interface Installation {
  /** The folders of the workspace's packages to install. Default: none. */
  readonly own?: readonly string[];
  /** The version of Node that installs. Default: 22. */
  readonly node?: string;
}

/** Installs packages outside the workspace, which keeps its own installation small. Resolves to the folder. */
export async function installedWith(
  packages: readonly string[],
  { own = [], node = "22" }: Installation = {},
): Promise<string> {
  const folder = outsideDirectory();
  const tarballs = join(folder, "tarballs");
  mkdirSync(tarballs);
  if (own.length > 0) {
    const workspaces = own.flatMap((name) => ["--workspace", `packages/${name}`]);
    outputOf(await npm(["pack", "--pack-destination", tarballs, ...workspaces], { cwd: root }));
  }
  const packed = readdirSync(tarballs).map((file) => join(tarballs, file));
  const options = ["--no-audit", "--no-fund", "--no-package-lock", "--prefix", folder];
  const install = ["--yes", "--package", `node@${node}`, "npm", "install", ...options];
  outputOf(await npx([...install, ...packages, ...packed], { cwd: folder }));
  return folder;
}
