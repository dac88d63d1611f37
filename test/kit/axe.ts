import axeCore, { type AxeResults, type RunOptions } from "axe-core";
import type { CDPSession, Page } from "playwright-core";

export interface Violation {
  readonly rule: string;
  /** A CSS selector of the element. */
  readonly target: string;
  /** The problem of the element, and its fix. */
  readonly summary: string;
}

const options: RunOptions = {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  resultTypes: ["violations"],
  // A frame shows a mail, which is not ours. Frames run no script, so axe-core would wait for a reply.
  iframes: false,
};

/**
 * Examines a page as it is with axe-core: WCAG 2.2 A and AA, and best practices. axe-core runs in an isolated
 * world, so the page's content security policy neither stops it nor has to be relaxed, even if scripts are off.
 */
export async function axe(page: Page): Promise<readonly Violation[]> {
  const isScriptOff = await page.evaluate(() => matchMedia("(scripting: none)").matches);
  const session = await page.context().newCDPSession(page);
  try {
    if (isScriptOff) await allowScripts(session);
    const { frameTree } = await session.send("Page.getFrameTree");
    const { executionContextId } = await session.send("Page.createIsolatedWorld", {
      frameId: frameTree.frame.id,
      worldName: "axe",
    });
    const { result, exceptionDetails } = await session.send("Runtime.evaluate", {
      contextId: executionContextId,
      expression: `${axeCore.source}; axe.run(document, ${JSON.stringify(options)})`,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description);
    return violationsIn(result.value as AxeResults);
  } finally {
    // Scripts would be on again at the end of the session, which in that case is the end of the page.
    if (isScriptOff) await setScripts(session, true);
    else await session.detach();
  }
}

const setScripts = (session: CDPSession, isOff: boolean) =>
  session.send("Emulation.setScriptExecutionDisabled", { value: isOff });

/**
 * Turns scripts on: axe-core waits on timers, which stand still while scripts are off. This does not load the
 * page's scripts.
 */
async function allowScripts(session: CDPSession): Promise<void> {
  // A session can only end a setting that it has begun.
  await setScripts(session, true);
  await setScripts(session, false);
}

const violationsIn = ({ violations }: AxeResults): readonly Violation[] =>
  violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary = "" }) => ({
      rule: id,
      target: target.flat().join(" "),
      summary: failureSummary.replaceAll(/\s*\n\s*/g, " "),
    })),
  );
