import { domains } from "../../../read/lists.js";
import type { View } from "../../view.js";
import { ActionButton } from "../parts/action.js";
import { Icon, Text } from "../parts/elements.js";
import { Panel } from "../parts/piece.js";

const shapes = { verified: "ok", pending: "wait", failed: "bad" } as const;

export const Domains = ({ view }: { view: View }) => {
  const all = domains(view.service);
  return (
    <Panel id="domains" data={all} title="Domains" note={all.length || "none yet"}>
      {all.length === 0 && (
        <p class="sub">
          To add one, call <code>POST /v1/domains</code>. By default, emails are accepted even from
          unverified domains.
        </p>
      )}
      {all.map(({ domain_id: id, domain_name: name, status }) => (
        <div class="item" id={id}>
          <p>
            <Text of={name} />{" "}
            <span class={shapes[status]}>
              <Icon of={shapes[status]} /> {status}
            </span>
          </p>
          <div class="line">
            <ActionButton view={view} name="verify-domain" with={{ id }} text="Verify" />
            {(["verified", "failed"] as const)
              .filter((outcome) => outcome !== status)
              .map((outcome) => (
                <ActionButton
                  view={view}
                  name="force-domain"
                  with={{ id, outcome }}
                  text={`Force ${outcome}`}
                />
              ))}
          </div>
        </div>
      ))}
    </Panel>
  );
};
