import type { Child } from "hono/jsx";
import { revision } from "../../view.js";

interface PieceProps {
  readonly id: string;
  /** The data that it shows, except countdowns. The script replaces the piece when this data changes. */
  readonly data: unknown;
  readonly class?: string;
  /** The id of its heading. */
  readonly labelledby?: string;
  readonly children?: Child;
}

/** A section that is replaced as a whole. */
export const Piece = ({ id, data, class: style, labelledby, children }: PieceProps) => (
  <section id={id} data-rev={revision(data)} class={style} aria-labelledby={labelledby}>
    {children}
  </section>
);
