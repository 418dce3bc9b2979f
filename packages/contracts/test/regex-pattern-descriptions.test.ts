import { expect, it } from '@jest/globals'
import { identityOperations, pipelineOperations, type OperationSignature } from '../src/index.ts'
import { patternDescriptions } from '../src/regex-pattern-descriptions.ts'

const signatures = [identityOperations, pipelineOperations].flatMap((nouns) =>
  Object.values(nouns).flatMap((noun): OperationSignature[] => Object.values(noun)),
)

/** The patterns of a schema and of its subschemas. */
function patternsIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const own = 'pattern' in schema && typeof schema.pattern === 'string' ? [schema.pattern] : []
  return [...own, ...Object.values(schema).flatMap(patternsIn)]
}

it('every pattern in a request contract has a description in words', () => {
  const patterns = signatures.flatMap(({ body, query, form }) => [body, query, form].flatMap(patternsIn))
  expect(patterns.length).toBeGreaterThan(100)
  expect([...new Set(patterns)].filter((pattern) => !Object.hasOwn(patternDescriptions, pattern))).toEqual([])
  for (const words of Object.values(patternDescriptions)) expect(words).toMatch(/^must [^\\^]*$/)
})
