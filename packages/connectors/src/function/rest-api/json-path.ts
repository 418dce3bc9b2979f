import { isExactNumber } from '../../http-connector/exact-json.ts'

/**
 * Returns the value at a path of field names and list positions, such as `data.items.0.id`. A field with the whole
 * rest of the path as its name takes precedence, because names such as `@odata.nextLink` contain dots. Returns
 * undefined if the value does not exist.
 */
export function findAtPath(value: unknown, path: string): unknown {
  let currentValue = value
  let restOfPath = path
  for (;;) {
    if (typeof currentValue !== 'object' || currentValue === null) return undefined
    const fields = currentValue as Record<string, unknown>
    if (Object.hasOwn(fields, restOfPath)) return fields[restOfPath]
    const dot = restOfPath.indexOf('.')
    const name = restOfPath.slice(0, dot)
    if (dot < 0 || !Object.hasOwn(fields, name)) return undefined
    currentValue = fields[name]
    restOfPath = restOfPath.slice(dot + 1)
  }
}

/**
 * Returns a copy of an object with `value` set at a path. Values along the path that are not objects are replaced by
 * objects.
 */
export function setAtPath(target: object, path: string, value: unknown): object {
  const [name = '', ...restOfPath] = path.split('.')
  if (restOfPath.length === 0) return { ...target, [name]: value }
  const child = Object.hasOwn(target, name) ? (target as Record<string, unknown>)[name] : undefined
  return { ...target, [name]: setAtPath(isJsonObject(child) ? child : {}, restOfPath.join('.'), value) }
}

const maxListedPaths = 1_000
const maxListedDepth = 4

/** Lists the paths of the lists in a response, such as `data.items`. Leaves out lists inside lists. */
export function listArrayPaths(value: unknown, prefix = '', depth = 0): string[] {
  if (!isJsonObject(value) || depth > maxListedDepth) return []
  return Object.entries(value)
    .flatMap(([name, item]) =>
      Array.isArray(item) ? [`${prefix}${name}`] : listArrayPaths(item, `${prefix}${name}.`, depth + 1),
    )
    .slice(0, maxListedPaths)
}

/** Lists the paths of all fields of the records. Leaves out fields inside lists. */
export function listFieldPaths(records: readonly unknown[]): string[] {
  const paths = new Set<string>()
  const collect = (value: unknown, prefix: string, depth: number): void => {
    if (!isJsonObject(value) || paths.size >= maxListedPaths) return
    for (const [name, item] of Object.entries(value))
      if (isJsonObject(item) && depth < maxListedDepth) collect(item, `${prefix}${name}.`, depth + 1)
      else paths.add(`${prefix}${name}`)
  }
  for (const record of records) collect(record, '', 0)
  return [...paths].slice(0, maxListedPaths)
}

const isJsonObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)
