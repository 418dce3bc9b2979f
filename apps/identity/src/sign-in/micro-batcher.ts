import pg from 'pg'
import { hashing } from './hashing-queue.ts'

/** Batching starts above this number of queued password checks. */
const maxQueuedWithoutBatching = 3

/**
 * Sends one statement for up to eight sign-ins while password checks are queued, otherwise one statement per sign-in. A password check
 * empties the processor caches, so that the next operation takes three times as long. A batch of eight pays this cost once.
 */
export const batchUnderLoad = <Asked, Answer>(
  parts: Pick<Parameters<typeof microBatcher<Asked, Answer>>[0], 'patience' | 'ask'>,
): ((asked: Asked) => Promise<Answer>) =>
  microBatcher<Asked, Answer>({
    ...parts,
    most: 8,
    hurried: () => hashing.waiting() <= maxQueuedWithoutBatching,
    // A statement error rolls the statement back. After a connection error (57P, or 08 from a pooler) that is unknown.
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
  /** Milliseconds that the first request of a batch waits for others. */
  patience: number
  /** Whether a new request is sent at once, together with those that wait. */
  hurried(): boolean
  /** Returns the results in the order of the requests. */
  ask(all: readonly Asked[]): Promise<readonly Answer[]> | readonly Answer[]
  /** Returns whether the error means that the batch had no effect. */
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
