import { expect, it } from '@jest/globals'
import { RunHints } from './hints-for-user.ts'

it('logs and keeps the first 20 hints, and counts the others in one line', () => {
  const lines: string[] = []
  const hints = new RunHints((line) => void lines.push(line))
  const add = () => {
    for (let object = 0; object < 1_000; object++) hints.add(`object ${object}`, { pipeline: 'Set the type.' })
  }
  add()
  hints.clear()
  add()
  hints.logOmitted()
  expect(hints.shown.size).toBe(20)
  expect([lines.length, lines[19], lines[20]]).toEqual([21, 'object 19', '980 more hints are not listed.'])
})
