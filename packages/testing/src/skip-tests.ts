import { describe, it } from '@jest/globals'

type Define = (title: string, body: () => void) => void
type DefineTest = (title: string, body: () => void | Promise<unknown>, timeout?: number) => void

/**
 * Returns `describe`, or `describe.skip` if `reason` is given. `reason` says what this machine lacks and how to get it.
 * It is added to the title in parentheses, where `npm test` finds it for its list of skipped tests.
 */
export const describeUnless = (reason: string | undefined): Define =>
  reason === undefined ? describe : (title, body) => describe.skip(`${title} (${reason})`, body)

/** Returns `it`, or `it.skip` if `reason` is given, as `describeUnless` does. */
export const itUnless = (reason: string | undefined): DefineTest =>
  reason === undefined ? it : (title, body) => it.skip(`${title} (${reason})`, body)
