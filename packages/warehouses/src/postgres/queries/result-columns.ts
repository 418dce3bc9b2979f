import type { FieldDef } from 'pg'
import type { WarehouseColumn } from '../../warehouse.ts'
import { describeType, type SqlType } from '../types.ts'

/**
 * PostgreSQL types that map to a DataType, by OID. These OIDs are the same on every server. All other types become
 * text.
 */
const dataTypeByOid: Record<number, SqlType> = {
  16: 'boolean',
  20: 'bigint',
  21: 'smallint',
  23: 'integer',
  114: 'json',
  700: 'real',
  701: 'double precision',
  1082: 'date',
  1114: 'timestamp without time zone',
  1184: 'timestamp with time zone',
  3802: 'jsonb',
}

/**
 * Returns the result columns in their order. A repeated name gets a numeric suffix; its label keeps the original name.
 */
export function resultColumns(fields: readonly FieldDef[]): WarehouseColumn[] {
  const usedNames = new Set(fields.map(({ name }) => name))
  const seen = new Set<string>()
  return fields.map((field) => {
    let name = field.name
    for (let number = 2; seen.has(name) || (number > 2 && usedNames.has(name)); number += 1)
      name = `${field.name}_${number}`
    seen.add(name)
    return { name, label: field.name, ...describeType(resultTypeOf(field)), primaryKey: false }
  })
}

/**
 * Returns the type as `format_type` prints it. The type modifier is stored plus 4, and is -1 for a type without one.
 */
function resultTypeOf({ dataTypeID, dataTypeModifier }: FieldDef): SqlType {
  const modifier = dataTypeModifier - 4
  if (dataTypeID === 1042) return modifier > 0 ? `character(${modifier})` : 'text'
  if (dataTypeID === 1043) return modifier > 0 ? `character varying(${modifier})` : 'character varying'
  if (dataTypeID === 1700) return modifier >= 0 ? `numeric(${modifier >> 16},${(modifier << 21) >> 21})` : 'numeric'
  return dataTypeByOid[dataTypeID] ?? 'text'
}
