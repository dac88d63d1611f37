import { readFileSync } from "node:fs";
import { outsideDirectory, root, run } from "@svc-webhooks/kit/programs";
import { inboxContract } from "@svc-webhooks/testing/inbox";
import { storeContract } from "@svc-webhooks/testing/store";
import { casesOf } from "./contract-cases.js";

const file = "./test/contracts/runners/sqlite.test.mjs";

/** A driver, and the command of the test runner in which it runs. */
export interface Driver {
  readonly driver: string;
  /** The arguments before the file's name. */
  readonly command: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

const unmade = () => Promise.reject(new Error());

/** Runs the contracts of the store and of the inbox, and the cases of transactions, over a driver. Resolves to the numbers of cases. */
export async function casesOver({ driver, command, env = {} }: Driver) {
  const [program = "", ...args] = command;
  const { exitCode, stdout, stderr } = await run(program, [...args, file], {
    cwd: root,
    env: { ...env, SQLITE_DRIVER: driver, SQLITE_FOLDER: outsideDirectory() },
  });
  const contract = casesOf((runner) => {
    storeContract(runner, "", unmade);
    for (const name of ["with the store", "without"])
      inboxContract(runner, name, unmade, { order: true });
  });
  const own = readFileSync(`${root}/${file}`, "utf8").match(/^ {2}it\(/gm) ?? [];
  const output = stdout + stderr;
  const [, inNode, inBun] = /\bpass (\d+)\n|\b(\d+) pass\n/.exec(output) ?? [];
  const all = contract.length + own.length;
  return { exitCode, passed: Number(inNode ?? inBun), all, output };
}
