import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Contract } from './contract.ts'
import type { Violation } from './problem.ts'

/** A checked value, or every violation at once. */
export type Checked<T> = { value: T } | { violations: Violation[] }

const options = {
  allErrors: true,
  strict: true,
  strictRequired: false,
  ownProperties: true,
  discriminator: true,
  useDefaults: false,
} as const

const bodies = prepared(new Ajv2020(options))
const queries = prepared(new Ajv2020({ ...options, coerceTypes: 'array' }))

/** Compiles once. Bodies are taken as they are; query strings are coerced to numbers, booleans and arrays. */
export function checker<T>(contract: Contract<T>, kind: 'body' | 'query' = 'body'): (value: unknown) => Checked<T> {
  let validate: ValidateFunction | undefined
  return (value) => {
    validate ??= (kind === 'body' ? bodies : queries).compile(contract)
    return validate(value) ? { value: value as T } : { violations: violationsOf(validate.errors ?? []) }
  }
}

function prepared(ajv: Ajv2020): Ajv2020 {
  addFormats.default(ajv)
  // ajv's own uniqueItems compares objects pairwise: 20,000 of them take seconds. This one is linear.
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

function violationsOf(errors: ErrorObject[]): Violation[] {
  return errors.slice(0, 100).map((error) => {
    const { pointer, detail } = described(error)
    return { pointer: pointer || '/', detail }
  })
}

function described({ instancePath, keyword, params, message }: ErrorObject): Violation {
  const at = (name: string) => `${instancePath}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`.slice(0, 1000)
  switch (keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return {
        pointer: at(String(params.additionalProperty ?? params.unevaluatedProperty)),
        detail: 'is not known here',
      }
    case 'required':
      return { pointer: at(String(params.missingProperty)), detail: 'is required' }
    case 'enum':
      return {
        pointer: instancePath,
        detail: `must be one of: ${(params.allowedValues as unknown[]).join(', ')}`.slice(0, 1000),
      }
    case 'const':
      return { pointer: instancePath, detail: `must be ${String(params.allowedValue)}` }
    case 'discriminator':
      return {
        pointer: at(String(params.tag)),
        detail: `must name a known variant, not ${JSON.stringify(params.tagValue) ?? 'nothing'}`.slice(0, 1000),
      }
    case 'minLength':
      return {
        pointer: instancePath,
        detail: params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} characters`,
      }
    case 'maxLength':
      return { pointer: instancePath, detail: `must have at most ${params.limit} characters` }
    case 'minItems':
      return { pointer: instancePath, detail: `must have at least ${params.limit} items` }
    case 'maxItems':
      return { pointer: instancePath, detail: `must have at most ${params.limit} items` }
    case 'minimum':
      return { pointer: instancePath, detail: `must be ${params.limit} or more` }
    case 'maximum':
      return { pointer: instancePath, detail: `must be ${params.limit} or less` }
    case 'type':
      return { pointer: instancePath, detail: `must be ${withArticle(String(params.type))}` }
    case 'format':
      return { pointer: instancePath, detail: `must be ${withArticle(String(params.format))}` }
    case 'pattern':
      return {
        pointer: instancePath,
        detail: params.pattern === '\\S' ? 'must not be blank' : `must have the form ${params.pattern}`,
      }
    default:
      return { pointer: instancePath, detail: message ?? keyword }
  }
}

const withArticle = (name: string): string => `${/^[aeio]/.test(name) ? 'an' : 'a'} ${name}`
