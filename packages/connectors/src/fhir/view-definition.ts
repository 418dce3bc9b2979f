import { SourceProblem } from '@sluice/row-stream'
import { BadRecord } from '../http-connector/flatten-record.ts'
import { type FhirPathExpression, fhirPath } from './fhirpath.ts'

/** A compiled ViewDefinition (SQL on FHIR) of one resource type. */
export interface ResourceView {
  name: string
  resource: string
  columns: readonly ViewColumn[]
  /** The rows of a resource, with values in the order of the columns. Throws `BadRecord` if it has several values for one column. */
  rows(resource: unknown): ViewRow[]
}

export interface ViewColumn {
  name: string
  /** The FHIR type, if the view declares it. */
  type?: string
}

type DefinitionFields = Readonly<Record<string, unknown>>
type RowFunction = (focus: unknown) => ViewRow[]

/** A compiled select: its columns in order, and the function that creates the rows of a focus. */
interface SelectPart {
  columns: ViewColumn[]
  rows: RowFunction
}

/** Parses a definition. Throws `SourceProblem` VIEW_WRONG for an invalid one, and NOT_SUPPORTED for unsupported FHIRPath. */
export function parseView(definition: unknown): ResourceView {
  const view = fieldsOf(definition)
  const name = textOf(view['name']) ?? textOf(view['resource']) ?? ''
  const wrong = (what: string) =>
    new SourceProblem('VIEW_WRONG', `The view "${name.slice(0, 100)}" cannot be made: ${what}.`)
  /** `%rowIndex` is the current index in the innermost list. */
  const variables: Record<string, unknown> = { rowIndex: 0, ...constants(view['constant'], wrong) }

  const path = (value: unknown): FhirPathExpression => {
    if (typeof value !== 'string' || value === '') throw wrong('a path in it is no text')
    return fhirPath(value, variables)
  }

  function part(select: DefinitionFields): SelectPart {
    const own = listOf(select['column'], wrong).map((column): SelectPart => columnOf(column, path, wrong))
    const below = listOf(select['select'], wrong).map(part)
    const union = listOf(select['unionAll'], wrong).map(part)
    const [first] = union
    if (union.some(({ columns }) => names(columns) !== names(first!.columns)))
      throw wrong('the parts of a unionAll have other columns, or in another order')
    const parts = [...own, ...below]
    if (first)
      parts.push({ columns: first.columns, rows: (focus) => stacked(union.values().map(({ rows }) => rows(focus))) })
    if (parts.length === 0) throw wrong('a select has no columns')
    const whole: SelectPart = {
      columns: parts.flatMap(({ columns }) => columns),
      rows: (focus) => cross(parts.map(({ rows }) => rows(focus))),
    }
    return { columns: whole.columns, rows: eachOf(select, whole.rows) }
  }

  /** Returns the rows of each element that a select iterates over. */
  function eachOf(select: DefinitionFields, rows: RowFunction): RowFunction {
    const { forEach, forEachOrNull, repeat } = select
    if (forEach === undefined && forEachOrNull === undefined && repeat === undefined) return rows
    const found =
      repeat === undefined ? path(forEach ?? forEachOrNull) : repeated(listOf(repeat, wrong, true).map(path))
    return (focus) => {
      const items = found(focus)
      const all = items.length === 0 && forEachOrNull !== undefined ? [{}] : items
      const outer = variables['rowIndex']
      const made = stacked(
        all.entries().map(([index, item]) => {
          variables['rowIndex'] = index
          return rows(item)
        }),
      )
      variables['rowIndex'] = outer
      return made
    }
  }

  const resource = textOf(view['resource'])
  if (resource === undefined) throw wrong('it does not say of which resource')
  const whole = part({ select: view['select'] })
  const twice = whole.columns.find(
    (item, index) => whole.columns.findIndex((other) => other.name === item.name) < index,
  )
  if (twice) throw wrong(`the column "${twice.name}" is there twice`)
  const wanted = listOf(view['where'], wrong).map((where) => condition(path(fieldsOf(where)['path']), wrong))
  return {
    name,
    resource,
    columns: whole.columns,
    rows(focus) {
      variables['rowIndex'] = 0
      return wanted.every((holds) => holds(focus)) ? whole.rows(focus) : []
    },
  }
}

type InvalidView = (what: string) => SourceProblem

