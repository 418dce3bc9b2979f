import { describe, expect, it } from '@jest/globals'
import { dataTypes } from '@sluice/contracts'
import { describeType, sqlType, widenTypes } from './column-types.ts'

describe('types of PostgreSQL', () => {
  it('map to PostgreSQL types and back without a change, except geometry, which becomes text', () => {
    const back = dataTypes.map((dataType) => describeType(sqlType({ dataType })).dataType)
    expect(back).toEqual(dataTypes.map((dataType) => (dataType.startsWith('GEOMETRY') ? 'TEXT' : dataType)))
    expect(describeType(sqlType({ dataType: 'DECIMAL', precision: 12, scale: 3 }))).toEqual({
      dataType: 'DECIMAL',
      precision: 12,
      scale: 3,
    })
    expect(describeType('character varying(255)')).toEqual({ dataType: 'VARCHAR_255', length: 255 })
    expect(describeType('uuid')).toEqual({ dataType: 'TEXT' })
  })

  it.each([
    ['smallint', 'integer', 'integer'],
    ['bigint', 'integer', 'bigint'],
    ['bigint', 'numeric(10,4)', 'numeric(23,4)'],
    ['smallint', 'numeric(10,4)', 'numeric(10,4)'],
    ['numeric(10,2)', 'numeric(8,6)', 'numeric(14,6)'],
    ['numeric', 'numeric(8,6)', 'numeric'],
    ['numeric(1000,0)', 'numeric(10,10)', 'numeric'],
    ['integer', 'double precision', 'double precision'],
    ['real', 'double precision', 'double precision'],
    ['real', 'integer', 'double precision'],
    ['bigint', 'double precision', 'numeric'],
    ['numeric(10,2)', 'double precision', 'numeric'],
    ['date', 'timestamp without time zone', 'timestamp without time zone'],
    ['timestamp with time zone', 'timestamp without time zone', 'timestamp with time zone'],
    ['character varying(50)', 'character varying(255)', 'character varying(255)'],
    ['character(11)', 'character varying(50)', 'text'],
    ['boolean', 'integer', 'text'],
    ['date', 'integer', 'text'],
    ['jsonb', 'text', 'text'],
    ['uuid', 'text', 'text'],
  ])('%s and %s widen to %s in both orders', (one, other, expected) => {
    expect([widenTypes(one, other), widenTypes(other, one)]).toEqual([expected, expected])
  })
})
