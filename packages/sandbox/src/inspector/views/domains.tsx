import { domainResource } from "../../service/resources.js";
import { revision, type View } from "../view.js";
import { Action } from "./action.js";
import { Icon, Text } from "./elements.js";

const shapes = { verified: "ok", pending: "wait", failed: "bad" } as const;

export const Domains = ({ view }: { view: View }) => {
  const domains = Array.from(view.service.state.domains.all(), domainResource).toReversed();
  return (
    <section
      class="panel"
      id="domains"
      aria-labelledby="h-domains"
      data-rev={revision(domains)}
      tabindex={-1}
    >
      <div class="head">
        <h2 id="h-domains">Domains</h2>
        <span class="note">{domains.length === 0 ? "none yet" : domains.length}</span>
      </div>
      {domains.length === 0 && (
        <p class="sub">
          <code>POST /v1/domains</code> adds one. Emails are accepted without.
        </p>
      )}
      {domains.map(({ domain_id: id, domain_name: name, status }) => (
        <div class="item" id={id}>
          <p>
            <Text of={name} />{" "}
            <span class={shapes[status]}>
              <Icon of={shapes[status]} /> {status}
            </span>
          </p>
          <div class="line">
            <Action view={view} name="verify-domain" with={{ id }}>
              <button>Verify</button>
            </Action>
            {(["verified", "failed"] as const)
              .filter((outcome) => outcome !== status)
              .map((outcome) => (
                <Action view={view} name="force-domain" with={{ id, outcome }}>
                  <button>Force {outcome}</button>
                </Action>
              ))}
          </div>
        </div>
      ))}
    </section>
  );
};
