/**
 * `node production-manifests.ts <checkout> <target> [dependency of the root]...` writes the manifests that a production
 * install needs: the lock file, and each package.json without scripts and development dependencies. The root
 * package.json keeps only the named dependencies; the others are for development. packages/testing is left out, because
 * npm installs the dependencies of all workspaces in spite of --omit=dev.
 *
 * The install layer of an image depends only on this result, so a changed script or linter does not invalidate it.
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const [checkout, target, ...rootDependencies] = process.argv.slice(2)
if (checkout === undefined || target === undefined)
  throw new Error('Usage: node production-manifests.ts <checkout> <target> [dependency of the root]...')

const write = (path: string, text: string) => {
  mkdirSync(dirname(join(target, path)), { recursive: true })
  writeFileSync(join(target, path), text)
}

write('package-lock.json', readFileSync(join(checkout, 'package-lock.json'), 'utf8'))

for (const path of globSync(['package.json', 'apps/*/package.json', 'packages/*/package.json'], { cwd: checkout })) {
  if (dirname(path) === 'packages/testing') continue
  const manifest = JSON.parse(readFileSync(join(checkout, path), 'utf8'))
  delete manifest.scripts
  delete manifest.devDependencies
  if (path === 'package.json')
    manifest.dependencies = Object.fromEntries(rootDependencies.map((name) => [name, manifest.dependencies[name]]))
  write(path, `${JSON.stringify(manifest, null, 2)}\n`)
}
