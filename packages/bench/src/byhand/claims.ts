const keep = 100_000;

/**
 * Who has which delivery, in this process's memory. Two generations instead of removing one by one:
 * the last 100,000 ids at least are known, and what is older goes as a whole.
 */
export class Claims {
  #young = new Map<string, "running" | "done">();
  #old = new Map<string, "running" | "done">();

  /** `claimed` if the caller is to run it now. */
  claim(id: string): "claimed" | "running" | "done" {
    const known = this.#young.get(id) ?? this.#old.get(id);
    if (known) return known;
    if (this.#young.size >= keep) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(id, "running");
    return "claimed";
  }

  complete(id: string): void {
    this.#young.set(id, "done");
  }

  release(id: string): void {
    this.#young.delete(id);
    this.#old.delete(id);
  }
}
