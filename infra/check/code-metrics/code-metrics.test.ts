import { expect, it } from '@jest/globals'
import { measureCounts } from './code-metrics.ts'
import { folderGraph, importGraph, nodesInCycles } from './import-graph.ts'
import { findExceededLimits } from './metric-limits.ts'

/** Returns the value of one count for these source texts. */
const measureCount = (name: string, ...texts: string[]) =>
  measureCounts(new Map(texts.map((text, index) => [`apps/a/src/file-${index}.ts`, text]))).find(
    (one) => one.name === name,
  )!.now

it.each([
  ['demand*', 'demandRole(user)\nundemanding()', 1],
  ['asked, asking', '/** Asked for by users. */\nconst asking = 1\nconst asks = 2', 2],
  [
    'comments that open with What, Who, Where, How',
    '/** What it is. */\n/**\n * How it is.\n */\n// Whatever\n// A What',
    2,
  ],
  ['% of types with a name of one word', 'export interface Load {}\ntype StoredType = string\nconst load = 1', 50],
  ['imports per 100 lines', `import { a } from './a.ts'\nconst b = await import('./b.ts')\n${'\n'.repeat(98)}`, 2],
  ['words short of 2.3 per declared name (hundredths)', 'const one = 1\nconst twoWords = 2', 80],
  ['files over 500 lines', '\n'.repeat(501), 1],
])('counts %s', (name, text, count) => {
  expect(measureCount(name, text)).toBe(count)
})

it('finds import cycles between files and folders, with type imports and dynamic imports', () => {
  const graph = importGraph(
    new Map([
      ['apps/a/one/x.ts', "import type { Y } from '../two/y.ts'"],
      ['apps/a/two/y.ts', "const x = await import('../one/x.ts')"],
      ['apps/a/two/z.ts', "import { y } from './y.ts'\nimport { other } from '@sluice/other/part'"],
      ['packages/other/src/part.ts', ''],
    ]),
    new Map([['@sluice/other/part', 'packages/other/src/part.ts']]),
  )
  expect(nodesInCycles(graph)).toEqual(['apps/a/one/x.ts', 'apps/a/two/y.ts'])
  expect(nodesInCycles(folderGraph(graph))).toEqual(['apps/a/one', 'apps/a/two'])
  expect(graph.get('apps/a/two/z.ts')).toEqual(new Set(['apps/a/two/y.ts', 'packages/other/src/part.ts']))
})

it('reports only the counts that are above their recorded value', () => {
  const counts = [
    { name: 'lines', now: 11, target: 5 },
    { name: 'words', now: 7, target: 5 },
    { name: 'new count', now: 3, target: 0 },
  ]
  expect(findExceededLimits(counts, { lines: 10, words: 8 })).toEqual(['lines: 11; at most 10 are allowed'])
})
