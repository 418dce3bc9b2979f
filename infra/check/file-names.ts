import { execFileSync } from 'node:child_process'
import { root } from '../paths.ts'

/** Names that say nothing: what would go there has a better one. */
const BAGS = ['utils', 'util', 'helpers', 'helper', 'lib', 'common', 'misc', 'service', 'services', 'manager', 'index']

/** Packages are imported by their name, which needs one index.ts. */
const PACKAGE_ENTRY = /^packages\/[^/]+\/src\/index\.ts$/

/** Folders and source files (committed or about to be) that are named like a bag, or not in kebab-case. */
export const badNames = (files = repositoryFiles()): string[] =>
  files.filter((file) => !PACKAGE_ENTRY.test(file) && isBad(file))

const isBad = (file: string): boolean => {
  const parts = file.split('/')
  const name = parts.pop() ?? ''
  const stem = name.replace(/\.(test\.)?(ts|js|mjs|sql)$/, '')
  const isSource = stem !== name
  return [...parts, ...(isSource ? [stem] : [])].some(
    (part) => BAGS.includes(part) || (isSource && part === stem && !/^[a-z0-9]+([-._][a-z0-9]+)*$/.test(part)),
  )
}

const repositoryFiles = (): string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n')
