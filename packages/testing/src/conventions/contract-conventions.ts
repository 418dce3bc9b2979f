import { secretName, type OperationSignature } from '@sluice/contracts'

type Json = any

/** Operations with a response that must contain a token or a password. */
const tokenAnswers = new Set([
  'auth.finishSso',
  'ssoProviderConfigs.updateForClient',
  'auth.login',
  'auth.loginWithCode',
  'auth.refresh',
  'account.enrolSecondFactor',
  'account.createApiToken',
  'warehouseReaders.create',
  'warehouseReaders.rotate',
])

/**
 * Returns a sentence for each mistake in the contracts of these operations: strings, arrays and numbers without a
 * bound; open objects; bodies and responses without a title; and responses with a field named like a secret.
 */
export function brokenContractRules(signatures: readonly OperationSignature[]): string[] {
  return signatures.flatMap((signature) => [
    ...walk(signature.query, `${signature.id} query`, { request: true }),
    ...walk(signature.body, `${signature.id} body`, { request: true }),
    ...walk(signature.response, `${signature.id} response`, {
      request: false,
      secrets: tokenAnswers.has(signature.id),
    }),
    ...untitled(signature),
  ])
}

function untitled({ id, body, query, response }: OperationSignature): string[] {
  const named = (contract: Json) => !contract || contract.title || (contract.type === 'array' && contract.items.title)
  return [body, query, response].every(named) ? [] : [`${id}: a contract has no title`]
}

interface Side {
  request: boolean
  secrets?: boolean
}

function walk(schema: Json, at: string, side: Side): string[] {
  if (schema === undefined || schema === null || typeof schema !== 'object') return []
  if (Array.isArray(schema)) return schema.flatMap((part, index) => walk(part, `${at}/${index}`, side))
  const broken: string[] = []
  if (schema.type === 'string' && schema.maxLength === undefined && !schema.enum && schema.const === undefined)
    broken.push(`${at}: a string without maxLength`)
  if (schema.type === 'array' && schema.maxItems === undefined) broken.push(`${at}: an array without maxItems`)
  if (/^(number|integer)$/.test(schema.type) && (schema.maximum === undefined || schema.minimum === undefined))
    broken.push(`${at}: a number without bounds`)
  if (
    schema.type === 'object' &&
    schema.additionalProperties !== false &&
    schema.maxProperties === undefined &&
    !schema.patternProperties
  )
    broken.push(`${at}: an open object`)
  for (const [name, part] of Object.entries<Json>(schema.properties ?? {})) {
    if (name === 'secretStatus' && !part.readOnly) {
      broken.push(...brokenSecretStatus(part, `${at}/${name}`))
      continue
    }
    if (!side.request && !side.secrets && secretName.test(name))
      broken.push(`${at}/${name}: a response with a secret's name`)
    broken.push(...walk(part, `${at}/${name}`, side))
  }
  for (const key of ['items', 'anyOf', 'oneOf', 'allOf']) broken.push(...walk(schema[key], `${at}/${key}`, side))
  return broken
}

/** Checks `secretStatus`. Its fields are named like secrets and must not contain secret values. */
function brokenSecretStatus(schema: Json, at: string): string[] {
  const allowed = (part: Json) => part.title === 'SecretStatus' && part.additionalProperties === false
  const isClosed = schema.additionalProperties === false
  const others = Object.entries<Json>(schema.properties).filter(([, part]) => !allowed(part))
  return isClosed && others.length === 0 ? [] : [`${at}: the status of a secret has other fields`]
}
