import { address, setAddress } from "./address.js";
import { bring, find, the } from "./dom.js";
import { resultIn } from "./pieces.js";
import { load } from "./requests.js";
import { say } from "./say.js";
import { showPage } from "./show.js";

/** Loads and shows the state of the page that the URL `target` describes. */
export async function go(target: string): Promise<void> {
  const { search, hash } = new URL(target, location.href);
  address.generation += 1;
  const { generation } = address;
  setAddress(search, hash);
  const next = await load(`/?${address.query}`);
  if (!next || generation !== address.generation) return;
  showPage(next);
  bring(hash.slice(1));
}

export async function submit(form: HTMLFormElement, submitter: HTMLElement | null): Promise<void> {
  if (form.ariaBusy) return;
  form.ariaBusy = "true";
  address.generation += 1;
  // No form on the page has file inputs, so all values are strings.
  const data = new FormData(form, submitter) as unknown as Iterable<[string, string]>;
  const body = new URLSearchParams([...data]);
  const next = await load(form.action, { method: "POST", body });
  form.ariaBusy = null;
  find(".refused", form)?.remove();
  if (!next) {
    const text = document.createElement("p");
    text.className = "refused";
    text.textContent = "The sandbox did not respond.";
    return form.append(text);
  }
  const outcome = resultIn(next) ?? the("#notice", next);
  const isRefused = outcome.matches(".refused");
  if (!isRefused) form.reset();
  showPage(next);
  // If the new page does not contain the form, the refusal is in the page's header, outside all pieces, and not shown
  // yet.
  if (isRefused && next.contains(outcome)) form.append(outcome);
  const menu = form.closest<HTMLDetailsElement>(".menu");
  if (!isRefused && menu) menu.open = false;
  say((find("p", outcome) ?? outcome).textContent, 3);
  bring(outcome.id);
}

/** Applies the filter's fields to the timeline. */
export function filter(): void {
  const query = new URLSearchParams(address.query);
  for (const name of ["q", "type", "endpoint_id"]) {
    const { value } = the(`#filter [name=${name}]`) as HTMLInputElement;
    if (value) query.set(name, value);
    else query.delete(name);
  }
  query.delete("before");
  void go(`/?${query}`);
}
