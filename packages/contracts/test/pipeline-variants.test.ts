import { describe, expect, it } from '@jest/globals'
import { ajvWith } from '../src/ajv.ts'
import { pipelineTypes } from '../src/pipeline/data-pipeline/connector-types.ts'
import { pipelineVariants } from '../src/pipeline/data-pipeline/data-pipeline.ts'
import { secretName } from '../src/field-types.ts'

interface Schema {
  title?: string
  description?: string
  examples?: unknown[]
  type?: string
  writeOnly?: boolean
  readOnly?: boolean
  properties?: Record<string, Schema>
  required?: string[]
}

const propertiesOf = (contract: object) => (contract as Schema).properties!
const ajv = ajvWith({})

/** Every field that is filled in: those of a type itself, and those of the object that says where its source is. */
const fields = pipelineVariants.flatMap(({ type, own, body }) =>
  own
    .filter((name) => name !== 'csvOptions')
    .flatMap((name): [string, Schema][] => {
      const schema = propertiesOf(body)[name]!
      const inside = schema.properties && Object.entries(schema.properties).filter(([, { readOnly }]) => !readOnly)
      return inside?.length
        ? inside.map(([inner, one]) => [`${type} ${name}.${inner}`, one])
        : [[`${type} ${name}`, schema]]
    }),
)

describe('the types of pipelines', () => {
  it('are all there, in the order of their names', () => {
    expect(pipelineVariants.map(({ type }) => type)).toEqual(pipelineTypes)
  })

  it.each(fields)('say what %s is', (_name, schema) => {
    const { title, description, examples } = schema
    expect([title, description].every((text) => text && text.trim() === text)).toBe(true)
    const fits = ajv.compile(schema)
    expect(examples?.filter((example) => !fits(example))).toEqual([])
    expect(examples).not.toHaveLength(0)
  })

  it.each(pipelineVariants.map((variant) => [variant.type, variant] as const))(
    'of %s answer what they take, and the status of secrets instead of the secrets',
    (_type, { own, body, resource }) => {
      for (const name of own) {
        const [given, answered] = [propertiesOf(body)[name]!, propertiesOf(resource)[name]!]
        if (!given.properties || name === 'csvOptions') expect(answered).toEqual(given)
        else {
          const inBody = Object.entries(given.properties).filter(([, { readOnly }]) => !readOnly)
          const open = inBody.filter(([, { writeOnly }]) => !writeOnly)
          const secrets = inBody.filter(([, { writeOnly }]) => writeOnly)
          const { secretStatus, ...shown } = answered.properties ?? {}
          expect(Object.keys(shown)).toEqual(open.map(([field]) => field))
          expect(Object.keys(secretStatus?.properties ?? {})).toEqual(secrets.map(([field]) => field))
          expect(open.filter(([field]) => secretName.test(field))).toEqual([])
        }
      }
    },
  )

  it.each([
    ['SOURCE_SYSTEM_E', ['apiSource', 'survey'], { apiSource: ['url', 'authToken'] }],
    ['SOURCE_SYSTEM_H', ['apiSource', 'facilities', 'startDate', 'endDate'], { apiSource: ['url', 'authToken'] }],
    ['OBJECT_STORAGE_BUCKET', ['objectStoreSource', 'key', 'delimiter'], {}],
    ['WAREHOUSE_A', ['jdbcSource', 'roleIdentifier', 'region'], {}],
  ] as const)(
    'have the variant of %s as the interface does',
    (type, required, inside: Record<string, readonly string[]>) => {
      const { body } = pipelineVariants.find((variant) => variant.type === type)!
      const { required: demanded = [] } = body as Schema
      expect(demanded).toEqual(expect.arrayContaining([...required]))
      for (const [name, names] of Object.entries(inside))
        expect(Object.keys(propertiesOf(body)[name]!.properties!)).toEqual(['secretStatus', ...names])
    },
  )
})
