import { domainToASCII } from "node:url";
import { invalid } from "../errors.js";
import type { AccountId, DomainRecord } from "../state/records.js";
import { domainFields } from "./resources.js";
import type { Service } from "./service.js";

/**
 * Adds a domain. If the account already has the domain, returns it unchanged.
 *
 * @throws ApiError 400 if `text` is not a domain name
 */
export function addDomain(
  { state, ids, clock }: Service,
  account: AccountId,
  text: string,
): { readonly domain: DomainRecord; readonly isNew: boolean } {
  const name = asciiName(text);
  if (name === "")
    throw invalid("domain_name", "domain_name must be a domain name such as mail.example.test.");
  const existing = domainByName(state, account, name);
  if (existing) return { domain: existing, isNew: false };
  const domain = state.domains.put({
    id: ids.next("dom"),
    account,
    name,
    createdAt: clock.now(),
    status: "pending",
  });
  return { domain, isNew: true };
}

/** Verifies a domain with the outcome that A-05 determines. */
export function verifyDomain(service: Service, domain: DomainRecord, callId: string): DomainRecord {
  const rule = service.ledger.get("domain.states");
  const fails = rule === "by-name" ? /(?:^|\.)fail\.test$/.test(domain.name) : rule === "failed";
  return endVerification(service, domain, fails ? "failed" : "verified", callId);
}

/** Completes a domain's verification with `outcome`, and raises the event for it. */
export function endVerification(
  service: Service,
  domain: DomainRecord,
  outcome: "verified" | "failed",
  callId: string,
): DomainRecord {
  domain.status = outcome;
  if (outcome === "verified") domain.verifiedAt = service.clock.now();
  else delete domain.verifiedAt;
  service.state.domains.put(domain);
  service.raise({
    account: domain.account,
    callId,
    occasion: `domain.${outcome}`,
    data: domainFields(domain),
  });
  return domain;
}

/**
 * Depending on A-06, allows a send from an unverified domain, allows it with a note, or rejects it.
 *
 * @throws ApiError 400 if A-06 is `reject`
 */
export function checkSender(
  { state, ledger, log }: Service,
  account: AccountId,
  from: string,
  call: { id: string; notes?: readonly string[] },
): void {
  const rule = ledger.get("domain.unverifiedFrom");
  const name = asciiName(from.slice(from.lastIndexOf("@") + 1));
  if (rule === "allow" || domainByName(state, account, name)?.status === "verified") return;
  if (rule === "reject") {
    throw invalid(
      "from",
      `The domain ${name} in \`from\` must be added and verified first (A-06).`,
    );
  }
  call.notes = [
    `The domain ${name} in \`from\` is not verified. In production, add and verify it first (A-06).`,
  ];
  if (!isFirstWarning(log, name)) return;
  log(
    `${call.id}: the email was accepted although its domain ${name} is not verified (A-06). This is logged only once for each domain.`,
  );
}

const asciiName = (text: string) => domainToASCII(text.toLowerCase());

const domainByName = ({ domains }: Service["state"], account: AccountId, name: string) =>
  domains.list().find((domain) => domain.account === account && domain.name === name);

/** The unverified domains that were logged, by `log` function, because several sandboxes may share one function. */
const warned = new WeakMap<Service["log"], Set<string>>();

/**
 * The maximum number of names remembered per `log` function, so that they cannot fill the memory. Further names are not
 * logged.
 */
const mostWarned = 1_000;

function isFirstWarning(log: Service["log"], name: string): boolean {
  const names = warned.get(log) ?? new Set();
  warned.set(log, names);
  if (names.has(name) || names.size >= mostWarned) return false;
  names.add(name);
  return true;
}
