import { SourceProblem } from '../../source.ts'

/**
 * Asks for so many at once; for a quarter of them where the answer is larger than what is held, and so on. Answers with how many it was at
 * last, so that the next page begins with that.
 */
export async function requestFittingPage<T>(
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

/** Consecutive pages without a new record. Real systems return a few of them; this many mean that paging never ends. */
const maxEmptyPages = 1_000

/**
 * Told of each page of a list whether it brought anything. A system that goes on for ever, always with a link to another page, is asked no
 * more after a thousand in a row that brought nothing: then it throws `SourceProblem` OTHER_PROTOCOL.
 */
export function detectEndlessPaging(system: string): (brought: boolean) => void {
  let empty = 0
  return (brought) => {
    empty = brought ? 0 : empty + 1
    if (empty > maxEmptyPages) throw endlessPagingProblem(system)
  }
}

const endlessPagingProblem = (system: string): SourceProblem =>
  new SourceProblem(
    'OTHER_PROTOCOL',
    `${system[0]!.toUpperCase()}${system.slice(1)} has given more than ${maxEmptyPages} pages in a row that bring nothing new, and always another one to come: its last page has to be the last, so look at how it gives pages, or narrow down what is loaded.`,
  )
