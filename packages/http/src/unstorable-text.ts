import type { Violation } from '@sluice/contracts'

/** PostgreSQL keeps neither NUL nor half a surrogate pair, in names of fields as little as in values. Where they are, a hundred at most. */
export function unstorableText(value: unknown, pointer = ''): Violation[] {
  if (typeof value === 'string') {
    if (value.includes('\0')) return [{ pointer: pointer || '/', detail: 'must not contain the NUL character' }]
    return value.isWellFormed() ? [] : [{ pointer: pointer || '/', detail: 'must be well-formed Unicode' }]
  }
  if (value === null || typeof value !== 'object') return []
  const found = Object.entries(value).flatMap(([name, part]) => {
    const at = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`.slice(0, 1000)
    return [...unstorableText(name, pointer), ...unstorableText(part, at)]
  })
  return found.slice(0, 100)
}
