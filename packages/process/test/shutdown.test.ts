import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

/** Starts the program, sends the signals when it is ready, and returns its exit code, completed steps and output. */
async function runProgram(mode: string, ...signals: NodeJS.Signals[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'program-with-shutdown-steps.ts'), mode])
  let output = ''
  let errors = ''
  child.stderr.on('data', (data) => (errors += data))
  child.stdout.on('data', (data) => {
    output += data
    if (String(data).includes('ready')) for (const signal of signals) child.kill(signal)
  })
  const [code] = await once(child, 'close')
  const steps = output.split('\n').filter((line) => /^(first|second|third)$/.test(line))
  return { code, steps, output, errors }
}

describe('a program that receives a stop signal', () => {
  it('runs each shutdown step once, in order, and exits with 0', async () => {
    const { code, steps, output } = await runProgram('well', 'SIGTERM')
    expect([code, ...steps]).toEqual([0, 'first', 'second', 'third'])
    expect(output).toMatch(/"reason":"SIGTERM".*"msg":"stopping"[^]*"msg":"stopped"/)
  })

  it('runs the remaining steps if one fails, logs the failed step, and exits with 1', async () => {
    const { code, steps, output } = await runProgram('fails', 'SIGINT')
    expect([code, ...steps]).toEqual([1, 'first', 'second', 'third'])
    expect(output).toMatch(/"step":"second"/)
  })

  it('exits with 1 before the remaining steps if a step times out or a second signal arrives', async () => {
    const late = await runProgram('hangs', 'SIGTERM')
    expect([late.code, ...late.steps]).toEqual([1, 'first', 'second'])
    expect(late.output).toContain('stopping took too long')
    const impatient = await runProgram('well', 'SIGTERM', 'SIGINT')
    expect(impatient.code).toBe(1)
    expect(impatient.steps).not.toContain('third')
  })
})

describe('a program that cannot start', () => {
  it('prints the reason without a stack trace and exits with 1', async () => {
    const { code, errors } = await runProgram('refuses')
    expect([code, errors]).toEqual([1, 'The moon is in the wrong phase: wait a week.\n'])
  })
})
