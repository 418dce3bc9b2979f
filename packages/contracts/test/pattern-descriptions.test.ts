import { expect, it } from '@jest/globals'
import { identityOperations, pipelineOperations, type OperationSignature } from '../src/index.ts'
import { patternWords } from '../src/pattern-descriptions.ts'

const signatures = [identityOperations, pipelineOperations].flatMap((nouns) =>
  Object.values(nouns).flatMap((noun): OperationSignature[] => Object.values(noun)),
)

/** Those of a schema and of all that is in it. */
function patternsIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const own = 'pattern' in schema && typeof schema.pattern === 'string' ? [schema.pattern] : []
  return [...own, ...Object.values(schema).flatMap(patternsIn)]
}

it('every pattern that a request has to keep to is said in words, none of which is a pattern', () => {
  const asked = signatures.flatMap(({ body, query, form }) => [body, query, form].flatMap(patternsIn))
  expect(asked.length).toBeGreaterThan(100)
  expect([...new Set(asked)].filter((pattern) => !Object.hasOwn(patternWords, pattern))).toEqual([])
  for (const words of Object.values(patternWords)) expect(words).toMatch(/^must [^\\^]*$/)
})
