interface Node<Item> {
  readonly item: Item;
  readonly order: number;
  index: number;
}

/** Creates a binary heap with the first item by `compare` on top. Equal items leave in order of arrival. */
export function createHeap<Item>(compare: (a: Item, b: Item) => number) {
  const nodes: Node<Item>[] = [];
  let pushed = 0;
  const precedes = (a: Node<Item>, b: Node<Item>) =>
    (compare(a.item, b.item) || a.order - b.order) < 0;
  const place = (node: Node<Item>, index: number) => {
    nodes[index] = node;
    node.index = index;
  };

  /** Moves a node up or down to its correct position. */
  const settle = (node: Node<Item>) => {
    for (;;) {
      const { index } = node;
      const parent = nodes[(index - 1) >> 1];
      const [left, right] = [nodes[2 * index + 1], nodes[2 * index + 2]];
      const child = left && right && precedes(right, left) ? right : left;
      const other =
        parent && precedes(node, parent)
          ? parent
          : child && precedes(child, node)
            ? child
            : undefined;
      if (!other) return;
      place(node, other.index);
      place(other, index);
    }
  };

  const remove = (node: Node<Item>) => {
    if (node.index < 0) return;
    const last = nodes.pop();
    if (last && last !== node) {
      place(last, node.index);
      settle(last);
    }
    node.index = -1;
  };

  return {
    peek: () => nodes[0]?.item,
    /** Adds an item. Returns a function that removes it, if it is still there. */
    push: (item: Item): (() => void) => {
      const node = { item, order: pushed, index: nodes.length };
      pushed += 1;
      nodes.push(node);
      settle(node);
      return () => remove(node);
    },
    /** Removes the matching items, and returns them. */
    removeAll: (matching: (item: Item) => boolean): readonly Item[] => {
      const removed = nodes.filter(({ item }) => matching(item));
      for (const node of removed) remove(node);
      return removed.map(({ item }) => item);
    },
    pop(): Item | undefined {
      const [top] = nodes;
      if (top) remove(top);
      return top?.item;
    },
  };
}
