import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Stop, root, runQuietly } from './command-runner.mjs'

const lockFile = join(root, 'package-lock.json')
const stampFile = join(root, 'node_modules/.sluice-installed')
const claimFile = join(root, '.sluice/installing')

/**
 * Runs `npm ci` if node_modules is missing, incomplete, damaged, or was installed on another kind of machine or from another
 * package-lock.json. A node_modules that `npm install` brought up to date is accepted as it is.
 */
export const installMissingDependencies = async () => {
  const lock = read(lockFile)
  if (lock === undefined)
    throw new Stop('package-lock.json is missing: restore it with "git checkout package-lock.json".')
  const stamp = `${createHash('sha256').update(lock).digest('hex')} ${process.platform}-${process.arch}\n`
  const { packages } = JSON.parse(lock)
  const isUsable = () => isInstalled({ packages }, read(stampFile))
  // The stamp stays when `npm install` is interrupted or a package is removed, so the packages are checked as well.
  const isDone = () => read(stampFile) === stamp && isUsable()
  if (isDone()) return
  await claim()
  try {
    if (isDone()) return
    if (!isUsable()) await install()
    writeFileSync(stampFile, stamp)
  } finally {
    rmSync(claimFile, { force: true })
  }
}

const read = (file) => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/**
 * Returns whether npm's own record of the installation has every package of the lock file in its version, and every package of
 * the record is on the disk. This includes packages in the folders of workspaces, which are missing if only the node_modules of
 * the root was copied from another checkout.
 */
export const isInstalled = (
  lock,
  stamp,
  folder = root,
  record = read(join(folder, 'node_modules/.package-lock.json')),
) => {
  if (record === undefined) return false
  if (stamp && !stamp.endsWith(` ${process.platform}-${process.arch}\n`)) return false
  const installed = packagesOf(record)
  const isWanted = ([path, wanted]) => {
    if (path === '' || wanted.optional || wanted.devOptional || wanted.peer) return true
    return installed[path] !== undefined && installed[path].version === wanted.version
  }
  return (
    Object.entries(lock.packages).every(isWanted) &&
    Object.keys(installed).every((path) => existsSync(join(folder, path, 'package.json')))
  )
}

/** Returns no packages if npm was interrupted while it wrote the record. */
const packagesOf = (record) => {
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
  const { code, signal, said, interrupted } = await runQuietly('npm', ['ci', ...flags])
  stopProgress()
  if (code === 0 && !interrupted)
    return void process.stderr.write(`done in ${Math.round((Date.now() - started) / 1000)} s.\n`)
  process.stderr.write('\n')
  if (interrupted || signal || code > 128)
    throw new Stop('The installation was interrupted; start again to finish it.', 130)
  throw new Stop(`${explain(said)}\n${said.trim().split('\n').slice(-12).join('\n')}`)
}

/** Writes the elapsed time: every 10 seconds on a terminal, otherwise a line every minute. Returns the function that stops it. */
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
  [/ENOSPC/, 'The disk is full: free some space (the dependencies need 900 MB) and start again.'],
  [/EACCES|EPERM|EROFS/, 'npm may not write here: check who owns this folder and ~/.npm, and start again.'],
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH/,
    'npm did not reach its registry: check the network or proxy ("npm ping") and start again.',
  ],
  [/E401|E403/, 'The npm registry refused access: check its credentials in ~/.npmrc and start again.'],
  [/EUSAGE/, 'package.json and package-lock.json do not agree: run "npm install" and start again.'],
  [/npm ENOENT/, 'npm was not found: install Node with npm (https://nodejs.org/download) and start again.'],
]

const explain = (said) =>
  CAUSES.find(([pattern]) => pattern.test(said))?.[1] ?? 'The dependencies could not be installed. npm said:'

/** Two commands started at once on a fresh clone: the second waits for the first. A claim of a dead process is void. */
const claim = async () => {
  mkdirSync(join(root, '.sluice'), { recursive: true })
  for (let told = false; ; await delay(200)) {
    try {
      return writeFileSync(claimFile, String(process.pid), { flag: 'wx' })
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    if (isVoid()) rmSync(claimFile, { force: true })
    else if (!told)
      console.error('Another command is installing the dependencies; waiting for it (or delete .sluice/installing).')
    told = true
  }
}

/** Its process is gone, or it is older than any installation: process ids are used again after a restart. */
const isVoid = () => {
  const age = Date.now() - (statSync(claimFile, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  const pid = Number(read(claimFile))
  if (age > 1_200_000 || (!pid && age > 5_000)) return true
  try {
    return pid ? !process.kill(pid, 0) : false
  } catch (error) {
    return error.code !== 'EPERM'
  }
}
