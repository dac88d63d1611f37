import { execFileSync, spawnSync } from "node:child_process";
import { testRequiring } from "@svc-webhooks/kit/requiring";
import { describe, expect, test } from "vitest";
import { cli } from "./support.js";

const completed: readonly (readonly [string, string, readonly string[]])[] = [
  ["commands", "l", ["listen"]],
  ["commands with the same start", "co", ["conformance", "completions"]],
  ["groups", "ser", ["service"]],
  ["groups in a group", "service end", ["endpoints"]],
  ["no old names", "end", []],
  ["subcommands", "service events redeliver", ["redeliver", "redeliver-failed"]],
  ["options", "service events list --st", ["--status"]],
  ["options that resemble each other", "reconcile --re", ["--receiver", "--retain", "--redeliver"]],
  ["common options", "sign --js", ["--json"]],
  ["values of an option", "service events list --status s", ["succeeded"]],
  ["schemes", "verify --scheme st", ["standard-webhooks", "standard-webhooks-ed25519", "stripe"]],
  ["options after a value", "service events list --status failed --fo", ["--follow"]],
  ["values of an argument", "service trigger email.", ["email.sent", "email.delivered"]],
  ["nothing for a free value", "listen --save x", []],
  ["nothing for an unknown command", "frobnicate x", []],
];

/** The lines that prepare each shell to run the function of a completion. */
const shells = {
  bash: { flags: ["--norc"], call: "_svc_webhooks" },
  // The functions that zsh calls for bash run in this emulation.
  zsh: { flags: ["-f"], call: "emulate ksh -c _svc_webhooks" },
};

describe.each(Object.entries(shells))("in %s", (shell, { flags, call }) => {
  const isInstalled = spawnSync(shell, ["--version"]).status === 0;

  testRequiring(shell, isInstalled)(`${shell} completes commands, options and values`, async () => {
    const { stdout: script } = await cli(["completions", shell]);
    const results = completed.map(([what, line]) => {
      const words = ["svc-webhooks", ...line.split(" ")];
      const quoted = words.map((word) => `'${word}'`).join(" ");
      const commands = `${script}COMP_WORDS=(${quoted}) COMP_CWORD=${words.length - 1}; ${call}; printf '%s\n' "\${COMPREPLY[@]}"`;
      const output = execFileSync(shell, [...flags, "-c", commands], { encoding: "utf8" });
      // zsh itself leaves out the words that do not match.
      const matching = output.split("\n").filter((word) => word.startsWith(words.at(-1) ?? ""));
      return [what, line, matching.filter(Boolean)];
    });
    expect(results).toEqual(completed);
  });
});

test("another shell is refused", async () => {
  const { code, stderr } = await cli(["completions", "fish"]);
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/cannot be fish\. .*Use bash or zsh\./),
  ]);
});
