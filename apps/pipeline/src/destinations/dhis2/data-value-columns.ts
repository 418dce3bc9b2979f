import type { WarehouseColumn } from '@sluice/warehouses/warehouse'
import { DestinationProblem } from '../destination-problem.ts'

/**
 * The fields of a DHIS2 data value, each with the view columns that map to it. Names match in any case, with or without
 * underscores and spaces.
 */
const columnAliases = {
  dataElement: ['dataelement', 'dx'],
  period: ['period', 'pe'],
  orgUnit: ['orgunit', 'organisationunit', 'ou'],
  categoryOptionCombo: ['categoryoptioncombo', 'catoptcombo', 'co'],
  attributeOptionCombo: ['attributeoptioncombo', 'attroptcombo', 'ao'],
  value: ['value'],
  comment: ['comment'],
  followUp: ['followup'],
  deleted: ['deleted'],
  dataSet: ['dataset', 'ds'],
} as const

export type Field = keyof typeof columnAliases

const requiredFields: readonly Field[] = ['dataElement', 'period', 'orgUnit', 'value']

/** The columns of a view, mapped to the fields of a data value. */
export interface MappedColumns {
  /** The index of each field in a row. */
  indexByField: ReadonlyMap<Field, number>
  /** The names of the columns that map to no field. */
  unmappedColumns: string[]
}

/**
 * Finds the column for each field. Throws `DestinationProblem` if a required field has no column or a field has two
 * columns.
 */
export function mapFields(columns: readonly Pick<WarehouseColumn, 'name' | 'label'>[]): MappedColumns {
  const indexByField = new Map<Field, number>()
  const unmappedColumns: string[] = []
  for (const [index, { name }] of columns.entries()) {
    const field = findField(name)
    if (!field) {
      unmappedColumns.push(name)
      continue
    }
    const earlierIndex = indexByField.get(field)
    if (earlierIndex !== undefined)
      throw new DestinationProblem(
        'COLUMN_TWICE',
        `The view has two columns for ${field}: "${columns[earlierIndex]!.name}" and "${name}". Leave one of them out of the view, or rename it. Nothing was sent.`,
      )
    indexByField.set(field, index)
  }
  const missingFields = requiredFields.filter((field) => !indexByField.has(field))
  if (missingFields.length > 0)
    throw new DestinationProblem(
      'COLUMN_MISSING',
      `The view has no column named ${joinFieldNames(missingFields)}. Add ${missingFields.length === 1 ? 'it' : 'them'} to the view's query. Its columns are ${columns
        .map(({ name }) => `"${name}"`)
        .slice(0, 20)
        .join(', ')}. Nothing was sent.`,
    )
  return { indexByField, unmappedColumns }
}

function findField(column: string): Field | undefined {
  const plain = column.toLowerCase().replaceAll(/[_\s-]/g, '')
  return (Object.keys(columnAliases) as Field[]).find((field) =>
    (columnAliases[field] as readonly string[]).includes(plain),
  )
}

function joinFieldNames(fields: readonly Field[]): string {
  const spelled = fields.map((field) => toSnakeCase(field))
  return spelled.length === 1 ? spelled[0]! : `${spelled.slice(0, -1).join(', ')} and ${spelled.at(-1)}`
}

/**
 * Returns the snake_case name of a field, such as `data_element`, because SQL converts unquoted names to lower case.
 */
const toSnakeCase = (field: string) => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
