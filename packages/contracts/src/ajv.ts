import { Ajv2020, type Options } from 'ajv/dist/2020.js'
import type { DataValidateFunction } from 'ajv/dist/types/index.js'
import addFormats from 'ajv-formats'

/** ajv as this project means JSON Schema: strict, own properties only, formats checked, lists compared in linear time. */
export function ajvWith(options: Options): Ajv2020 {
  const ajv = new Ajv2020({ strict: true, strictRequired: false, ownProperties: true, discriminator: true, ...options })
  addFormats.default(ajv)
  // ajv's own uniqueItems compares objects pairwise: 20,000 of them take seconds.
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not contain duplicates' },
    validate: (wanted: boolean, items: unknown[]) =>
      !wanted || new Set(items.map((item) => canonical(item))).size === items.length,
  })
  tellApart(ajv)
  return ajv
}

interface Union {
  oneOf: { properties: Record<string, { const: unknown }> }[]
}

/**
 * ajv's own discriminator compiles all variants as one, which takes a second for twenty large ones. This one compiles the variant
 * that is meant when it first is.
 */
function tellApart(ajv: Ajv2020): void {
  ajv.removeKeyword('discriminator')
  ajv.addKeyword({
    keyword: 'discriminator',
    type: 'object',
    schemaType: 'object',
    errors: 'full',
    compile({ propertyName }: { propertyName: string }, union) {
      const variants = new Map(
        (union as unknown as Union).oneOf.map((variant) => [variant.properties[propertyName]!.const, variant]),
      )
      const validate: DataValidateFunction = (value: Record<string, unknown>, at) => {
        const { instancePath = '' } = at ?? {}
        const tag = Object.hasOwn(value, propertyName) ? value[propertyName] : undefined
        const variant = variants.get(tag)
        if (variant === undefined) {
          const params = { tag: propertyName, tagValue: tag }
          validate.errors = [{ keyword: 'discriminator', instancePath, params, message: 'is none of the variants' }]
          return false
        }
        const check = ajv.compile(variant)
        if (check(value)) return true
        validate.errors = check.errors!.map((error) => ({
          ...error,
          instancePath: `${instancePath}${error.instancePath}`,
        }))
        return false
      }
      return validate
    },
  })
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
