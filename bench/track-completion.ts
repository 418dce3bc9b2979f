/** Returns an object whose `done` becomes true when the promise resolves or rejects. */
export function trackCompletion(work: Promise<unknown>): { readonly done: boolean } {
  const completion = { done: false }
  void work.finally(() => (completion.done = true)).catch(() => {})
  return completion
}
