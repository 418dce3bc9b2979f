import pg from 'pg'
import { hashing } from './hashing-queue.ts'

/** Batching starts above this number of queued password checks. */
const maxQueuedWithoutBatching = 3

/**
 * One statement for up to eight sign-ins while passwords wait to be checked, and one for each otherwise. Checking a password
 * empties the caches of the processor, so that whatever is done next takes three times as long as usual: eight together pay
 * for that once.
 */
export const batchUnderLoad = <Asked, Answer>(
  parts: Pick<Parameters<typeof microBatcher<Asked, Answer>>[0], 'patience' | 'ask'>,
): ((asked: Asked) => Promise<Answer>) =>
  microBatcher<Asked, Answer>({
    ...parts,
    most: 8,
    hurried: () => hashing.waiting() <= maxQueuedWithoutBatching,
    // An error of the statement: it was undone. What ends a connection (57P; a pooler says 08) or is no answer leaves that open.
    refused: (error) => error instanceof pg.DatabaseError && !/^(57P|08)/.test(error.code ?? ''),
  })

/**
 * Micro-batcher: sends several requests as one query. If a batch fails without effect, its requests are sent one by one, so
 * that one bad request fails no other.
 */
export function microBatcher<Asked, Answer>({
  most,
  patience,
  hurried,
  ask,
  refused,
}: {
  /** The maximum batch size. */
  most: number
  /** Milliseconds that the first of a group waits for the others. */
  patience: number
  /** Whether a new request is sent at once, together with those that wait. */
  hurried(): boolean
  /** Answers in the order of those who ask. */
  ask(all: readonly Asked[]): Promise<readonly Answer[]> | readonly Answer[]
  /** Says an error that nothing of the question happened? */
  refused(error: unknown): boolean
}): (asked: Asked) => Promise<Answer> {
  type Waiting = { asked: Asked } & PromiseWithResolvers<Answer>
  let group: Waiting[] = []
  let timer: NodeJS.Timeout | undefined

  const go = (): void => {
    clearTimeout(timer)
    timer = undefined
    const all = group
    group = []
    void answer(all)
  }
  const answer = async (all: readonly Waiting[]): Promise<void> => {
    try {
      const answers = await ask(all.map(({ asked }) => asked))
      for (const [at, { resolve }] of all.entries()) resolve(answers[at]!)
    } catch (error) {
      if (all.length > 1 && refused(error)) for (const one of all) void answer([one])
      else for (const { reject } of all) reject(error)
    }
  }
  return (asked) => {
    const waiting = { asked, ...Promise.withResolvers<Answer>() }
    group.push(waiting)
    if (group.length >= most || hurried()) go()
    else timer ??= setTimeout(go, patience)
    return waiting.promise
  }
}
