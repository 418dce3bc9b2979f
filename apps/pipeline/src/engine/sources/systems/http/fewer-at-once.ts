/**
 * Asks for so many at once; for a quarter of them where the answer is larger than what is held, and so on. Answers with how many it was at
 * last, so that the next page begins with that.
 */
export async function fewerAtOnce<T>(
  limit: number,
  ask: (limit: number) => Promise<T>,
): Promise<{ answer: T; limit: number }> {
  for (let some = limit; ; some = Math.ceil(some / 4)) {
    try {
      return { answer: await ask(some), limit: some }
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ANSWER_TOO_LARGE' || some <= 1) throw error
    }
  }
}
