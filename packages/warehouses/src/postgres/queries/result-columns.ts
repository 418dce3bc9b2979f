import type { FieldDef } from 'pg'
import type { WarehouseColumn } from '../../warehouse.ts'
import { uniqueNames } from '../../sql-text/check-identifier.ts'
import { describeType, type SqlType } from '../column-types.ts'

/** PostgreSQL types without modifiers, by OID. These OIDs are the same on every server. */
const typesByOid: Record<number, SqlType> = {
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

/** The OIDs of the types with modifiers. */
const characterOid = 1042
const varcharOid = 1043
const numericOid = 1700

/**
 * Returns the result columns in their order. A repeated name gets a numeric suffix; its label keeps the original name.
 */
export function resultColumns(fields: readonly FieldDef[]): WarehouseColumn[] {
  const names = uniqueNames(fields.map(({ name }) => name))
  return fields.map((field, index) => ({
    name: names[index]!,
    label: field.name,
    ...describeType(resultTypeOf(field)),
    primaryKey: false,
  }))
}

/**
 * Returns the type as `format_type` prints it, and `text` for a type that Sluice does not know. The server sends type
 * modifiers plus 4, and -1 for a type without one. The modifier of `numeric` contains the precision in its upper 16
 * bits and the scale, which is signed, in its lowest 11 bits.
 */
function resultTypeOf({ dataTypeID, dataTypeModifier }: FieldDef): SqlType {
  const modifier = dataTypeModifier - 4
  if (dataTypeID === characterOid) return modifier > 0 ? `character(${modifier})` : 'text'
  if (dataTypeID === varcharOid) return modifier > 0 ? `character varying(${modifier})` : 'character varying'
  if (dataTypeID === numericOid && modifier >= 0) {
    const precision = modifier >> 16
    // Moves the 11 bits to the top and back, which extends their sign bit: 0b111_1111_1110 becomes -2.
    const scale = (modifier << 21) >> 21
    return `numeric(${precision},${scale})`
  }
  if (dataTypeID === numericOid) return 'numeric'
  return typesByOid[dataTypeID] ?? 'text'
}