function columnOf(column: unknown, path: (value: unknown) => FhirPathExpression, wrong: InvalidView): SelectPart {
  const { name, path: where, type, collection } = fieldsOf(column)
  if (typeof name !== 'string' || !/^[A-Za-z_]\w{0,254}$/.test(name))
    throw wrong('a column needs a name of letters, digits and underscores')
  const values = path(where)
  const known = textOf(type)
  return {
    columns: [{ name, ...(known !== undefined && collection !== true && { type: known }) }],
    rows(focus) {
      const found = values(focus)
      if (collection === true) return [[found]]
      if (found.length > 1)
        throw new BadRecord(`has ${found.length} values where the view has one: say collection, or first()`, name)
      return [[found[0] ?? null]]
    },
  }
}

/** Maximum depth of recursion. No resource nests deeper, so a deeper path leads back to its start. */
const deepest = 100

/** Returns the values of the paths, and recursively the values of the paths from there. */
function repeated(paths: readonly FhirPathExpression[]): FhirPathExpression {
  return (focus) => {
    const found: unknown[] = []
    const walk = (from: unknown, depth: number): void => {
      for (const path of paths)
        for (const item of path(from)) {
          if (depth > deepest || found.length === maxRows)
            throw new BadRecord(`has no end, or more than ${maxRows} parts, where the view repeats`)
          found.push(item)
          walk(item, depth + 1)
        }
    }
    walk(focus, 1)
    return found
  }
}

function condition(path: FhirPathExpression, wrong: InvalidView): (focus: unknown) => boolean {
  return (focus) => {
    const [value = false, ...others] = path(focus)
    if (typeof value !== 'boolean' || others.length > 0) throw wrong('a path of its where is not true or false')
    return value
  }
}

function constants(given: unknown, wrong: InvalidView): Record<string, unknown> {
  return Object.fromEntries(
    listOf(given, wrong).map((constant) => {
      const { name, ...value } = fieldsOf(constant)
      const [key = ''] = Object.keys(value).filter((item) => /^value[A-Z]/.test(item))
      if (typeof name !== 'string' || key === '') throw wrong('a constant needs a name and a value')
      return [name, value[key]]
    }),
  )
}

const names = (columns: readonly ViewColumn[]): string => columns.map(({ name }) => name).join()

const fieldsOf = (value: unknown): DefinitionFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as DefinitionFields) : {}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** Returns a list of objects, or of texts if `texts` is true. */
function listOf(value: unknown, wrong: InvalidView, texts = false): DefinitionFields[] {
  if (value === undefined) return []
  if (Array.isArray(value) && value.every((item) => texts || (typeof item === 'object' && item !== null))) return value
  throw wrong('where a list belongs there is something else')
}

/** The values of a row, in the order of a view's columns. */
export type ViewRow = readonly unknown[]

/** Maximum number of rows of one resource. */
const maxRows = 100_000
/** Maximum number of values in all rows of one resource with a wide view: they are created at once, in 0.3 seconds and 60 MB. */
const maxRowValues = 500_000

/** Returns the cross product of the parts of a view. Throws `BadRecord` if it has too many rows. */
function cross(parts: readonly (readonly ViewRow[])[]): ViewRow[] {
  const count = parts.reduce((product, part) => product * part.length, 1)
  const width = parts.reduce((sum, part) => sum + (part[0]?.length ?? 0), 0)
  assertRowLimit(count, width, ': its lists are side by side in the view')
  // Most cross products consist of columns only.
  if (count === 1) return [parts.flatMap(([row]) => row!)]
  // The last part changes fastest. Each row is created once, because adding one part at a time would copy it for each column.
  const steps = parts.map((_, index) => parts.slice(index + 1).reduce((product, part) => product * part.length, 1))
  return Array.from({ length: count }, (_, at) =>
    parts.flatMap((part, index) => part[Math.floor(at / steps[index]!) % part.length]!),
  )
}

/** Concatenates rows. Throws `BadRecord` before the maximum is exceeded. */
function stacked(parts: Iterable<readonly ViewRow[]>): ViewRow[] {
  const rows: ViewRow[] = []
  for (const part of parts) {
    assertRowLimit(rows.length + part.length, part[0]?.length ?? 0, ' of the view')
    for (const row of part) rows.push(row)
  }
  return rows
}

function assertRowLimit(rows: number, width: number, where: string): void {
  if (rows > maxRows) throw new BadRecord(`comes to more than ${maxRows} rows${where}`)
  if (rows * width > maxRowValues)
    throw new BadRecord(`comes to more than ${maxRowValues} values, ${rows} rows or more of ${width} columns${where}`)
}
