import type { Signature } from '../operation.ts'

/** The address of an operation. Throws `TypeError` for a path parameter that is missing or would change the path. */
export function addressOf(
  baseUrl: string,
  { id, path }: Signature,
  params: Record<string, string> = {},
  query: object = {},
): URL {
  const filled = path.replaceAll(/:(\w+)/g, (_all, name: string) => segment(id, name, params[name]))
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}/api/v1${filled}`)
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) url.searchParams.append(name, String(one))
    }
  }
  return url
}

/** Dot segments survive percent-encoding: WHATWG URLs resolve `%2e%2e` too, so they are refused instead. */
function segment(id: string, name: string, value: string | undefined): string {
  if (typeof value !== 'string' || /^$|^\.\.?$/.test(value))
    throw new TypeError(`${id} needs the path parameter "${name}", and ${JSON.stringify(value)} cannot be one.`)
  return encodeURIComponent(value)
}
