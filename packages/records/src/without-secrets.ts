const secretName = /password|secret|token|accesskey|privatekey|credential/i

/** A copy of a body or row for the audit, in which no secret's value is left. */
export function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (value === null || typeof value !== 'object' || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      name,
      secretName.test(name) && typeof part === 'string' ? '[redacted]' : withoutSecrets(part),
    ]),
  )
}
