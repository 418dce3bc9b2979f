import { dirname } from 'node:path'
import { folderGraph, importGraph, parseImports, nodesInCycles, type Graph } from './import-graph.ts'

/** A count over the TypeScript of the product. Lower is better. */
export interface Count {
  name: string
  now: number
  target: number
}

const maxFolderFiles = 15
const shortFileLines = 25
const smallFileLines = 60
const longFileLines = 500
const sharedNameFiles = 4
/** The number of words that a declared name should have on average, in hundredths. */
const targetNameWords = 230

const declaration =
  /^(?:export )?(?:default )?(?:declare )?(?:abstract )?(?:async )?(function\*?|const|let|class|interface|type|enum) (\w+)/gm
const isType = /interface|type|class|enum/

/** Words that are hard to understand, with the target for the number of their uses. */
const hardWords: readonly [name: string, pattern: RegExp, target: number][] = [
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
  ['comments that open with What, Who, Where, How', commentStartingWith('What|Who|Where|How'), 50],
  ['comments that open with Of, By, With, Behind …', commentStartingWith('Of|By|With|Without|Behind|Beside'), 0],
  ['neutral tokens in code', /(?:SQL_DATABASE_[A-D]|WAREHOUSE_[A-C]|SOURCE_SYSTEM_[A-I])|sourceSystem[A-I]\b/g, 40],
  [
    'types called Parts, Kind, Found, Place …',
    /\b(?:interface|type) (?:Parts|Kind|Found|Shape|Asking|Asked|Reading|Place|Scene|Limits|Patience|Page|Opened|Report)\b/g,
    20,
  ],
]

/** Matches comments whose first word is one of `first`. */
function commentStartingWith(first: string): RegExp {
  return new RegExp(`(?:/\\*\\*?|^[^\\S\\n]*\\*|//)\\s+(?:${first})\\b`, 'gm')
}

/** Returns all counts of sources, which are keyed by their path. */
export function measureCounts(sources: ReadonlyMap<string, string>): Count[] {
  const graph = importGraph(sources)
  return [
    ...measureSizes(sources),
    ...measureStructure(sources, graph),
    ...measureNames(sources),
    ...measureWords(sources),
  ]
}

const countLines = (text: string): number => text.split('\n').length - 1

function measureSizes(sources: ReadonlyMap<string, string>): Count[] {
  const lines = [...sources].map(([file, text]) => ({ file, lines: countLines(text) }))
  const total = sum(lines.map((one) => one.lines))
  const imports = sum([...sources.values()].map((text) => parseImports(text).length))
  // database.ts is excluded, because it is generated from the tables.
  const long = lines.filter((one) => one.lines > longFileLines && !one.file.endsWith('/database.ts'))
  const folders = Map.groupBy(sources.keys(), dirname)
  return [
    { name: 'product lines', now: total, target: 70_000 },
    { name: 'product files', now: lines.length, target: 740 },
    { name: `files over ${longFileLines} lines`, now: long.length, target: 0 },
    {
      name: `files of at most ${shortFileLines} lines`,
      now: lines.filter((one) => one.lines <= shortFileLines).length,
      target: 110,
    },
    { name: 'imports per 100 lines', now: roundToTenth((100 * imports) / total), target: 5.5 },
    {
      name: `folders with more than ${maxFolderFiles} files`,
      now: [...folders.values()].filter(({ length }) => length > maxFolderFiles).length,
      target: 6,
    },
  ]
}

function measureStructure(sources: ReadonlyMap<string, string>, graph: Graph): Count[] {
  const importers = Map.groupBy(
    [...graph].flatMap(([file, targets]) => [...targets].map((target) => ({ file, target }))),
    ({ target }) => target,
  )
  const singleImporters = [...importers].flatMap(([target, users]) =>
    users.length === 1 ? [{ target, user: users[0]!.file }] : [],
  )
  const smallSingleImports = singleImporters.filter(
    ({ target, user }) => countLines(sources.get(target)!) <= smallFileLines && dirname(target) === dirname(user),
  )
  return [
    { name: '% of files with exactly one importer', now: percentage(singleImporters.length, sources.size), target: 33 },
    {
      name: `… of at most ${smallFileLines} lines, importer in the same folder`,
      now: smallSingleImports.length,
      target: 60,
    },
    { name: 'files in import cycles, types included', now: nodesInCycles(graph).length, target: 0 },
    { name: 'folders in cycles, parent and child aside', now: nodesInCycles(folderGraph(graph)).length, target: 0 },
  ]
}

function measureNames(sources: ReadonlyMap<string, string>): Count[] {
  const declared = [...sources].flatMap(([file, text]) =>
    [...text.matchAll(declaration)].map(([, kind, name]) => ({ file, kind: kind!, name: name! })),
  )
  const types = declared.filter(({ kind }) => isType.test(kind))
  const files = [...Map.groupBy(declared, ({ name }) => name)].map(([name, uses]) => ({
    name,
    files: new Set(uses.map(({ file }) => file)).size,
  }))
  const average = sum(files.map((one) => one.files * countWords(one.name))) / sum(files.map((one) => one.files))
  return [
    {
      name: '% of types with a name of one word',
      now: percentage(types.filter(({ name }) => countWords(name) === 1).length, types.length),
      target: 25,
    },
    {
      name: 'names declared in four or more files',
      now: files.filter((one) => one.files >= sharedNameFiles).length,
      target: 45,
    },
    {
      name: `words short of ${targetNameWords / 100} per declared name (hundredths)`,
      now: Math.max(0, Math.round(targetNameWords - 100 * average)),
      target: 0,
    },
  ]
}

function measureWords(sources: ReadonlyMap<string, string>): Count[] {
  const all = [...sources.values()].join('\n')
  return hardWords.map(([name, pattern, target]) => ({ name, now: all.match(pattern)?.length ?? 0, target }))
}

const countWords = (name: string): number => name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g)?.length ?? 0
const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)
const roundToTenth = (number: number): number => Math.round(number * 10) / 10
const percentage = (part: number, whole: number): number => roundToTenth((100 * part) / Math.max(1, whole))
