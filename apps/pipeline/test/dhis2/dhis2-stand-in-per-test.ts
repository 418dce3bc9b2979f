import { afterEach } from '@jest/globals'
import { type Dhis2StandIn, type Instead, startDhis2 } from './dhis2-stand-in.ts'

/** Stand-ins of DHIS2 that end with the test that started them. */
export function standInForEach() {
  let standIn: Dhis2StandIn | undefined
  afterEach(() => standIn?.stop())
  return { start: async (...given: Parameters<typeof startDhis2>) => (standIn = await startDhis2(...given)) }
}

/** Answers the first import with this response, and all other requests as DHIS2 does. */
export const firstAnswer = (answer: Instead) => ({
  instead: ({ path }: { path: string }, count: number) =>
    path === '/dhis/api/dataValueSets' && count === 1 ? answer : undefined,
})
