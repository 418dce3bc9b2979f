import { execFileSync } from 'node:child_process'
import { root } from '../paths.ts'

/** Generic names that do not tell what a file or folder contains. */
const GENERIC_NAMES = [
  'utils',
  'util',
  'helpers',
  'helper',
  'lib',
  'common',
  'misc',
  'service',
  'services',
  'manager',
  'index',
]

/** The index.ts of a package is allowed, because packages are imported by their name. */
const PACKAGE_ENTRY = /^packages\/[^/]+\/src\/index\.ts$/

/** Returns the files with a generic name, in a folder with a generic name, or not in kebab-case. */
export const findBadFileNames = (files = listRepositoryFiles()): string[] =>
  files.filter((file) => !PACKAGE_ENTRY.test(file) && isBad(file))

const isBad = (file: string): boolean => {
  const parts = file.split('/')
  const name = parts.pop() ?? ''
  const stem = name.replace(/\.(test\.)?(ts|js|mjs|sql)$/, '')
  const isSource = stem !== name
  return [...parts, ...(isSource ? [stem] : [])].some(
    (part) => GENERIC_NAMES.includes(part) || (isSource && part === stem && !/^[a-z0-9]+([-._][a-z0-9]+)*$/.test(part)),
  )
}

/** Lists committed files and new files that Git does not ignore. */
const listRepositoryFiles = (): string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n')
