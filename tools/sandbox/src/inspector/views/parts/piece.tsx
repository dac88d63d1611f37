import type { Child } from "hono/jsx";
import { revision } from "../../view.js";
import { Assumed } from "./elements.js";

interface PieceProps {
  readonly id: string;
  /**
   * The data that the piece shows, except countdowns. When the data changes, the script replaces the piece, unless the
   * piece is in use.
   */
  readonly data: unknown;
  readonly class?: string;
  /** The id of the piece's heading. */
  readonly labelledby?: string;
  readonly children?: Child;
}

/** A section that the script replaces as a whole. */
export const Piece = ({ id, data, class: style, labelledby, children }: PieceProps) => (
  <section id={id} data-rev={revision(data)} class={style} aria-labelledby={labelledby}>
    {children}
  </section>
);

interface TitledProps extends Omit<PieceProps, "class" | "labelledby"> {
  readonly title: string;
  readonly note?: Child;
}

/** A piece of the selected item, with a heading. */
export const Part = ({
  id,
  data,
  title,
  note,
  assumed,
  children,
}: TitledProps & { readonly assumed?: string }) => (
  <Piece id={id} data={data} labelledby={`h-${id}`}>
    <div class="head">
      <h3 id={`h-${id}`}>{title}</h3>
      {note && <span class="note">{note}</span>}
      {assumed && <Assumed id={assumed} />}
    </div>
    {children}
  </Piece>
);

/** A panel of the set-up. @param keep whether updates must not replace the panel */
export const Panel = ({
  id,
  data,
  title,
  note,
  keep,
  children,
}: TitledProps & { readonly keep?: boolean }) => (
  <section
    class="panel"
    id={id}
    aria-labelledby={`h-${id}`}
    data-rev={revision(data)}
    data-keep={keep ? "true" : undefined}
    tabindex={-1}
  >
    <div class="head">
      <h2 id={`h-${id}`}>{title}</h2>
      <span class="note">{note}</span>
    </div>
    {children}
  </section>
);
