import { describe, expect, it } from '@jest/globals'
import { createAjv } from '../src/ajv.ts'
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
const ajv = createAjv({})

/** Every property that a user fills in, of each pipeline type and of its source object. */
const fields = pipelineVariants.flatMap(({ type, ownFields, body }) =>
  ownFields
    .filter((name) => name !== 'csvOptions')
    .flatMap((name): [string, Schema][] => {
      const schema = propertiesOf(body)[name]!
      const inside = schema.properties && Object.entries(schema.properties).filter(([, { readOnly }]) => !readOnly)
      return inside?.length
        ? inside.map(([inner, innerSchema]) => [`${type} ${name}.${inner}`, innerSchema])
        : [[`${type} ${name}`, schema]]
    }),
)

describe('the variants of a pipeline body', () => {
  it('exist for every pipeline type, in the same order', () => {
    expect(pipelineVariants.map(({ type }) => type)).toEqual(pipelineTypes)
  })

  it.each(fields)('have a title, a description and valid examples for %s', (_name, schema) => {
    const { title, description, examples } = schema
    expect([title, description].every((text) => text && text.trim() === text)).toBe(true)
    const isValid = ajv.compile(schema)
    expect(examples?.filter((example) => !isValid(example))).toEqual([])
    expect(examples).not.toHaveLength(0)
  })

  it.each(pipelineVariants.map((variant) => [variant.type, variant] as const))(
    'of %s have the same properties in the response, with the status of secrets instead of the secrets',
    (_type, { ownFields, body, resource }) => {
      for (const name of ownFields) {
        const [inBody, inResponse] = [propertiesOf(body)[name]!, propertiesOf(resource)[name]!]
        if (!inBody.properties || name === 'csvOptions') expect(inResponse).toEqual(inBody)
        else {
          const given = Object.entries(inBody.properties).filter(([, { readOnly }]) => !readOnly)
          const readable = given.filter(([, { writeOnly }]) => !writeOnly)
          const secrets = given.filter(([, { writeOnly }]) => writeOnly)
          const { secretStatus, ...shown } = inResponse.properties ?? {}
          expect(Object.keys(shown)).toEqual(readable.map(([property]) => property))
          expect(Object.keys(secretStatus?.properties ?? {})).toEqual(secrets.map(([property]) => property))
          expect(readable.filter(([property]) => secretName.test(property))).toEqual([])
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
    'of %s have the required properties and source properties of the interface',
    (type, required, inside: Record<string, readonly string[]>) => {
      const { body } = pipelineVariants.find((variant) => variant.type === type)!
      const { required: requiredByBody = [] } = body as Schema
      expect(requiredByBody).toEqual(expect.arrayContaining([...required]))
      for (const [name, names] of Object.entries(inside))
        expect(Object.keys(propertiesOf(body)[name]!.properties!)).toEqual(['secretStatus', ...names])
    },
  )
})
