import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isLongRun } from '@sluice/testing/long-run'
import { root, state } from '../paths.ts'
import { Refusal } from '../user-error.ts'
import { bundle } from './bundle.ts'
import { bundledPrograms, programSources } from './bundled-programs.ts'
import { bringUpToDate } from './rebuild-stale-bundles.ts'

let folder: string
beforeAll(() => {
  mkdirSync(state, { recursive: true })
  // Where the node_modules of the checkout are found.
  folder = mkdtempSync(join(state, 'bundle-test-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What a program says and how it ends where nothing is configured. */
function bare(file: string) {
  const { NODE_COMPILE_CACHE } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
    env: NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {},
    encoding: 'utf8',
    maxBuffer: 16_000_000,
    timeout: 60_000,
  })
  return { status, stdout, stderr }
}

describe('the bundled programs of both apps', () => {
  /** `npm test` has made them already. */
  const built = process.env['SLUICE_TEST_BUILT'] ?? join(folder, 'built')
  beforeAll(async () => {
    if (!process.env['SLUICE_TEST_BUILT']) await bundle(root, built)
  })

  const programs = ['identity', 'pipeline'].flatMap((app) =>
    readdirSync(join(root, 'apps', app, 'bin')).map((file) => [app, basename(file, '.ts')] as const),
  )
  it.each(isLongRun ? programs : programs.filter(([, name]) => ['serve', 'run-worker'].includes(name)))(
    '%s: %s prints the same and ends with the same status as its source without configuration',
    (app, name) => {
      const said = bare(bundledPrograms(root, built).file(app, name))
      expect(said.stdout + said.stderr).not.toBe('')
      expect(said).toEqual(bare(programSources(root).file(app, name)))
    },
  )

  it('include each worker thread, which refuses to run as a program', () => {
    const names = readdirSync(join(built, 'pipeline')).filter((name) => name.endsWith('-thread.js'))
    expect(names.toSorted()).toEqual([
      'database-thread.js',
      'encoder-thread.js',
      'http-system-thread.js',
      'reader-thread.js',
    ])
    for (const name of names)
      expect(bare(join(built, 'pipeline', name)).stderr).toContain('is a worker thread, not a program')
  })

  it('do not call getCallSite, which makes Node read whole source maps at each start', () => {
    for (const app of ['identity', 'pipeline'])
      for (const name of readdirSync(join(built, app)).filter((file) => file.endsWith('.js')))
        expect([name, readFileSync(join(built, app, name), 'utf8').includes('getCallSite')]).toEqual([name, false])
  })
})

describe('bringUpToDate, which bundles the programs of a checkout', () => {
  /** A checkout of two apps with a program each. */
  function checkout() {
    const own = mkdtempSync(join(folder, 'checkout-'))
    for (const app of ['identity', 'pipeline']) {
      mkdirSync(join(own, 'apps', app, 'bin'), { recursive: true })
      mkdirSync(join(own, 'apps', app, 'src'))
      writeFileSync(join(own, 'apps', app, 'src/word.ts'), "export const word: string = 'before'\n")
      writeFileSync(
        join(own, 'apps', app, 'bin/say.ts'),
        "import { word } from '../src/word.ts'\nconsole.log(word, import.meta.dirname, import.meta.url)\n",
      )
    }
    return own
  }
  const say = (own: string) => bare(join(own, 'built/pipeline/say.js')).stdout

  it('keeps the bundles while the sources are unchanged and rebuilds them after a source changes', async () => {
    const own = checkout()
    const made = async () => {
      await bringUpToDate(own, join(own, 'built'))
      return statSync(join(own, 'built/pipeline/say.js')).mtimeMs
    }
    const first = await made()
    expect(await made()).toBe(first)
    const word = join(own, 'apps/pipeline/src/word.ts')
    writeFileSync(word, "export const word: string = 'after!'\n")
    utimesSync(word, new Date(), new Date(Date.now() + 5_000))
    expect(await made()).toBeGreaterThan(first)
    expect(say(own)).toContain('after!')
  })

  it('names the module that is missing, and bundles once the package is complete', async () => {
    const own = checkout()
    writeFileSync(join(own, 'apps/pipeline/src/word.ts'), "export { word } from 'lost-package'\n")
    const make = () => bringUpToDate(own, join(own, 'built'))
    await expect(make()).rejects.toEqual(
      new Refusal('node_modules is incomplete: "lost-package" was not found. Run "npm ci" and start again.'),
    )
    const found = join(own, 'node_modules/lost-package')
    mkdirSync(found, { recursive: true })
    writeFileSync(join(found, 'index.js'), "export { word } from './part.js'\n")
    await expect(make()).rejects.toThrow('node_modules is incomplete: "./part.js" was not found.')
    writeFileSync(join(found, 'part.js'), "export const word = 'found'\n")
    await make()
    expect(say(own)).toContain('found')
  })

  it('sets import.meta.dirname and import.meta.url to the folder and file of the source', async () => {
    const own = checkout()
    await bringUpToDate(own, join(own, 'built'))
    const was = join(own, 'apps/pipeline/bin')
    const [, dirname, url] = say(own).trim().split(' ')
    expect([join(dirname!), url]).toEqual([was, new URL(`file://${was}/say.ts`).href])
  })
})
