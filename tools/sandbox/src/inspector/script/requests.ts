import { setAddress } from "./address.js";
import { showConnected, showLost } from "./live.js";

interface TrustedTypes {
  /**
   * Creates a policy. Its `createHTML` returns a `TrustedHTML` object, but its return type is `string`, because the
   * types of the DOM accept only strings.
   */
  createPolicy(name: string, rules: { createHTML: (html: string) => string }): typeof rules;
}

const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes };
/** A policy that trusts all HTML. Only responses of this server are passed to it. */
const policy = trustedTypes?.createPolicy("inspector", { createHTML: (html) => html });

/** The value of `performance.now()` when the last response was complete. */
export let loadedAt = 0;

/** Loads the page, or parts of it. Resolves to undefined if the sandbox did not respond. */
export async function load(url: string, init?: RequestInit): Promise<Document | undefined> {
  try {
    const response = await fetch(url, { ...init, headers: { Accept: "text/html" } });
    if (response.redirected) setAddress(new URL(response.url).search);
    const html = await response.text();
    loadedAt = performance.now();
    showConnected();
    return new DOMParser().parseFromString(policy?.createHTML(html) ?? html, "text/html");
  } catch {
    showLost();
    return undefined;
  }
}
