import { npx } from "@svc-webhooks/kit/npx";
import { outputOf, outsideDirectory } from "@svc-webhooks/kit/programs";
import { tarballsOf } from "@svc-webhooks/kit/tarballs";

/** The settings of an installation. */
interface Installation {
  /** The folders of the workspace's packages to install, with the ones that they depend on. Default: none. */
  readonly own?: readonly string[];
  /** The version of Node that installs. Default: 22. */
  readonly node?: string;
}

/** Installs packages in a folder. */
export async function installIn(
  folder: string,
  packages: readonly string[],
  { own = [], node = "22" }: Installation = {},
): Promise<void> {
  const packed = own.length > 0 ? await tarballsOf(own) : [];
  const options = ["--no-audit", "--no-fund", "--no-package-lock", "--prefix", folder];
  const install = ["--yes", "--package", `node@${node}`, "npm", "install", ...options];
  outputOf(await npx([...install, ...packages, ...packed], { cwd: folder }));
}

/** Installs packages outside the workspace, which keeps its own installation small. Resolves to the folder. */
export async function installedWith(
  packages: readonly string[],
  installation: Installation = {},
): Promise<string> {
  const folder = outsideDirectory();
  await installIn(folder, packages, installation);
  return folder;
}
