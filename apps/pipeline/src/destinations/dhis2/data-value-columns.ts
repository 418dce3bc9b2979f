import type { WarehouseColumn } from '@sluice/warehouses/warehouse'
import { DestinationProblem } from '../destination-problem.ts'

/**
 * The fields of a data value, each with the column names that map to it. Names match in any case, with or without underscores
 * and spaces.
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

/** `places`: the position of each field in a row. `left`: the names of the columns that map to no field. */
export interface FieldPlaces {
  places: ReadonlyMap<Field, number>
  left: string[]
}

/** Finds the column of each field. Throws `DestinationProblem` if a required field has no column, or a field has two columns. */
export function mapFields(columns: readonly Pick<WarehouseColumn, 'name' | 'label'>[]): FieldPlaces {
  const places = new Map<Field, number>()
  const left: string[] = []
  columns.forEach(({ name }, index) => {
    const field = findField(name)
    if (!field) return left.push(name)
    const earlier = places.get(field)
    if (earlier !== undefined)
      throw new DestinationProblem(
        'COLUMN_TWICE',
        `The view has two columns for ${field}: "${columns[earlier]!.name}" and "${name}". Leave one of them out of the view, or rename it. Nothing was sent.`,
      )
    return places.set(field, index)
  })
  const missing = requiredFields.filter((field) => !places.has(field))
  if (missing.length > 0)
    throw new DestinationProblem(
      'COLUMN_MISSING',
      `The view has no column named ${joinFieldNames(missing)}. Add ${missing.length === 1 ? 'it' : 'them'} to the view's query. Its columns are ${columns
        .map(({ name }) => `"${name}"`)
        .slice(0, 20)
        .join(', ')}. Nothing was sent.`,
    )
  return { places, left }
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

/** Returns the snake_case name of a field, such as `data_element`, because SQL folds unquoted names to lower case. */
const toSnakeCase = (field: string) => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
