import type { DeliveryReport, Handler } from "svc-webhooks";
import { entry } from "./timeline.js";

/** The part of an email's event that the demo reads. */
interface EmailEvent {
  readonly type: string;
  readonly event_id: string;
  readonly data: { readonly subject: string };
}

/** The state of the receiver, and functions to wait for it. */
export interface Stage {
  readonly handler: Handler;
  readonly observe: (report: DeliveryReport) => void;
  /** The subjects of emails whose handlers fail until they are repaired. */
  readonly broken: Set<string>;
  /** The subjects of emails whose handlers fail once. */
  readonly flaky: Set<string>;
  /** The reports since the last call of `newScene`. */
  readonly reports: readonly DeliveryReport[];
  readonly newScene: (options?: { readonly quiet?: boolean }) => void;
  /** Resolves when `isDone` returns true for the reports of the scene. Rejects after ten seconds. */
  readonly until: (isDone: (reports: readonly DeliveryReport[]) => boolean) => Promise<void>;
  /** The number of times that each event was handled to the end, by its id. */
  readonly handled: ReadonlyMap<string, number>;
}

export function createStage(): Stage {
  const broken = new Set<string>();
  const flaky = new Set<string>();
  const handled = new Map<string, number>();
  let reports: DeliveryReport[] = [];
  let isQuiet = false;
  let check: (() => void) | undefined;

  return {
    broken,
    flaky,
    handled,
    get reports() {
      return reports;
    },
    async handler(webhookEvent) {
      const event = webhookEvent as unknown as EmailEvent;
      // The pause lets a concurrent copy arrive in the middle of the run.
      await new Promise((resolve) => setTimeout(resolve, 50));
      const { subject } = event.data;
      if (broken.has(subject) || flaky.delete(subject))
        throw new Error("the database is unavailable");
      handled.set(event.event_id, (handled.get(event.event_id) ?? 0) + 1);
    },
    observe(report) {
      if (report.phase === "settled") return;
      reports.push(report);
      if (!isQuiet) {
        // Nothing is known of a delivery before its signature is verified.
        const what = report.type ? `${report.type}, attempt ${report.attempt}` : "a delivery";
        entry("←", what, report.status, report.code);
      }
      check?.();
    },
    newScene({ quiet = false } = {}) {
      reports = [];
      isQuiet = quiet;
    },
    until: (isDone) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error("nothing arrived for 10 s")), 10_000);
        check = () => {
          if (!isDone(reports)) return;
          clearTimeout(timer);
          check = undefined;
          resolve();
        };
        check();
      }),
  };
}
