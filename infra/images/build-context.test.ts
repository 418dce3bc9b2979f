import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, matchesGlob } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { root } from '../paths.ts'

const readLines = (file: string): string[] => readFileSync(join(root, file), 'utf8').split('\n')

/**
 * Returns whether Docker excludes a path from the build context. The last pattern that matches the path or one of its
 * folders decides.
 */
const isIgnored = (path: string): boolean => {
  const folders = path.split('/').map((_part, index, parts) => parts.slice(0, index + 1).join('/'))
  const matching = readLines('.dockerignore')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .filter((line) => folders.some((folder) => matchesGlob(folder, line.replace(/^!/, ''))))
  return matching.length > 0 && !matching.at(-1)!.startsWith('!')
}

const copied = readLines('infra/images/Dockerfile').flatMap((line) => {
  if (line.startsWith('COPY --from=checkout')) return [/ \/checkout\/(\S+) /.exec(line)?.[1] ?? '']
  // Without --from, the source is the build context itself.
  return line.startsWith('COPY --chmod') ? line.split(' ').slice(2, -1) : []
})

it.each([...new Set(copied)])('the image can copy %s, which is in the build context', (path) => {
  expect([existsSync(join(root, path)), isIgnored(path)]).toEqual([true, false])
})

describe('the build stage, which bundles the programs', () => {
  /** The specifiers of the imports in a file, except those of types in one line. */
  const listImports = (file: string): string[] =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/^(?:import (?!type)|\} ).*from '(.+)'$/gm)].map(
      ([, name]) => name!,
    )

  /** The bundler's program with the files that it imports directly and indirectly. */
  const files = new Set(['infra/bundle/build-image-bundles.ts'])
  // The loop also visits the files that it adds.
  for (const file of files)
    for (const name of listImports(file)) if (name.startsWith('.')) files.add(join(dirname(file), name))

  it('copies all files of the bundler', () => {
    expect([...files]).toContain('infra/bundle/bundle.ts')
    expect([...files].filter((file) => !copied.some((folder) => file.startsWith(`${folder}/`)))).toEqual([])
  })

  it('installs all packages that the bundler imports', () => {
    const packages = [...files].flatMap(listImports).filter((name) => !/^(\.|node:)/.test(name))
    const [, installed = ''] = /\/manifests-to-build (.+)/.exec(readLines('infra/images/Dockerfile').join('\n')) ?? []
    expect(new Set(packages)).toEqual(new Set(installed.split(' ')))
  })
})

it('leaves secrets, tests and other programs of this repository out of the build context', () => {
  expect(copied.length).toBeGreaterThan(7)
  for (const path of [
    '.env',
    'infra/local/start.ts',
    'infra/postgres/cluster.ts',
    'apps/identity/test/database.test.ts',
  ])
    expect([path, isIgnored(path)]).toEqual([path, true])
})
