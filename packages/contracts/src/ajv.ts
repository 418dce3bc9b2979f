import { Ajv2020, type ErrorObject, type Options } from 'ajv/dist/2020.js'
import type { DataValidateFunction } from 'ajv/dist/types/index.js'
import addFormats from 'ajv-formats'

/**
 * Creates a strict ajv validator. It ignores inherited properties and checks formats. It adds the keywords `uniqueBy`
 * and `whyRequired`, and has faster versions of `uniqueItems` and `discriminator`.
 */
export function createAjv(options: Options): Ajv2020 {
  const ajv = new Ajv2020({ strict: true, strictRequired: false, ownProperties: true, discriminator: true, ...options })
  addFormats.default(ajv)
  // ajv's `uniqueItems` compares every pair of objects, which takes seconds for 20,000 objects, so it is replaced.
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not contain duplicates' },
    validate: (mustBeUnique: boolean, items: unknown[]) =>
      !mustBeUnique || new Set(items.map((item) => toCanonicalJson(item))).size === items.length,
  })
  ajv.addKeyword({
    keyword: 'uniqueBy',
    type: 'array',
    schemaType: 'array',
    error: {
      message: ({ schema }) => `must not contain two items with the same ${(schema as string[]).join(' and ')}`,
    },
    validate: (names: string[], items: unknown[]) =>
      new Set(items.map((item) => keyOf(item, names))).size === items.length,
  })
  // This keyword contains the reason why a field is required. The violation for a missing field shows it.
  ajv.addKeyword({ keyword: 'whyRequired', schemaType: 'string' })
  const dateTime = addFormats.default.get('date-time') as { validate(text: string): boolean }
  // ajv-formats accepts leap seconds and UTC offsets such as +01, which JavaScript's `Date` cannot parse.
  ajv.addFormat('date-time', (text: string) => dateTime.validate(text) && !Number.isNaN(Date.parse(text)))
  ajv.addFormat('idn-email', isEmail)
  ajv.addFormat(
    'email-list',
    (text: string) => text.trim() === '' || text.split(',').every((address) => isEmail(address.trim())),
  )
  addDiscriminatorKeyword(ajv)
  return ajv
}

/**
 * Returns a key that is equal for items with the same values of these properties. Ignores case, and treats `-` and `_`
 * as equal.
 */
const keyOf = (item: unknown, names: string[]): string =>
  JSON.stringify(
    names.map((name) =>
      String((item as Record<string, unknown> | null)?.[name])
        .toLowerCase()
        .replaceAll('_', '-'),
    ),
  )

/**
 * Returns whether a text is an email address. Accepts international domains. Rejects quoted local parts and address
 * literals.
 */
function isEmail(text: string): boolean {
  const atSign = text.lastIndexOf('@')
  if (atSign < 0) return false
  return isEmailLocalPart(text.slice(0, atSign)) && isEmailDomain(text.slice(atSign + 1))
}

const localPartPattern = /^[^\s@,;:<>"()[\]\\\p{Cc}]{1,64}$/u

function isEmailLocalPart(localPart: string): boolean {
  const hasMisplacedDot = localPart.startsWith('.') || localPart.endsWith('.') || localPart.includes('..')
  return !hasMisplacedDot && localPartPattern.test(localPart)
}

const dnsLabel = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?'
const dnsNamePattern = new RegExp(`^${dnsLabel}(\\.${dnsLabel})*$`)

function isEmailDomain(domain: string): boolean {
  const hasDomainCharacters = /^[\p{L}\p{M}\p{N}.-]+$/u.test(domain)
  if (!hasDomainCharacters || !URL.canParse(`http://${domain}`)) return false
  // `URL` converts an international domain to its ASCII form, which has the length limits.
  const { hostname } = new URL(`http://${domain}`)
  return hostname.length <= 253 && dnsNamePattern.test(hostname)
}

interface UnionVariant {
  properties: Record<string, { const: unknown }>
  required?: string[]
}

interface DiscriminatedUnion {
  oneOf: UnionVariant[]
}

/** Returns the names of the fields that all variants require. */
const listFieldsRequiredByAll = ({ oneOf: [first, ...others] }: DiscriminatedUnion): string[] =>
  (first?.required ?? []).filter((name) => others.every(({ required }) => required?.includes(name)))

/**
 * Replaces ajv's keyword `discriminator`, which compiles all variants at once and takes a second for twenty large ones.
 * This one compiles a variant when a value first uses it.
 */
function addDiscriminatorKeyword(ajv: Ajv2020): void {
  ajv.removeKeyword('discriminator')
  ajv.addKeyword({
    keyword: 'discriminator',
    type: 'object',
    schemaType: 'object',
    errors: 'full',
    compile({ propertyName }: { propertyName: string }, schema) {
      const union = schema as unknown as DiscriminatedUnion
      const variants = new Map(union.oneOf.map((variant) => [variant.properties[propertyName]!.const, variant]))
      const requiredFields = listFieldsRequiredByAll(union)
      const isTagOptional = !requiredFields.includes(propertyName)

      const listErrors = (value: Record<string, unknown>, path: string): Partial<ErrorObject>[] => {
        const tag = Object.hasOwn(value, propertyName) ? value[propertyName] : undefined
        const hasNoTag = tag === undefined || tag === null
        if (hasNoTag && isTagOptional) return listMissingFields(value, requiredFields, path)
        const variant = variants.get(tag)
        if (variant) return listVariantErrors(ajv, variant, value, path)
        const params = { tag: propertyName, tagValue: tag, allowedValues: [...variants.keys()] }
        return [{ keyword: 'discriminator', instancePath: path, params, message: 'is not a known variant' }]
      }
      const validate: DataValidateFunction = (value: Record<string, unknown>, context) => {
        validate.errors = listErrors(value, context?.instancePath ?? '')
        return validate.errors.length === 0
      }
      return validate
    },
  })
}

/** Returns an error for each required field that is absent or null. */
function listMissingFields(
  value: Record<string, unknown>,
  requiredFields: readonly string[],
  path: string,
): Partial<ErrorObject>[] {
  const missingFields = requiredFields.filter((name) => !Object.hasOwn(value, name) || value[name] === null)
  return missingFields.map((missingProperty) => ({
    keyword: 'required',
    instancePath: path,
    params: { missingProperty },
  }))
}

/** Returns the errors of a value at `path` according to a variant. Ajv caches the compiled variant. */
function listVariantErrors(ajv: Ajv2020, variant: UnionVariant, value: unknown, path: string): Partial<ErrorObject>[] {
  const validate = ajv.compile(variant)
  if (validate(value)) return []
  return validate.errors!.map((error) => ({ ...error, instancePath: `${path}${error.instancePath}` }))
}

/** Returns JSON with sorted keys, so that equal values give equal texts. */
function toCanonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    const isObject = part !== null && typeof part === 'object' && !Array.isArray(part)
    return isObject ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1))) : part
  })
}
