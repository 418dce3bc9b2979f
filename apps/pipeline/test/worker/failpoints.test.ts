import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { readConfig } from '../../src/config.ts'
import { failpoint, failpointNames, parseFailpoints } from '@sluice/process'

const environment = {
  PIPELINE_DATABASE_URL: 'postgres://a:b@c/d',
  WAREHOUSE_DATABASE_URL: 'postgres://a:b@c/d',
  SECRET_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
  SERVICE_SECRET: 'x'.repeat(24),
  FILES_DIRECTORY: '/tmp',
}

describe('failpoints', () => {
  it('are each used at exactly one place, or at one place per warehouse driver', () => {
    const root = join(import.meta.dirname, '../../../..')
    const files = globSync(['apps/pipeline/src/**/*.ts', 'packages/*/src/**/*.ts'], { cwd: root })
    const roomOf = (file: string) => (file.startsWith('packages/warehouses/') ? file : 'elsewhere')
    const places = files.flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8')
      return [...text.matchAll(/await failpoint\('([\w-]+)'\)/g)].map(([, name]) => `${name} in ${roomOf(file)}`)
    })
    expect(places.toSorted()).toEqual([...new Set(places)].toSorted())
    const named = new Map(Map.groupBy(places, (place) => place.split(' in ')[0]!))
    expect([...named.keys()].toSorted()).toEqual([...failpointNames].toSorted())
    for (const rooms of named.values())
      if (rooms.length > 1) expect(rooms.filter((room) => room.endsWith('elsewhere'))).toEqual([])
  })

  it('do nothing if FAILPOINTS is not set', () => {
    expect(failpointNames.map((name) => failpoint(name))).toEqual(failpointNames.map(() => undefined))
    expect(readConfig(environment).FAILPOINTS).toEqual([])
  })

  it('are parsed as point, action, milliseconds and passage', () => {
    expect(parseFailpoints('in-copy:exit@3, before-swap:sleep:500,claimed:hang')).toEqual([
      { point: 'in-copy', action: 'exit', passage: 3 },
      { point: 'before-swap', action: 'sleep', milliseconds: 500 },
      { point: 'claimed', action: 'hang' },
    ])
  })

  it.each(['nowhere:exit', 'in-copy:explode', 'in-copy', 'in-copy:sleep', 'in-copy:exit:5', ''])(
    'are rejected if the point or action is unknown or incomplete: %s',
    (text) => {
      expect(() => parseFailpoints(text)).toThrow(/is not a failpoint/)
    },
  )

  it('are rejected in production', () => {
    const armed = { ...environment, FAILPOINTS: 'in-copy:exit' }
    expect(readConfig(armed).FAILPOINTS).toHaveLength(1)
    expect(() => readConfig({ ...armed, NODE_ENV: 'production' })).toThrow(/refused in production/)
  })
})
