/** For each prefix of the service's ids, the name under which a scenario refers to such an id. */
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

/** Matches the ids in a text, and captures the prefix of each id. */
export const idPattern = new RegExp(
  String.raw`\b(${Object.keys(idNames).join("|")})_[A-Za-z0-9]{20}\b`,
  "g",
);
