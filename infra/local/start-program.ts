import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, createWriteStream, openSync } from 'node:fs'
import { join } from 'node:path'

/** A program of apps/<app>/bin, its log file, and its environment. */
export type Program = {
  file: string
  log: string
  cwd: string
  env: NodeJS.ProcessEnv
  /** The debugger port of Node, on 127.0.0.1. */
  inspectorPort?: number | undefined
}

/** A started program. */
export type StartedProgram = {
  child: ChildProcess
  /** Its standard output so far, with `capture`; otherwise empty. */
  output: () => string
  /** The last lines that the program wrote to standard error, without those of Node itself. */
  lastErrorLines: () => string
  /** Resolves to the failure, such as `exit code 1` or `signal SIGKILL`; to undefined for exit code 0. */
  ended: Promise<string | undefined>
}

/** The programs that `startProgram` started and that have not ended. */
export const runningPrograms = new Set<ChildProcess>()

/**
 * Starts a program with this Node, in its own process group, so that Ctrl-C in the terminal reaches only this process.
 * Its standard output goes to its log, or with `capture` to memory; its standard error goes to both.
 */
export const startProgram = ({ file, log, cwd, env, inspectorPort }: Program, capture = false): StartedProgram => {
  const logDescriptor = openSync(log, 'a')
  const flags = ['--enable-source-maps', ...(inspectorPort ? [`--inspect=127.0.0.1:${inspectorPort}`] : [])]
  const child = spawn(
    process.execPath,
    [...flags, '--import', join(import.meta.dirname, 'stop-with-parent.ts'), file],
    {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', capture ? 'pipe' : logDescriptor, 'pipe', 'ipc'],
    },
  )
  closeSync(logDescriptor)
  runningPrograms.add(child)
  const logged = createWriteStream(log, { flags: 'a' }).on('error', () => {})
  let [capturedOutput, errorOutput] = ['', '']
  child.stdout
    ?.setEncoding('utf8')
    .on('data', (text: string) => (capturedOutput = (capturedOutput + text).slice(-100_000)))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    logged.write(text)
    errorOutput = (errorOutput + text).slice(-4_000)
  })
  const ended = new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) =>
      resolve(code === 0 ? undefined : signal ? `signal ${signal}` : `exit code ${code}`),
    )
  }).finally(() => {
    runningPrograms.delete(child)
    logged.end()
  })
  const lastErrorLines = (): string =>
    errorOutput
      .split('\n')
      .filter((line) => !nodeOutputPattern.test(line))
      .slice(-8)
      .join('\n')
  return { child, output: () => capturedOutput, lastErrorLines, ended }
}

/** Matches lines that Node itself writes: internal stack frames, its version, the debugger's address. */
const nodeOutputPattern = /^\s*$|^\s+at .*node:internal\/|^Node\.js v|^Debugger |^For help, see: /
