import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { root, state } from '../paths.ts'

/**
 * `npm run build:client [-- folder]` builds packages/client as JavaScript with type declarations. `npm install` and
 * `npm publish` accept the folder.
 */

const source = join(root, 'packages/client')

/** Writes the package into the folder, which is emptied first. Throws with the output of tsc if a type is wrong. */
export async function buildClientPackage(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const emit = [
    '--noEmit',
    'false',
    '--declaration',
    '--rewriteRelativeImportExtensions',
    '--outDir',
    join(folder, 'dist'),
  ]
  await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), [
    '-p',
    source,
    '--rootDir',
    join(source, 'src'),
    ...emit,
  ])
  const manifest = JSON.parse(await readFile(join(source, 'package.json'), 'utf8')) as Record<string, unknown>
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(publishedManifest(manifest), null, 2)}\n`)
  await cp(join(source, 'README.md'), join(folder, 'README.md'))
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'))
}

/** Returns the manifest with the compiled files in place of the sources. */
function publishedManifest(manifest: Record<string, unknown>) {
  const { private: _private, scripts: _scripts, devDependencies: _devDependencies, exports, ...published } = manifest
  const entries = Object.entries(exports as Record<string, string>).map(([name, file]) => {
    const compiled = file.replace('./src/', './dist/').replace(/\.ts$/, '')
    return [name, { types: `${compiled}.d.ts`, default: `${compiled}.js` }]
  })
  return { ...published, engines: { node: '>=20.3' }, files: ['dist'], exports: Object.fromEntries(entries) }
}

if (import.meta.main) {
  const folder = resolve(process.argv[2] ?? join(state, 'client-package'))
  await buildClientPackage(folder)
  console.log(`Written to ${folder}. "npm install ${folder}" adds it to a project.`)
}
