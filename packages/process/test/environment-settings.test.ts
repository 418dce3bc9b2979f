import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import {
  databaseUrl,
  integerSetting,
  listSetting,
  oneOf,
  portSetting,
  readSettings,
  secretSetting,
  SettingsProblem,
  textSetting,
  urlSetting,
  type Setting,
} from '../src/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-settings-'))
afterAll(() => rmSync(folder, { recursive: true }))

const shape = {
  PORT: portSetting(3001),
  HOST: textSetting('127.0.0.1'),
  DATABASE_URL: databaseUrl(),
  PUBLIC_URL: urlSetting(['http:', 'https:']),
  SECRET: secretSetting(),
  LIMIT: integerSetting({ min: 1, max: 10, fallback: 5 }),
  LEVEL: oneOf(['info', 'debug'], 'info'),
  ORIGINS: listSetting(),
}
const good = { DATABASE_URL: 'postgres://me:pass@db/x', PUBLIC_URL: 'https://example.org//', SECRET: 's'.repeat(24) }

const mistakesOf = (environment: Record<string, string>): string[] => {
  try {
    readSettings(environment, shape)
    return []
  } catch (error) {
    expect(error).toBeInstanceOf(SettingsProblem)
    return (error as SettingsProblem).mistakes
  }
}

describe('settings', () => {
  it('are converted to their types, and have fallbacks', () => {
    const { values, secrets } = readSettings(
      { ...good, ORIGINS: ' https://a , ,https://b', LIMIT: ' 7 ', HOST: ' ' },
      shape,
    )
    expect(values).toEqual({
      PORT: 3001,
      HOST: '127.0.0.1',
      DATABASE_URL: 'postgres://me:pass@db/x',
      PUBLIC_URL: 'https://example.org',
      SECRET: good.SECRET,
      LIMIT: 7,
      LEVEL: 'info',
      ORIGINS: ['https://a', 'https://b'],
    })
    expect(secrets).toEqual([good.DATABASE_URL, good.SECRET])
  })

  it('cause one error that lists every mistake, without secrets', () => {
    const mistakes = mistakesOf({
      PORT: '70000',
      DATABASE_URL: 'mysql://me:hidden-word@db/x',
      SECRET: 'hidden-word',
      LIMIT: '2.5',
      LEVEL: 'loud',
    })
    expect(mistakes).toEqual([
      'PORT must be a whole number from 1 to 65535, not "70000"',
      'DATABASE_URL must be a URL that starts with postgres:// or postgresql://',
      'PUBLIC_URL is required',
      'SECRET must have at least 24 characters',
      'LIMIT must be a whole number from 1 to 10, not "2.5"',
      'LEVEL must be one of info, debug, not "loud"',
    ])
    expect(new SettingsProblem(mistakes).message).toMatch(/^The settings are not usable:\n {2}- PORT must/)
    expect(mistakes.join()).not.toContain('hidden-word')
  })

  it.each(['', '0', '-1', '1e3x', 'NaN', '0x', 'Infinity', '3001.5'])(
    'reject the port %j, or use the fallback if it is empty',
    (given) => {
      const { PORT } = { ...good, PORT: given }
      const expected = given === '' ? [] : [`PORT must be a whole number from 1 to 65535, not "${given}"`]
      expect(mistakesOf({ ...good, PORT })).toEqual(expected)
    },
  )

  it('can be read from a file that NAME_FILE names', () => {
    const file = join(folder, 'secret')
    writeFileSync(file, `${'f'.repeat(30)}\n`)
    const { SECRET: _none, ...rest } = good
    const { values, secrets } = readSettings({ ...rest, SECRET_FILE: file }, shape)
    expect(values.SECRET).toBe('f'.repeat(30))
    expect(secrets).toContain('f'.repeat(30))
    expect(mistakesOf({ ...good, SECRET_FILE: file })).toEqual([
      'SECRET is given twice: as SECRET and as SECRET_FILE; keep one',
    ])
    expect(mistakesOf({ ...rest, SECRET_FILE: `${file}-not` })).toEqual([
      `SECRET cannot be read from ${file}-not (ENOENT)`,
    ])
    writeFileSync(file, ' \n')
    expect(mistakesOf({ ...rest, SECRET_FILE: file })).toEqual(['SECRET is required'])
  })

  it('can have a custom parser', () => {
    const even: Setting<number> = {
      parse(given) {
        if (Number(given) % 2 !== 0) throw new Error('must be even')
        return Number(given)
      },
    }
    expect(readSettings({ N: '4' }, { N: even }).values.N).toBe(4)
    expect(() => readSettings({ N: '5' }, { N: even })).toThrow('- N must be even')
  })
})
