/** Does the work `times` times, `count` of them at any time: who has done one takes the next. */
export async function inFlight(
  count: number,
  times: number,
  work: () => Promise<unknown>,
): Promise<void> {
  let left = times;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: count }, worker));
}
