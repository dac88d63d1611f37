/*
 * A state has a shape, a word and a color. The shapes are those of the sandbox's page. They are 16 units wide and high,
 * with the center at 0,0, so that the timeline can place them on a lane.
 */

const shapes = {
  /** A finding, or an effect that occurs too often. */
  bad: '<rect x="-7" y="-7" width="14" height="14" rx="2.5"/><path class="cut" d="m-3-3 6 6m0-6-6 6"/>',
  ok: '<circle r="7"/><path class="cut" d="m-3.2.2 2.2 2.2 4.2-4.6"/>',
  fault: '<path d="M-5-7h10l-2 3.5L5 0h-8v7h-2z"/>',
  unreached: '<circle class="ring" r="6"/><path class="ring" d="m-4 4 8-8"/>',
  accepted: '<circle class="ring" r="6"/><path d="M0-6a6 6 0 0 1 0 12z"/>',
  none: '<path class="ring" d="M-4 0h8"/>',
  effect: '<circle r="5"/>',
  dot: '<circle r="3"/>',
} as const;

export type Shape = keyof typeof shapes;

/** Returns an icon to put before a word with the same meaning. */
export const iconHtml = (shape: Shape): string =>
  `<svg class="icon ${shape}" viewBox="-8 -8 16 16" aria-hidden="true">${shapes[shape]}</svg>`;

/** Returns a shape at a position in a larger picture. */
export const shapeAt = (shape: Shape, x: string): string =>
  `<svg class="${shape}" x="${x}" y="50%">${shapes[shape]}</svg>`;
