import type { ErrorObject } from 'ajv/dist/2020.js'
import type { Violation } from './problem.ts'

/** Characters. A list of names that is longer, such as that of all roles, is given once in an answer. */
const long = 200

/** What ajv found, in words for people, a hundred at most. */
export function violationsOf(errors: ErrorObject[]): Violation[] {
  const said = new Set<string>()
  return errors.slice(0, 100).map((error) => {
    const { pointer, detail } = described(error)
    const again = detail.length > long && said.has(detail)
    said.add(detail)
    return { pointer: pointer || '/', detail: again ? 'must be one of those that are named above' : detail }
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
        detail:
          params.tagValue === undefined ? 'is required' : `is none that this version has: ${shown(params.tagValue)}`,
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

const shown = (value: unknown): string => (JSON.stringify(value) ?? '').slice(0, 100)

const withArticle = (name: string): string => `${/^[aeio]/.test(name) ? 'an' : 'a'} ${name}`

/** Patterns that say less than a sentence does. */
const patterns: Record<string, string> = {
  '^\\P{Cc}*$': 'must be one line, without control characters',
  '\\S': 'must not be blank',
  '^[!-~]*$': 'must have no spaces and no characters besides letters, digits and signs of ASCII',
  '^[ -~]*$': 'must have no characters besides letters, digits, spaces and signs of ASCII',
  '^[^\\p{Cc}]*$': 'must be one line, without control characters',
  '^\\P{Cc}+$': 'must be one line, without control characters, and not empty',
  '^[A-Za-z0-9_-]+$': 'must have no characters besides A-Z, a-z, 0-9, _ and -',
  '^[A-Za-z][A-Za-z0-9_]*$': 'must begin with a letter and go on with A-Z, a-z, 0-9 and _',
  '^($|https?://)': 'must be empty or begin with http:// or https://',
}
