import { secretName } from '@sluice/contracts'

/** A copy of a body or row for the audit, in which no secret is left: whatever has a secret's name goes, whole. */
export function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (value === null || typeof value !== 'object' || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, isSecret(name, part) ? '[redacted]' : withoutSecrets(part)]),
  )
}

/** Whether there is one is no secret. */
const isSecret = (name: string, value: unknown): boolean =>
  value !== null && value !== undefined && typeof value !== 'boolean' && secretName.test(name)
