/**
 * `node infra/first-run/run.mjs <file.ts> [arguments]`: runs a file with the Node version of the lock file; every npm
 * script of the root uses it. Installs missing packages first. Works with Node 20 or newer, and imports only Node's own
 * modules before the installation.
 */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { installMissingDependencies } from './install.mjs'
import { findOrInstallNode } from './node-binary.mjs'
import { StartError, root, withoutLocalBin } from './command-runner.mjs'

const start = async () => {
  const [file, ...args] = process.argv.slice(2)
  if (!file) throw new StartError('Usage: node infra/first-run/run.mjs <file.ts> [arguments]')
  if (Number.parseInt(process.versions.node, 10) < 20) {
    throw new StartError(
      `Sluice needs Node 20 or newer to install itself; this is ${process.version}. See https://nodejs.org/download.`,
    )
  }
  await installMissingDependencies()
  const node = await findOrInstallNode()
  const env = {
    ...process.env,
    // The folder of Node comes first: if install scripts did not run, npm has not linked it in .bin.
    PATH: [dirname(node), join(root, 'node_modules/.bin'), withoutLocalBin(process.env.PATH)].join(delimiter),
    NODE_COMPILE_CACHE: join(root, '.sluice/compile-cache'),
  }
  superviseChild(spawn(node, [resolve(root, file), ...args], { stdio: 'inherit', env }))
}

/** Passes signals on to the child process, and ends with its exit code or signal. */
const superviseChild = (child) => {
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) {
    process.on(signal, () => {
      // On Ctrl-C, a terminal signals the whole process group. A second signal would count as a second Ctrl-C.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  }
  if (process.env.npm_lifecycle_event) stopWithParent(child)
  child.on('error', (error) => exitWithError(new StartError(`${child.spawnfile} does not run here: ${error.message}`)))
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}

/**
 * If npm is stopped from outside, it ends with its shell and does not signal the processes that it started. They would
 * keep running, and keep their ports.
 */
const stopWithParent = (child) => {
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    child.kill('SIGTERM')
  }, 500)
  watch.unref()
}

const exitWithError = (error) => {
  console.error(error instanceof StartError ? error.message : error)
  process.exit(error.exitCode ?? 1)
}

start().catch(exitWithError)
