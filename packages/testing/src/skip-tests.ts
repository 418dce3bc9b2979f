import { describe, it } from '@jest/globals'

type Define = (title: string, body: () => void) => void
type DefineTest = (title: string, body: () => void | Promise<unknown>, timeout?: number) => void

/**
 * Returns `describe`, or `describe.skip` if `reason` is given. `reason` says what is missing on this machine and how to get
 * it; it ends the title in parentheses, where `npm test` finds it for its list of skipped tests.
 */
export const describeUnless = (reason: string | undefined): Define =>
  reason === undefined ? describe : (title, body) => describe.skip(`${title} (${reason})`, body)

/** `it`, or with a reason `it.skip`, as `describeUnless` does. */
export const itUnless = (reason: string | undefined): DefineTest =>
  reason === undefined ? it : (title, body) => it.skip(`${title} (${reason})`, body)
