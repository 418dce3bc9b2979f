import { createProtocolProblem } from './rest-problems.ts'

/**
 * Returns a function that receives the link or cursor of each page. It throws `SourceProblem` OTHER_PROTOCOL if they repeat, because the
 * read would never end. It stores one value only (Brent's algorithm), so it notices a loop of n pages within 3n pages.
 */
export function createLoopCheck(field: string): (position: string) => void {
  let stored: string | undefined
  let [steps, limit] = [0, 1]
  return (position) => {
    if (position === stored)
      throw createProtocolProblem(
        `The API returned a page again that was already read, so its pages would repeat forever. Check ${field}, and that the API supports this paging.`,
      )
    steps += 1
    if (steps < limit) return
    stored = position
    steps = 0
    limit *= 2
  }
}
