import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { programArguments, programEnvironment } from '@sluice/testing/app-program-arguments'

/** One of the apps' programs in a process of its own. */
export interface Program {
  /** Everything it has said. */
  output(): string
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | string>
  signal(name: NodeJS.Signals): void
  /** Waits until SIGSTOP has taken hold of it, or it has ended. */
  stopped(): Promise<void>
  /** Ends it, and waits for that. */
  stop(signal?: NodeJS.Signals): Promise<number | string>
}

/**
 * Starts a program, such as `identity/bin/serve.ts`, with only this environment. Passes each chunk of its output to
 * `said`.
 */
export function startProgram(
  file: string,
  environment: Record<string, string>,
  said: (text: string) => void = () => {},
): Program {
  const child = spawn(process.execPath, programArguments(file), {
    env: { ...programEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      said(text)
    })
  }
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  return {
    output: () => output,
    ended,
    signal: (name) => void child.kill(name),
    async stopped() {
      while (!/^[TXZ]|^$/.test(await stateOf(child.pid!))) await sleep(2)
    },
    stop(signal = 'SIGKILL') {
      child.kill(signal)
      return ended
    },
  }
}

/** Returns the state of a process, such as R, S or T; an empty text if the process has ended. */
async function stateOf(pid: number): Promise<string> {
  if (process.platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
    return stat.slice(stat.lastIndexOf(')') + 2)
  }
  const asked = promisify(execFile)('ps', ['-o', 'stat=', '-p', String(pid)])
  return asked.then(({ stdout }) => stdout.trim()).catch(() => '')
}

/** Runs a program to its end, which has to be a good one; answers what it said. */
export async function runProgram(file: string, environment: Record<string, string>): Promise<string> {
  const { ended, output } = startProgram(file, environment)
  const code = await ended
  if (code !== 0) throw new Error(`${file} ended with ${code}:\n${output()}`)
  return output()
}

/** Waits until a service says that it is ready. */
export async function ready({ ended, output }: Program, url: string): Promise<void> {
  let over: unknown
  void ended.then((code) => (over = code))
  for (const until = Date.now() + 120_000; ; await sleep(50)) {
    const answer = await fetch(`${url}/health/ready`).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer?.ok) return
    if (over !== undefined || Date.now() > until) throw new Error(`${url} is not ready (${over}):\n${output()}`)
  }
}
