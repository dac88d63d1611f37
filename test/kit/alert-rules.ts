/** A Prometheus alert rule that compares the increase of counters. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly forMinutes: number;
}

/** Returns the rules in a file whose expressions use `increase`. */
export const increaseRules = (yaml: string): readonly AlertRule[] =>
  yaml
    .split("- alert: ")
    .slice(1)
    .map((text) => ({
      alert: /^\w+/.exec(text)?.[0] ?? "",
      expr: /^ +expr: (.+)$/m.exec(text)?.[1] ?? "",
      forMinutes: Number(/^ +for: (\d+)m$/m.exec(text)?.[1] ?? 0),
    }))
    .filter(({ expr }) => expr.includes("increase("));

const form =
  /^sum by \([^)]+\) \(increase\((?<metric>\w+)\{(?<label>\w+)=~?"(?<values>[^"]+)"\}\[(?<length>\d+)(?<unit>[mh])\]\)\) (?<operator>>|==) (?<limit>\d+)$/;

/** Returns the values that the rule's label may have, and its limit as in `> 0`. */
export function conditionOf({ alert, expr }: AlertRule) {
  const {
    metric = "",
    label = "",
    values,
    length,
    unit,
    operator,
    limit,
  } = form.exec(expr)?.groups ?? {};
  if (values === undefined) throw new Error(`The expression of ${alert} has another form.`);
  return {
    metric,
    label,
    values: values.split("|"),
    minutes: Number(length) * (unit === "h" ? 60 : 1),
    condition: `${operator} ${limit}`,
  };
}

/** Returns the series of a scrape that have this value of the rule's label. */
function seriesIn(scrape: string, rule: AlertRule, value: string): ReadonlyMap<string, number> {
  const { metric, label } = conditionOf(rule);
  const samples = Array.from(
    scrape.matchAll(/^(\w+)\{(.*)\} (\S+)/gm),
    ([, name, labels = "", number]) => ({ name, labels, number: Number(number) }),
  );
  const has = `${label}="${value}"`;
  return new Map(
    samples
      .filter(({ name, labels }) => name === metric && labels.split(",").includes(has))
      .map(({ labels, number }) => [labels, number]),
  );
}

/**
 * Returns whether a rule of the form `> 0` fires for this value of its label, given one scrape a minute. As in
 * Prometheus, a series increases only from its own first sample on, and the condition must hold for the whole `for`.
 */
export function fires(rule: AlertRule, value: string, scrapes: readonly string[]): boolean {
  const { minutes, condition, values } = conditionOf(rule);
  if (condition !== "> 0" || !values.includes(value)) return false;
  const series = scrapes.map((scrape) => seriesIn(scrape, rule, value));
  const holds = series.map((last, now) =>
    Array.from(last).some(([labels, number]) => {
      const first = series
        .slice(Math.max(0, now - minutes + 1), now)
        .find((one) => one.has(labels));
      return first !== undefined && number > (first.get(labels) ?? 0);
    }),
  );
  return holds.some(
    (_, now) =>
      now >= rule.forMinutes && holds.slice(now - rule.forMinutes, now + 1).every((held) => held),
  );
}
