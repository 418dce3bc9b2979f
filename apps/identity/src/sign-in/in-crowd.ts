import pg from 'pg'
import { hashing } from './hashing-queue.ts'
import { inCompany } from './in-company.ts'

/** So many passwords that wait to be checked are no crowd yet. */
const calm = 3

/**
 * One statement for up to eight sign-ins while passwords wait to be checked, and one for each otherwise. Checking a password
 * empties the caches of the processor, so that whatever is done next takes three times as long as usual: eight together pay
 * for that once.
 */
export const inCrowd = <Asked, Answer>(
  parts: Pick<Parameters<typeof inCompany<Asked, Answer>>[0], 'patience' | 'ask'>,
): ((asked: Asked) => Promise<Answer>) =>
  inCompany<Asked, Answer>({
    ...parts,
    most: 8,
    hurried: () => hashing.waiting() <= calm,
    // An error of the statement: it was undone. What ends a connection (57P; a pooler says 08) or is no answer leaves that open.
    refused: (error) => error instanceof pg.DatabaseError && !/^(57P|08)/.test(error.code ?? ''),
  })
