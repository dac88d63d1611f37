import { nextTick, onMounted, onUnmounted, reactive, ref, type Ref } from "vue";
import type { Example } from "./examples.js";
import { loadExplainer, type Explainer } from "./explainer.js";
import { emptyForm, questionOf, type Field, type FieldErrors, type Form } from "./form.js";
import type { Result } from "./result.js";

/** The state of the page. */
type State =
  /** The page needs scripts, and this one has not run. */
  | "waiting"
  /** The browser has no WebCrypto here. */
  | "insecure"
  | "ready"
  | "running"
  | "done"
  | "failed";

/** The values that the page shows, and the functions of its controls. */
interface ExplainPage {
  readonly form: { -readonly [Name in Field]: Form[Name] };
  readonly state: Ref<State>;
  readonly errors: Ref<FieldErrors>;
  readonly result: Ref<Result | undefined>;
  /** Describes why the explanation could not run. */
  readonly failure: Ref<string>;
  readonly submit: () => Promise<void>;
  readonly choose: (example: Example) => Promise<void>;
  /** Removes a result that no longer belongs to the fields. */
  readonly changed: () => void;
}

const notLoaded =
  "A part of this page did not load. Check the connection to this site, and reload the page.";

/** The fields of the page, by the names of the options whose errors belong to them. */
const fieldOf: Readonly<Record<string, Field>> = {
  secret: "secret",
  secrets: "secret",
  "previous secret": "previous",
  scheme: "sender",
};

/**
 * Creates the state of the page. It stays in memory: nothing is stored, sent or written to the address.
 *
 * @param focus moves the focus to a field
 * @param reveal scrolls the result into view
 */
export function useExplain(focus: (field: Field) => void, reveal: () => void): ExplainPage {
  const form = reactive({ ...emptyForm });
  const state = ref<State>("waiting");
  const errors = ref<FieldErrors>({});
  const result = ref<Result>();
  const failure = ref("");
  let explainer: Explainer | undefined;
  let loading: Promise<void> | undefined;
  let runs = 0;

  function changed(): void {
    runs += 1;
    explainer?.stop();
    errors.value = {};
    result.value = undefined;
    if (state.value !== "insecure") state.value = "ready";
  }

  async function refuse(fieldErrors: FieldErrors): Promise<void> {
    errors.value = fieldErrors;
    state.value = "ready";
    const [first] = Object.keys(fieldErrors) as Field[];
    await nextTick();
    if (first) focus(first);
  }

  async function show(ended: "done" | "failed"): Promise<void> {
    state.value = ended;
    await nextTick();
    reveal();
  }

  function fail(text: string): void {
    failure.value = text;
    void show("failed");
  }

  async function submit(): Promise<void> {
    changed();
    const run = runs;
    const read = await questionOf(form);
    if (run !== runs) return;
    if ("errors" in read) return refuse(read.errors);
    state.value = "running";
    await loading;
    if (run !== runs) return;
    if (!explainer) return fail(notLoaded);
    explainer.run(read.question, (answer) => {
      if ("result" in answer) {
        result.value = answer.result;
        void show("done");
        return;
      }
      const field = fieldOf[answer.option ?? ""];
      if (field) void refuse({ [field]: answer.error });
      else fail(answer.error);
    });
  }

  async function choose(example: Example): Promise<void> {
    Object.assign(form, await example.form());
    await submit();
  }

  onMounted(() => {
    // `crypto.subtle` exists only on https and on localhost.
    if (!globalThis.isSecureContext) {
      state.value = "insecure";
      return;
    }
    state.value = "ready";
    loading = loadExplainer().then(
      (loaded) => void (explainer = loaded),
      () => fail(notLoaded),
    );
  });
  onUnmounted(() => explainer?.stop());

  return { form, state, errors, result, failure, submit, choose, changed };
}
