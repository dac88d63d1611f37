// Readers type whole questions, and sections with these words in their headings would rank first.
const questionWords =
  /\b(?:a|an|are|can|do|does|for|get|how|i|in|is|mean|my|need|of|should|the|to|what|when|which|why)\b ?/gi;

/** Parts of VitePress's search box that are wrong for screen readers or for questions, and their replacements. */
const corrections = [
  // A button may not contain a form.
  [
    /role="button"\s+:aria-owns="[^"]*"\s+aria-expanded="true"\s+aria-haspopup="listbox"/,
    'role="dialog" aria-modal="true"',
  ],
  // An option may not contain a link, so the results are a list of links.
  [/:aria-activedescendant="[^"]*"\s+aria-autocomplete="both"/, ""],
  [/:role="results\?\.length \? 'listbox' : undefined"/, ""],
  [/:aria-selected="[^"]*"\s+role="option"/, ""],
  // The name of a link would differ from the text that it shows.
  [/:aria-label="\[\.\.\.p\.titles, p\.title\]\.join\(' > '\)"/, ""],
  // An element without a role may not have a name.
  [/<kbd :aria-label/g, '<kbd role="img" :aria-label'],
  // The field already has the focus when the trap starts, so the focus would be lost when the box closes.
  [
    /escapeDeactivates: true/,
    "escapeDeactivates: true, preventScroll: true, setReturnFocus: document.activeElement",
  ],
  // A query of nothing else is searched as it is.
  [
    /\.search\(filterTextValue\)/,
    `.search(filterTextValue.replace(${questionWords}, "") || filterTextValue)`,
  ],
] as const;

/**
 * A plugin for Vite that corrects the search box.
 *
 * @throws Error when the site is built, if a newer VitePress has other markup
 */
export const accessibleSearchBox = {
  name: "accessible-search-box",
  enforce: "pre",
  transform(code: string, id: string): string | undefined {
    if (!id.endsWith("VPLocalSearchBox.vue")) return undefined;
    return corrections.reduce((text, [wrong, right]) => {
      if (text.search(wrong) === -1)
        throw new Error(`VPLocalSearchBox.vue no longer has ${wrong}.`);
      return text.replace(wrong, right);
    }, code);
  },
} as const;
