import type { ErrorObject } from 'ajv/dist/2020.js'
import type { Violation } from './problem.ts'

/** What ajv found, in words for people, a hundred at most. */
export function violationsOf(errors: ErrorObject[]): Violation[] {
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
        detail: patterns[String(params.pattern)] ?? `must have the form ${params.pattern}`,
      }
    default:
      return { pointer: instancePath, detail: message ?? keyword }
  }
}

const withArticle = (name: string): string => `${/^[aeio]/.test(name) ? 'an' : 'a'} ${name}`

/** Patterns that say less than a sentence does. */
const patterns: Record<string, string> = {
  '^\\P{Cc}*$': 'must be one line, without control characters',
  '\\S': 'must not be blank',
  '^($|https?://)': 'must be empty or begin with http:// or https://',
}
