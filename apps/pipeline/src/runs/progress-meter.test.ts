import { describe, expect, it } from '@jest/globals'
import { openMeter, logProgress, describeProgress } from './progress-meter.ts'
import { setTimeout as sleep } from 'node:timers/promises'

/** A meter whose clock is moved by hand, in seconds. */
function metered() {
  let clock = 0
  const meter = openMeter(() => clock)
  const read = (bytesRead: number, rowsRead = bytesRead / 10) => meter.progress({ bytesRead, rowsRead })
  return { meter, read, wait: (seconds: number) => void (clock += seconds * 1000) }
}

describe('progress meter', () => {
  it('reports zero rates and no percentage before anything is read', () => {
    expect({ ...metered().meter }).toMatchObject({
      bytesRead: 0,
      bytesTotal: null,
      percentage: null,
      rowsPerSecond: 0,
      bytesPerSecond: 0,
      secondsLeft: null,
    })
  })

  it('reports the percentage, the rates of the last seconds and the remaining time', () => {
    const { meter, read, wait } = metered()
    meter.progress({ bytesTotal: 10_000 })
    for (let second = 1; second <= 20; second++) {
      wait(1)
      read(second <= 10 ? second * 10 : 100 + (second - 10) * 200)
    }
    expect(meter).toMatchObject({ bytesRead: 2_100, percentage: 21, bytesPerSecond: 200, rowsPerSecond: 20 })
    expect(meter.secondsLeft).toBeCloseTo(7_900 / 200)
  })

  it('reports a falling rate while no data arrives', () => {
    const { meter, read, wait } = metered()
    wait(1)
    read(1_000)
    wait(9)
    expect(meter.bytesPerSecond).toBe(100)
  })

  it('reports no remaining time in the first two seconds, without a total, and when everything is read', () => {
    const { meter, read, wait } = metered()
    wait(1)
    read(10)
    expect(meter.secondsLeft).toBeNull()
    wait(2)
    expect(meter.secondsLeft).toBeNull()
    meter.progress({ bytesTotal: 100 })
    expect(meter.secondsLeft).not.toBeNull()
    read(100)
    expect(meter.secondsLeft).toBeNull()
  })

  it('reports at most 99.9 % even when as much as the total or more is read', () => {
    const { meter, read } = metered()
    meter.progress({ bytesTotal: 100 })
    read(100)
    expect(meter.percentage).toBe(99.9)
    read(150)
    expect(meter.percentage).toBe(99.9)
  })

  it('reports the rows of each table once there are several', () => {
    const meter = openMeter(() => 0)
    meter.startTable('patients')
    meter.progress({ rowsRead: 7 })
    expect(meter.tables).toBeUndefined()
    meter.finishTable(6)
    meter.startTable('visits')
    meter.progress({ rowsRead: 10 })
    expect(meter.tables).toEqual([
      { table: 'patients', rowsRead: 6, state: 'READ' },
      { table: 'visits', rowsRead: 3, state: 'READING' },
    ])
    for (let index = 0; index < 300; index += 1) meter.startTable(`more_${index}`)
    expect(meter.tables).toHaveLength(200)
  })

  it('keeps its percentage and resets its counters when the source is read again from the start', () => {
    const { meter, read, wait } = metered()
    meter.progress({ bytesTotal: 1_000 })
    wait(5)
    read(600)
    meter.startOver()
    expect(meter).toMatchObject({ bytesRead: 0, rowsRead: 0, rowsRejected: 0, percentage: 60, bytesPerSecond: 0 })
    wait(4)
    read(400)
    expect(meter).toMatchObject({ percentage: 60, bytesPerSecond: 100, secondsLeft: 6 })
    wait(3)
    read(700)
    expect(meter.percentage).toBe(70)
  })
})

describe('progress log line', () => {
  it('is written at intervals until the load is over', async () => {
    const lines: string[] = []
    const { meter, read } = metered()
    const write = (...[level, importance, message]: string[]) => void lines.push(`${level} ${importance} ${message}`)
    {
      using _telling = logProgress(meter, { write }, 5)
      read(1_000_000)
      while (lines.length < 3) await sleep(5)
    }
    const told = lines.length
    await sleep(30)
    expect(lines).toHaveLength(told)
    expect(lines[0]).toMatch(/^INFO LOW Read 1 MB, 100,000 rows: /)
  })

  it('formats sizes, counts, rates and the remaining time in readable units', () => {
    const none = { rowsRejected: 0, percentage: null, bytesTotal: null, secondsLeft: null }
    const known = { bytesRead: 512_400_000, rowsRead: 3_800_000, rowsPerSecond: 950_000, bytesPerSecond: 128_000_000 }
    expect(describeProgress({ ...none, ...known })).toBe('Read 512 MB, 3,800,000 rows: 128 MB/s, 950,000 rows/s.')
    const total = { bytesTotal: 1_024_000_000, percentage: 50.03, rowsRejected: 12, secondsLeft: 4.1 }
    expect(describeProgress({ ...known, ...total })).toBe(
      'Read 512 MB of 1,024 MB (50 %), 3,800,000 rows, 12 of them rejected: 128 MB/s, 950,000 rows/s, 4 seconds left.',
    )
    expect(describeProgress({ ...known, ...total, secondsLeft: 400 })).toContain('7 minutes left')
    expect(describeProgress({ ...known, ...total, secondsLeft: 40_000 })).toContain('11.1 hours left')
  })
})
