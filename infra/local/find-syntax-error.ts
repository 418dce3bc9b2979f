import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { formatMessages, transform, type TransformFailure } from 'esbuild'

/**
 * Returns the first syntax error of a TypeScript file as text with its position; undefined for a valid, other or
 * deleted file.
 */
export const findSyntaxError = async (root: string, file: string): Promise<string | undefined> => {
  if (!file.endsWith('.ts')) return undefined
  const source = await readFile(join(root, file), 'utf8').catch(() => undefined)
  if (source === undefined) return undefined
  try {
    await transform(source, { loader: 'ts', sourcefile: file, logLevel: 'silent' })
    return undefined
  } catch (error) {
    const first = (error as TransformFailure).errors.slice(0, 1)
    return (await formatMessages(first, { kind: 'error' })).join('').trim()
  }
}
