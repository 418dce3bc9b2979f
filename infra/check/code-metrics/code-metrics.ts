import { dirname } from 'node:path'
import { folderGraph, importGraph, importsOf, nodesInCycles, type Graph } from './import-graph.ts'

/** A figure about the product's TypeScript; less is better. */
export interface Count {
  name: string
  now: number
  target: number
}

const folderFiles = 15
const shortFile = 25
const smallFile = 60
const longFile = 500
const sharedName = 4
/** Words of an ordinary declared name, in hundredths. */
const nameWords = 230

const declaration =
  /^(?:export )?(?:default )?(?:declare )?(?:abstract )?(?:async )?(function\*?|const|let|class|interface|type|enum) (\w+)/gm
const isType = /interface|type|class|enum/

/** Words that readers had to read twice, and how often they may stand in the product. */
const words: readonly [name: string, pattern: RegExp, target: number][] = [
  ['demand*', /\bdemand[A-Z]\w*/g, 0],
  ['asked, asking', /\b(?:[Aa]sked|[Aa]sking)\b/g, 0],
  ['told, tell', /\b(?:told|tells?)\b/g, 0],
  ['patience', /\b\w*[pP]atien(?:ce|t)\w*\b/g, 0],
  ['whoever, whose', /\b[Ww]ho(?:ever|se)\b/g, 30],
  ['nobody, somebody, anybody …', /\b(?:[Nn]obody|[Ss]omebody|[Ee]verybody|[Aa]nybody|[Aa]nyone)\b/g, 40],
  ['is no, is none …', /\b(?:is|are|was) (?:no|none)\b/g, 20],
  [
    'metaphors',
    /\b(?:door|[rR]oom|house|letter|janitor|dut(?:y|ies)|crowd|company|[lL]ane|[pP]our|[pP]ulse|[wW]orkshop|[rR]ehears\w*|road|station)\b/g,
    0,
  ],
  ['begun, behind, beside, meanwhile …', /\b(?:begun|beginnings?|behind|beside|meanwhile|anew)\b/g, 60],
  ['ours', /\b(?:stillOurs|ours|ourOwn|demandOurs|notOurs)\b/g, 0],
  ['standing', /\b[sS]tanding\w*/g, 0],
  ['settle', /\b[sS]ettl\w+/g, 0],
  ['comments that open with What, Who, Where, How', opening('What|Who|Where|How'), 50],
  ['comments that open with Of, By, With, Behind …', opening('Of|By|With|Without|Behind|Beside'), 0],
  ['neutral tokens in code', /(?:SQL_DATABASE_[A-D]|WAREHOUSE_[A-C]|SOURCE_SYSTEM_[A-I])|sourceSystem[A-I]\b/g, 40],
  [
    'types called Parts, Kind, Found, Place …',
    /\b(?:interface|type) (?:Parts|Kind|Found|Shape|Asking|Asked|Reading|Place|Scene|Limits|Patience|Page|Opened|Report)\b/g,
    20,
  ],
]

function opening(first: string): RegExp {
  return new RegExp(`(?:/\\*\\*?|^[^\\S\\n]*\\*|//)\\s+(?:${first})\\b`, 'gm')
}

/** The figures of these sources, by path. */
export function countsOf(sources: ReadonlyMap<string, string>): Count[] {
  const graph = importGraph(sources)
  return [...sizesOf(sources), ...structureOf(sources, graph), ...namesOf(sources), ...wordsOf(sources)]
}

const linesOf = (text: string): number => text.split('\n').length - 1

function sizesOf(sources: ReadonlyMap<string, string>): Count[] {
  const lines = [...sources].map(([file, text]) => ({ file, lines: linesOf(text) }))
  const total = sum(lines.map((one) => one.lines))
  const imports = sum([...sources.values()].map((text) => importsOf(text).length))
  // The types of the database's tables are generated.
  const long = lines.filter((one) => one.lines > longFile && !one.file.endsWith('/database.ts'))
  const folders = Map.groupBy(sources.keys(), dirname)
  return [
    { name: 'product lines', now: total, target: 70_000 },
    { name: 'product files', now: lines.length, target: 740 },
    { name: `files over ${longFile} lines`, now: long.length, target: 0 },
    {
      name: `files of at most ${shortFile} lines`,
      now: lines.filter((one) => one.lines <= shortFile).length,
      target: 110,
    },
    { name: 'imports per 100 lines', now: rounded((100 * imports) / total), target: 5.5 },
    {
      name: `folders with more than ${folderFiles} files`,
      now: [...folders.values()].filter(({ length }) => length > folderFiles).length,
      target: 6,
    },
  ]
}

function structureOf(sources: ReadonlyMap<string, string>, graph: Graph): Count[] {
  const importers = Map.groupBy(
    [...graph].flatMap(([file, targets]) => [...targets].map((target) => ({ file, target }))),
    ({ target }) => target,
  )
  const alone = [...importers].flatMap(([target, users]) =>
    users.length === 1 ? [{ target, user: users[0]!.file }] : [],
  )
  const steps = alone.filter(
    ({ target, user }) => linesOf(sources.get(target)!) <= smallFile && dirname(target) === dirname(user),
  )
  return [
    { name: '% of files with exactly one importer', now: share(alone.length, sources.size), target: 33 },
    { name: `… of at most ${smallFile} lines, importer in the same folder`, now: steps.length, target: 60 },
    { name: 'files in import cycles, types included', now: nodesInCycles(graph).length, target: 0 },
    { name: 'folders in cycles, parent and child aside', now: nodesInCycles(folderGraph(graph)).length, target: 0 },
  ]
}

function namesOf(sources: ReadonlyMap<string, string>): Count[] {
  const declared = [...sources].flatMap(([file, text]) =>
    [...text.matchAll(declaration)].map(([, kind, name]) => ({ file, kind: kind!, name: name! })),
  )
  const types = declared.filter(({ kind }) => isType.test(kind))
  const files = [...Map.groupBy(declared, ({ name }) => name)].map(([name, uses]) => ({
    name,
    files: new Set(uses.map(({ file }) => file)).size,
  }))
  const average = sum(files.map((one) => one.files * wordsIn(one.name))) / sum(files.map((one) => one.files))
  return [
    {
      name: '% of types with a name of one word',
      now: share(types.filter(({ name }) => wordsIn(name) === 1).length, types.length),
      target: 25,
    },
    {
      name: 'names declared in four or more files',
      now: files.filter((one) => one.files >= sharedName).length,
      target: 45,
    },
    {
      name: `words short of ${nameWords / 100} per declared name (hundredths)`,
      now: Math.max(0, Math.round(nameWords - 100 * average)),
      target: 0,
    },
  ]
}

function wordsOf(sources: ReadonlyMap<string, string>): Count[] {
  const all = [...sources.values()].join('\n')
  return words.map(([name, pattern, target]) => ({ name, now: all.match(pattern)?.length ?? 0, target }))
}

const wordsIn = (name: string): number => name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g)?.length ?? 0
const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)
const rounded = (number: number): number => Math.round(number * 10) / 10
const share = (part: number, whole: number): number => rounded((100 * part) / Math.max(1, whole))
