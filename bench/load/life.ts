/** Whether something that was begun is over, however it ended. */
export function lifeOf(work: Promise<unknown>): { readonly over: boolean } {
  const life = { over: false }
  void work.finally(() => (life.over = true)).catch(() => {})
  return life
}
