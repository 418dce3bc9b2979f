import { describe, expect, it } from '@jest/globals'
import { shareFields } from './openapi.ts'

const long = (text: string, type: unknown = 'string') => ({ type, description: `${text} ${'x'.repeat(150)}` })
const objects = (count: number, properties: object) =>
  Object.fromEntries(Array.from({ length: count }, (_one, index) => [`Object${index}`, { type: 'object', properties }]))

/** Replaces references by what they refer to. */
function resolve(schema: any, all: Record<string, any>): any {
  if (Array.isArray(schema)) return schema.map((item) => resolve(item, all))
  if (schema === null || typeof schema !== 'object') return schema
  if (schema.$ref) return resolve(all[schema.$ref.split('/').at(-1)], all)
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, resolve(value, all)]))
}

describe('fields that many components repeat', () => {
  it('become components, and the document describes the same values', () => {
    const inner = { type: 'object', properties: { runTrigger: long('When.') } }
    const before = {
      ...objects(12, {
        runTrigger: long('When.'),
        source: { ...inner, description: 'y'.repeat(200) },
        name: { type: 'string' },
      }),
      Other: { oneOf: [{ properties: { runTrigger: long('When.', ['string', 'null']) } }] },
    }
    const after = shareFields(before)
    expect(Object.keys(after).filter((name) => !(name in before))).toEqual(['RunTriggerField', 'SourceField'])
    expect(after['Object0'].properties.runTrigger).toEqual({ $ref: '#/components/schemas/RunTriggerField' })
    expect(JSON.stringify(after).length).toBeLessThan(JSON.stringify(before).length / 2)
    for (const [name, schema] of Object.entries(before)) expect(resolve(after[name], after)).toEqual(schema)
  })

  it('get names that no other component has', () => {
    const before: Record<string, any> = {
      ...objects(10, { tags: long('One.') }),
      ...Object.fromEntries(
        Object.entries(objects(10, { tags: long('Two.') })).map(([name, one]) => [`Second${name}`, one]),
      ),
      ...Object.fromEntries(
        Object.entries(objects(10, { tags: long('Three.', ['string', 'null']) })).map(([name, one]) => [
          `Third${name}`,
          one,
        ]),
      ),
      TagsField: { type: 'object' },
    }
    const added = Object.keys(shareFields(before)).filter((name) => !(name in before))
    expect(added).toEqual(['TagsField2', 'TagsField3', 'TagsFieldOrNull'])
  })

  it('stay where they are if they are rare, short or called otherwise', () => {
    const rare = objects(9, { a: long('A.') })
    const short = objects(20, { a: { type: 'string' } })
    const named = Object.fromEntries(
      Array.from({ length: 20 }, (_one, index) => [`Object${index}`, { properties: { [`f${index}`]: long('A.') } }]),
    )
    for (const schemas of [rare, short, named]) expect(shareFields(schemas)).toEqual(schemas)
  })
})
