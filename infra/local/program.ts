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
export type Running = {
  child: ChildProcess
  /** Its standard output so far, when it was asked for. */
  output: () => string
  /** The last lines it wrote to standard error. */
  lastWords: () => string
  /** How it ended: `exit code 1`, `signal SIGKILL`; undefined for exit code 0. */
  ended: Promise<string | undefined>
}

/** Everything started here that has not ended, to be killed when there is no time left. */
export const runningPrograms = new Set<ChildProcess>()

/**
 * Starts a program with this Node. Standard output goes to its log (or is kept, with `capture`), standard error to both
 * its log and memory. In a process group of its own, so that Ctrl-C in the terminal reaches only us.
 */
export const startProgram = ({ file, log, cwd, env, inspectorPort }: Program, capture = false): Running => {
  const output = openSync(log, 'a')
  const flags = ['--enable-source-maps', ...(inspectorPort ? [`--inspect=127.0.0.1:${inspectorPort}`] : [])]
  const child = spawn(
    process.execPath,
    [...flags, '--import', join(import.meta.dirname, 'stop-with-parent.ts'), file],
    {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', capture ? 'pipe' : output, 'pipe', 'ipc'],
    },
  )
  closeSync(output)
  runningPrograms.add(child)
  const logged = createWriteStream(log, { flags: 'a' }).on('error', () => {})
  let [said, complained] = ['', '']
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-100_000)))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    logged.write(text)
    complained = (complained + text).slice(-4_000)
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
  const lastWords = (): string =>
    complained
      .split('\n')
      .filter((line) => !ofNode.test(line))
      .slice(-8)
      .join('\n')
  return { child, output: () => said, lastWords, ended }
}

/** What Node writes by itself says nothing about the program: its own stack frames, its version, its debugger. */
const ofNode = /^\s*$|^\s+at .*node:internal\/|^Node\.js v|^Debugger |^For help, see: /
