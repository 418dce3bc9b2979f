import { mkdtemp, rm } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { RemoteProblem, SecondFactorRequired, type UserSession, signIn, type PasswordSignIn } from '@sluice/client'
import pc from 'picocolors'
import { state } from '../paths.ts'
import { UserError } from '../user-error.ts'
import { UsageError, parseDemoArguments, usage, type DemoArguments } from './demo-arguments.ts'
import { promptPassword } from './prompt-password.ts'
import { explainError, explainSignIn } from './explain-errors.ts'
import { writeHealthData } from './health-data.ts'
import { findInstallation, type Installation } from './installation.ts'
import { loadCsv, type LoadedCsv } from './load-csv.ts'
import { watchLoad } from './watch-load.ts'
import { rowsText, secondsText } from './format-units.ts'
import { createProgressView, type ProgressView } from './progress-bar.ts'
import { formatReport } from './load-report.ts'
import { inspectUploadFile } from './upload-file.ts'

/**
 * `npm run demo [-- file.csv]`: loads a file into the running Sluice. Exit code 0 if the rows were loaded, 1 if not, 2
 * for invalid arguments.
 */

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => interrupted.abort(signal))
// `npm run demo | head` closes the output early.
process.stdout.on('error', () => process.exit())

const { stdout } = process
const isTerminal = process.stdin.isTTY && stdout.isTTY
const colors = pc.createColors(stdout.isTTY && pc.isColorSupported)
const view = createProgressView(stdout)

async function demo(options: DemoArguments): Promise<void> {
  const { signal } = interrupted
  if (options.file !== undefined) await inspectUploadFile(options.file, options.file)
  const installation = await findInstallation(process.env, state)
  const { identityUrl, pipelineUrl, username } = installation
  const password = installation.password ?? (await passwordFromTerminal(installation, signal))
  const session = await signInWithCode({ identityUrl, username, password }, signal).catch((error: unknown) => {
    throw explainSignIn(error, installation)
  })
  await using _session = { [Symbol.asyncDispose]: () => session.signOut().catch(() => {}) }
  view.printLine(`  Signed in at ${identityUrl} as ${colors.bold(username)}`)

  await using file = options.file === undefined ? await createDataFile(options.rows, signal) : undefined
  const loaded = await loadCsv({
    pipelineUrl,
    token: session.token,
    file: file?.path ?? options.file ?? '',
    name: options.name ?? (file && 'Health facility reports'),
    watch: watchLoad(view),
    signal,
  }).catch((error: unknown) => {
    throw explainError(error, 'pipeline service', pipelineUrl)
  })
  view.clear()
  view.printLine(
    `\n${formatReport(loaded, { colors, width: stdout.columns || 120, identityUrl, pipelineUrl, username })}\n`,
  )
  if (!succeeded(loaded)) process.exitCode = 1
}

const succeeded = ({ run: { status } }: LoadedCsv) => status === 'OK' || status === 'WARNING'

/** Signs in, with a code from the terminal if the user has a second factor. */
async function signInWithCode(user: PasswordSignIn, signal: AbortSignal): Promise<UserSession> {
  try {
    return await signIn(user)
  } catch (error) {
    if (!(error instanceof SecondFactorRequired)) throw error
    if (!isTerminal)
      throw new UserError(
        `${user.username} has a second factor. Start the demo in a terminal, where you can enter its code.`,
      )
    const code = await promptPassword(`  Code of the second factor of ${user.username}: `, signal)
    return await error.confirm(code).catch((refused: unknown) => {
      throw refused instanceof RemoteProblem ? new UserError(refused.message, { cause: refused }) : refused
    })
  }
}

async function passwordFromTerminal({ username, identityUrl }: Installation, signal: AbortSignal): Promise<string> {
  if (!isTerminal)
    throw new UserError(`The password of ${username} is unknown. Set SLUICE_ADMIN_PASSWORD, or run "npm start" first.`)
  return promptPassword(`  Password of ${username} at ${identityUrl}: `, signal)
}

/** Creates a health data set in a temporary folder, which is deleted on disposal. */
async function createDataFile(rows: number, signal: AbortSignal) {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-demo-'))
  const path = join(folder, 'health-facility-reports.csv')
  const remove = () => rm(folder, { recursive: true, force: true })
  const startedAt = performance.now()
  try {
    await writeHealthData(path, { rows, signal })
  } catch (error) {
    await remove()
    throw error
  }
  view.printLine(
    `  Generated ${rowsText(rows)} of health facility reports in ${secondsText(performance.now() - startedAt)}`,
  )
  return { path, [Symbol.asyncDispose]: remove }
}

function reportError(error: unknown, view: ProgressView): void {
  view.clear()
  if (interrupted.signal.aborted) {
    process.exitCode = 128 + constants.signals[interrupted.signal.reason as 'SIGINT']
    console.error('  Interrupted. A queued run continues.')
  } else if (error instanceof Error && error.name === 'AbortError') process.exitCode = 130
  else {
    process.exitCode = error instanceof UsageError ? 2 : 1
    const isDiskFull = (error as NodeJS.ErrnoException).code === 'ENOSPC'
    const message = isDiskFull ? 'The disk is full. Free some space and start again.' : (error as Error).message
    console.error(isDiskFull || error instanceof UserError ? `${colors.red('✗')} ${message}` : error)
  }
}

try {
  const options = parseDemoArguments(process.argv.slice(2))
  if (options.help) console.log(usage)
  else await demo(options)
} catch (error) {
  reportError(error, view)
}
