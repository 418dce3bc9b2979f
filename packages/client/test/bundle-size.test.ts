import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, it } from '@jest/globals'
import { build } from 'esbuild'

const folder = join(import.meta.dirname, '..')

/** Returns the text that a browser loads for this program. */
async function bundleOf(program: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: folder, loader: 'ts' },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
  })
  return outputFiles[0]!.text
}

/** Kilobytes of 1,000 bytes. */
const zippedSize = (text: string): number => gzipSync(text, { level: 9 }).length / 1000

/** The smallest useful program: it signs in, shows a list and saves an object. */
const smallProgram = `
import { serviceClient, signIn } from '@sluice/client'
import { schemas } from '@sluice/client/pipeline'
export async function main(identityUrl: string, baseUrl: string, username: string, password: string) {
  const { token } = await signIn({ identityUrl, username, password })
  const pipeline = serviceClient({ baseUrl, token })
  const [first] = await pipeline.call(schemas.list, { query: { query: 'demo' } })
  return pipeline.call(schemas.create, { body: { ...first!, name: 'copy' } })
}`

it('needs at most 8 kB for a sign-in, a list and a saved object', async () => {
  const size = zippedSize(await bundleOf(smallProgram))
  expect(size).toBeGreaterThan(1)
  expect(size).toBeLessThanOrEqual(8)
})

it('needs at most 12 kB for everything, of which a program loads only what it imports', async () => {
  const everything = await bundleOf(`
    export * from '@sluice/client'
    export * as identity from '@sluice/client/identity'
    export * as pipeline from '@sluice/client/pipeline'`)
  expect(zippedSize(everything)).toBeLessThanOrEqual(12)
  const small = await bundleOf(smallProgram)
  const unused = ['XMLHttpRequest', 'last-event-id', '/destinations', '/users', 'x-next-cursor']
  expect(unused.filter((text) => everything.includes(text))).toEqual(unused)
  expect(unused.filter((text) => small.includes(text))).toEqual([])
})

it('contains no module of Node.js and creates no code from texts', async () => {
  const everything = await bundleOf(`export * from '@sluice/client'`)
  expect(everything.match(/\bnode:|\brequire\b|\bBuffer\b|\bprocess\b|\beval\b|\bFunction\(/)).toBeNull()
})
