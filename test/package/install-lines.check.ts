import { publicPackages } from "@svc-webhooks/kit/workspace";
import { expect, test } from "vitest";
import { pagesAndSources, textOf } from "./readme.js";

/** Comments that state that a peer is already installed. Naming it too could install another major version of it. */
const present: Readonly<Record<string, string>> = { next: "in a Next.js project" };

const installLines = pagesAndSources.flatMap((file) =>
  Array.from(
    textOf(file).matchAll(/\b(?:npm|pnpm|yarn|bun) (?:install|i|add) [^`"\n]*/g),
    ([line]) => ({ file, line }),
  ),
);

/**
 * Returns the peers that a line neither names nor states as present. npm and bun install them; pnpm and Yarn do not.
 * A package with a version (`@svc-webhooks/express@0.2`) is an upgrade, whose peers are installed already.
 */
function missingPeers(line: string): readonly string[] {
  const [command = "", comment] = line.split(/ +# /);
  const words = command.split(" ");
  return publicPackages
    .filter(({ name }) => words.includes(name))
    .flatMap(({ manifest: { peerDependencies = {}, peerDependenciesMeta = {} } }) =>
      Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta[peer]?.optional !== true),
    )
    .filter(
      (peer) => !words.includes(peer) && (comment === undefined || present[peer] !== comment),
    );
}

test("pages have install lines for every package with a peer", () => {
  const withPeers = publicPackages.filter(({ manifest }) => missingPeers(manifest.name).length > 0);
  expect(withPeers.length).toBeGreaterThan(0);
  const unnamed = withPeers.filter(
    ({ name }) => !installLines.some(({ line }) => line.split(" ").includes(name)),
  );
  expect(unnamed.map(({ name }) => name)).toEqual([]);
});

test.each(installLines)("$file names the peers in: $line", ({ line }) => {
  expect(missingPeers(line)).toEqual([]);
});
