import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../paths.ts'

/** The TypeScript of apps and packages that users run, by path from the repository's root. Tests and generated files are left out. */
export function productSources(): Map<string, string> {
  const files = execFileSync('git', ['ls-files', 'apps', 'packages'], { cwd: root, encoding: 'utf8' }).split('\n')
  // A deleted file stays in the index until its deletion is staged.
  const present = files.filter((file) => isProduct(file) && existsSync(join(root, file)))
  return new Map(present.map((file) => [file, readFileSync(join(root, file), 'utf8')]))
}

const isProduct = (file: string): boolean =>
  /\.tsx?$/.test(file) &&
  !/\.test\.|\/test\/|\/stand-in|\/generated\//.test(file) &&
  !file.startsWith('packages/testing/')
