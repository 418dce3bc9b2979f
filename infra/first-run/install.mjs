import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { StartError, root, runQuietly } from './command-runner.mjs'

const lockFile = join(root, 'package-lock.json')
const stampFile = join(root, 'node_modules/.sluice-installed')
const installLockFile = join(root, '.sluice/installing')

/**
 * Runs `npm ci` if node_modules is missing, incomplete, damaged, or was installed on another platform or from another
 * package-lock.json. Accepts a node_modules that `npm install` has updated.
 */
export const installMissingDependencies = async () => {
  const lock = readOrUndefined(lockFile)
  if (lock === undefined)
    throw new StartError('package-lock.json is missing. Restore it with "git checkout package-lock.json".')
  const stamp = `${createHash('sha256').update(lock).digest('hex')} ${process.platform}-${process.arch}\n`
  const { packages } = JSON.parse(lock)
  const isUsable = () => isInstalled({ packages }, readOrUndefined(stampFile))
  // The stamp stays when `npm install` is interrupted or a package is removed, so the packages are checked as well.
  const isUpToDate = () => readOrUndefined(stampFile) === stamp && isUsable()
  if (isUpToDate()) return
  await acquireInstallLock()
  try {
    if (isUpToDate()) return
    if (!isUsable()) await install()
    writeFileSync(stampFile, stamp)
  } finally {
    rmSync(installLockFile, { force: true })
  }
}

const readOrUndefined = (file) => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/**
 * Returns whether npm's own record of the installation has every package of the lock file in its version, and every
 * package of the record is on the disk. This includes packages in the folders of workspaces, which are missing if only
 * the node_modules of the root was copied from another checkout.
 */
export const isInstalled = (
  lock,
  stamp,
  folder = root,
  record = readOrUndefined(join(folder, 'node_modules/.package-lock.json')),
) => {
  if (record === undefined) return false
  if (stamp && !stamp.endsWith(` ${process.platform}-${process.arch}\n`)) return false
  const installed = parsePackages(record)
  const hasLockedVersion = ([path, locked]) => {
    if (path === '' || locked.optional || locked.devOptional || locked.peer) return true
    return installed[path] !== undefined && installed[path].version === locked.version
  }
  return (
    Object.entries(lock.packages).every(hasLockedVersion) &&
    Object.keys(installed).every((path) => existsSync(join(folder, path, 'package.json')))
  )
}

/** Parses npm's record of the installation. Returns no packages if the record is truncated. */
const parsePackages = (record) => {
  try {
    return JSON.parse(record).packages ?? {}
  } catch {
    return {}
  }
}

const install = async () => {
  const started = Date.now()
  process.stderr.write('Installing dependencies (once; one to three minutes, 900 MB in node_modules)… ')
  const flags = ['--include=dev', '--include=optional', '--no-audit', '--no-fund', '--no-progress', '--loglevel=error']
  const stopProgress = showProgress(process.stderr)
  const { code, signal, output, interrupted } = await runQuietly('npm', ['ci', ...flags])
  stopProgress()
  if (code === 0 && !interrupted)
    return void process.stderr.write(`done in ${Math.round((Date.now() - started) / 1000)} s.\n`)
  process.stderr.write('\n')
  if (interrupted || signal || code > 128)
    throw new StartError('The installation was interrupted. Start again to finish it.', 130)
  throw new StartError(`${explain(output)}\n${output.trim().split('\n').slice(-12).join('\n')}`)
}

/**
 * Writes the elapsed time: every 10 seconds on a terminal, otherwise a line every minute. Returns the function that
 * stops it.
 */
export const showProgress = (stream) => {
  const seconds = stream.isTTY ? 10 : 60
  let elapsed = 0
  const timer = setInterval(() => {
    elapsed += seconds
    stream.write(stream.isTTY ? `${elapsed} s… ` : `\nStill installing dependencies after ${elapsed / 60} min… `)
  }, seconds * 1000)
  return () => clearInterval(timer)
}

const CAUSES = [
  [/ENOSPC/, 'The disk is full. Free some space (the dependencies need 900 MB) and start again.'],
  [/EACCES|EPERM|EROFS/, 'npm may not write here. Check who owns this folder and ~/.npm, and start again.'],
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH/,
    'npm did not reach its registry. Check the network or proxy ("npm ping") and start again.',
  ],
  [/E401|E403/, 'The npm registry refused access. Check its credentials in ~/.npmrc and start again.'],
  [/EUSAGE/, 'package.json and package-lock.json do not agree. Run "npm install" and start again.'],
  [/npm ENOENT/, 'npm was not found. Install Node with npm (https://nodejs.org/download) and start again.'],
]

const explain = (output) =>
  CAUSES.find(([pattern]) => pattern.test(output))?.[1] ?? 'The dependencies could not be installed. npm output:'

/** Creates the lock file. Waits while another command installs, and takes over a stale lock. */
const acquireInstallLock = async () => {
  mkdirSync(join(root, '.sluice'), { recursive: true })
  for (let isReported = false; ; await delay(200)) {
    try {
      return writeFileSync(installLockFile, String(process.pid), { flag: 'wx' })
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    if (isStaleLock()) rmSync(installLockFile, { force: true })
    else if (!isReported)
      console.error('Another command is installing the dependencies; waiting for it (or delete .sluice/installing).')
    isReported = true
  }
}

/**
 * Returns whether the process of the lock has ended, or the lock is older than any installation takes: process ids are
 * reused after a restart.
 */
const isStaleLock = () => {
  const age = Date.now() - (statSync(installLockFile, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  const pid = Number(readOrUndefined(installLockFile))
  if (age > 1_200_000 || (!pid && age > 5_000)) return true
  try {
    return pid ? !process.kill(pid, 0) : false
  } catch (error) {
    return error.code !== 'EPERM'
  }
}
