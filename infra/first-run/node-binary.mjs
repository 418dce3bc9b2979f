import { execFileSync } from 'node:child_process'
import { accessSync, constants, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Stop, root, runQuietly } from './command-runner.mjs'

const folder = join(root, 'node_modules/node')
const binary = join(folder, 'bin/node')

/**
 * Returns the path of Node from the npm package `node`. The install script of that package downloads the program. If
 * install scripts did not run (`ignore-scripts`, or an npm that asks for approval first), this function runs the
 * script.
 */
export const nodeBinary = async () => {
  if (isThere()) return binary
  process.stderr.write('Fetching Node… ')
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const { said } = await runQuietly(process.execPath, ['installArchSpecificPackage.js'], folder)
  process.stderr.write('\n')
  const found = isThere() ? versionOf() : 'nothing'
  if (found === `v${version}`) return binary
  throw new Stop(
    `Node ${version} could not be installed for ${process.platform} ${process.arch} (found ${found}): allow install scripts ` +
      `and run "npm rebuild node", or see below.\n${said.trim().split('\n').slice(-12).join('\n')}`,
  )
}

const isThere = () => {
  try {
    accessSync(binary, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const versionOf = () => {
  try {
    return execFileSync(binary, ['--version'], { encoding: 'utf8' }).trim()
  } catch (error) {
    return `a program that does not run (${error.message.split('\n')[0]})`
  }
}
