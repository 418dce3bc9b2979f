/**
 * `node infra/first-run/run.mjs <file.ts> [arguments]`: what every npm script of the root goes through. Installs what is
 * missing, then runs the file with the Node that the lock file names, whatever Node the machine has (20 or newer).
 * Nothing outside Node's own modules is imported on this side of the installation.
 */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { installWhatIsMissing } from './install.mjs'
import { nodeBinary } from './node-binary.mjs'
import { Stop, root, withoutLocalBin } from './ground.mjs'

const start = async () => {
  const [file, ...args] = process.argv.slice(2)
  if (!file) throw new Stop('Usage: node infra/first-run/run.mjs <file.ts> [arguments]')
  if (Number.parseInt(process.versions.node, 10) < 20) {
    throw new Stop(
      `Sluice needs Node 20 or newer to install itself; this is ${process.version}. See https://nodejs.org/download.`,
    )
  }
  await installWhatIsMissing()
  const node = await nodeBinary()
  const env = {
    ...process.env,
    // Its own folder first: where install scripts did not run, npm has made no link to it in .bin.
    PATH: [dirname(node), join(root, 'node_modules/.bin'), withoutLocalBin(process.env.PATH)].join(delimiter),
    NODE_COMPILE_CACHE: join(root, '.sluice/compile-cache'),
  }
  hand(spawn(node, [resolve(root, file), ...args], { stdio: 'inherit', env }))
}

/** This process stands in for the child: it passes signals on, and ends as the child ends. */
const hand = (child) => {
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) {
    process.on(signal, () => {
      // On Ctrl-C a terminal tells the whole process group; once more would count as a second Ctrl-C.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  }
  if (process.env.npm_lifecycle_event) stopWithParent(child)
  child.on('error', (error) => end(new Stop(`${child.spawnfile} does not run here: ${error.message}`)))
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}

/** npm that is told to stop from outside ends with its shell, and tells nobody: what it started would go on, and keep its ports. */
const stopWithParent = (child) => {
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    child.kill('SIGTERM')
  }, 500)
  watch.unref()
}

const end = (error) => {
  console.error(error instanceof Stop ? error.message : error)
  process.exit(error.exitCode ?? 1)
}

start().catch(end)
