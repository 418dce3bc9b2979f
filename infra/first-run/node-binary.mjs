import { execFileSync } from 'node:child_process'
import { accessSync, constants, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartError, root, runQuietly } from './command-runner.mjs'

const folder = join(root, 'node_modules/node')
const binary = join(folder, 'bin/node')

/**
 * Returns the path of Node from the npm package `node`. The install script of that package downloads the program. If
 * install scripts did not run (`ignore-scripts`, or an npm that asks for approval first), this function runs the
 * script.
 */
export const findOrInstallNode = async () => {
  if (isExecutable()) return binary
  process.stderr.write('Fetching Node… ')
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const { output } = await runQuietly(process.execPath, ['installArchSpecificPackage.js'], folder)
  process.stderr.write('\n')
  const found = isExecutable() ? readVersion() : 'nothing'
  if (found === `v${version}`) return binary
  throw new StartError(
    `Node ${version} could not be installed for ${process.platform} ${process.arch} (found ${found}). Allow install scripts ` +
      `and run "npm rebuild node", or see below.\n${output.trim().split('\n').slice(-12).join('\n')}`,
  )
}

const isExecutable = () => {
  try {
    accessSync(binary, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const readVersion = () => {
  try {
    return execFileSync(binary, ['--version'], { encoding: 'utf8' }).trim()
  } catch (error) {
    return `a program that does not run (${error.message.split('\n')[0]})`
  }
}
