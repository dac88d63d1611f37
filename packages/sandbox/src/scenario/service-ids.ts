/** The prefixes of the service's ids, and the names under which a scenario refers to such an id. */
export const idNames: Readonly<Record<string, string>> = {
  call: "call",
  send: "send",
  msg: "message",
  dom: "domain",
  we: "endpoint",
  sub: "subscription",
  src: "source-event",
  evt: "event",
  dlv: "delivery",
  fault: "fault",
};

/** Matches the ids in a text, with the prefix as its group. */
export const idPattern = new RegExp(
  String.raw`\b(${Object.keys(idNames).join("|")})_[A-Za-z0-9]{20}\b`,
  "g",
);
