import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../paths.ts'

/** Returns the TypeScript sources of apps and packages by path, without tests and generated files. */
export function readProductSources(): Map<string, string> {
  const files = execFileSync('git', ['ls-files', 'apps', 'packages'], { cwd: root, encoding: 'utf8' }).split('\n')
  // A deleted file stays in the index until its deletion is staged.
  const present = files.filter((file) => isProduct(file) && existsSync(join(root, file)))
  return new Map(present.map((file) => [file, readFileSync(join(root, file), 'utf8')]))
}

const isProduct = (file: string): boolean =>
  /\.tsx?$/.test(file) &&
  !/\.test\.|\/test\/|\/stand-in|\/generated\//.test(file) &&
  !file.startsWith('packages/testing/')
