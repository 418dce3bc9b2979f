import { SourceProblem } from '@sluice/row-stream'

/** Returns the fields of an object response. Throws `SourceProblem` OTHER_PROTOCOL for any other response. */
export function parseObject(answer: unknown, system: string): Readonly<Record<string, unknown>> {
  if (typeof answer === 'object' && answer !== null && !Array.isArray(answer)) return answer as Record<string, unknown>
  throw createResponseProblem(system, 'an object')
}

/** Returns the list under a key of a response, or the response itself without a key. Throws the same problem. */
export function parseList(answer: unknown, system: string, key?: string): readonly unknown[] {
  const list = key === undefined ? answer : parseObject(answer, system)[key]
  if (Array.isArray(list)) return list as unknown[]
  throw createResponseProblem(system, key === undefined ? 'a list' : `a list under "${key}"`)
}

export const createResponseProblem = (system: string, wanted: string): SourceProblem =>
  new SourceProblem(
    'OTHER_PROTOCOL',
    `The answer of ${system} holds no ${wanted.replace(/^an? /, '')} where its API has one: check the address, and that its version is one that is supported.`,
  )

export const toText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined
