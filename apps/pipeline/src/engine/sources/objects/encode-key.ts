import { SourceProblem } from '../source.ts'

/** A key as it stands in the path of an address. Throws KEY_NOT_READABLE where no address can say it. */
export function encodeKey(key: string): string {
  const parts = key.split('/')
  if (parts.some((part) => part === '.' || part === '..')) {
    const text = `The key ${key} has a folder called "." or "..", which no address can name. Copy the object to another key.`
    throw new SourceProblem('KEY_NOT_READABLE', text)
  }
  return parts.map(encodePart).join('/')
}

const encodePart = (part: string): string =>
  encodeURIComponent(part.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
