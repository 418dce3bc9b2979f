import type { ErrorObject } from 'ajv/dist/2020.js'
import { patternDescriptions } from './regex-pattern-descriptions.ts'
import type { FieldViolation } from './problem.ts'

/**
 * The maximum characters of a detail text that may be repeated. A longer text, such as the list of all roles, is
 * included only once in a response.
 */
const maxRepeatedLength = 200

/**
 * Converts ajv's errors to at most 100 distinct violations with readable messages. A long message that repeats is
 * shortened to a reference to the first one.
 */
export function toViolationList(errors: ErrorObject[]): FieldViolation[] {
  const violations = selectRelevantErrors(errors).map(toViolation)
  const distinctViolations = new Map(violations.map((one) => [JSON.stringify([one.pointer, one.detail]), one]))
  const listedDetails = new Set<string>()
  return [...distinctViolations.values()].slice(0, 100).map(({ pointer, detail }) => {
    const isLongRepetition = detail.length > maxRepeatedLength && listedDetails.has(detail)
    listedDetails.add(detail)
    return { pointer: pointer || '/', detail: isLongRepetition ? 'must be one of the values listed above' : detail }
  })
}

/** Removes the errors of `null` branches. For a nullable field, only the errors of the other branch help the caller. */
function selectRelevantErrors(errors: ErrorObject[]): ErrorObject[] {
  const unions = new Set(errors.filter(({ keyword }) => keyword === 'anyOf').map(({ instancePath }) => instancePath))
  const isNoise = ({ keyword, instancePath, params }: ErrorObject) =>
    unions.has(instancePath) && (keyword === 'anyOf' || (keyword === 'type' && params.type === 'null'))
  const relevant = errors.filter((error) => !isNoise(error))
  return relevant.length > 0 ? relevant : errors
}

const upperBounds = new Set(['maxLength', 'maxItems', 'maximum'])

/** Returns whether all errors are exceeded maximums. */
export const isOnlyTooLarge = (errors: ErrorObject[]): boolean =>
  selectRelevantErrors(errors).every(({ keyword }) => upperBounds.has(keyword))

function toViolation({ instancePath, keyword, params, message, parentSchema }: ErrorObject): FieldViolation {
  const pointerTo = (name: string) =>
    `${instancePath}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`.slice(0, 1000)
  switch (keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return {
        pointer: pointerTo(String(params.additionalProperty ?? params.unevaluatedProperty)),
        detail: 'is not known here',
      }
    case 'required':
      return {
        pointer: pointerTo(String(params.missingProperty)),
        detail: describeMissingField(parentSchema, params.missingProperty),
      }
    case 'enum':
      return {
        pointer: instancePath,
        detail: oneOf(params.allowedValues),
      }
    case 'const':
      return { pointer: instancePath, detail: `must be ${String(params.allowedValue)}` }
    case 'discriminator':
      return {
        pointer: pointerTo(String(params.tag)),
        detail: params.tagValue === undefined ? 'is required' : oneOf(params.allowedValues),
      }
    case 'minLength':
      return {
        pointer: instancePath,
        detail: params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} characters`,
      }
    case 'maxLength':
      return { pointer: instancePath, detail: `must have at most ${params.limit} characters` }
    case 'minItems':
      return {
        pointer: instancePath,
        detail: `must have at least ${params.limit} ${params.limit === 1 ? 'item' : 'items'}`,
      }
    case 'maxItems':
      return {
        pointer: instancePath,
        detail: `must have at most ${params.limit} ${params.limit === 1 ? 'item' : 'items'}`,
      }
    case 'minimum':
      return { pointer: instancePath, detail: `must be ${params.limit} or more` }
    case 'maximum':
      return { pointer: instancePath, detail: `must be ${params.limit} or less` }
    case 'type':
      return { pointer: instancePath, detail: `must be ${withArticle(String(params.type))}` }
    case 'format':
      if (params.format === 'idn-email') return { pointer: instancePath, detail: 'must be an e-mail address' }
      if (params.format === 'email-list')
        return { pointer: instancePath, detail: 'must be e-mail addresses with commas between them' }
      return { pointer: instancePath, detail: `must be ${withArticle(String(params.format))}` }
    case 'pattern':
      return {
        pointer: instancePath,
        detail: patternDescriptions[String(params.pattern)] ?? 'does not have the required form',
      }
    default:
      return { pointer: instancePath, detail: message ?? keyword }
  }
}

/** Returns the text for a missing field, including the reason from its schema, if there is one. */
function describeMissingField(parent: ErrorObject['parentSchema'], name: string): string {
  const { properties } = (parent ?? {}) as { properties?: Record<string, { whyRequired?: string }> }
  const reason = properties?.[name]?.whyRequired
  return reason ? `is required: ${reason}` : 'is required'
}

const oneOf = (values: unknown[]): string => `must be one of: ${values.join(', ')}`.slice(0, 1000)

const withArticle = (name: string): string => `${/^[aeio]/.test(name) ? 'an' : 'a'} ${name}`
