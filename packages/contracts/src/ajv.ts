import { Ajv2020, type Options } from 'ajv/dist/2020.js'
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
  return ajv
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
