/** The parameters of the page's URL, and a counter that identifies outdated responses. */
export const address = {
  /** The URL's parameters, except `done`, which applies to one response only. */
  query: new URLSearchParams(),
  /** Increases with each navigation and each submitted form, so that responses to earlier requests are discarded. */
  generation: 0,
};

export function setAddress(query: string, hash = ""): void {
  address.query = new URLSearchParams(query);
  address.query.delete("done");
  history.replaceState(null, "", (address.query.size ? `/?${address.query}` : "/") + hash);
}
