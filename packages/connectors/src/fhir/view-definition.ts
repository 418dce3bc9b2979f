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
  const view = toFields(definition)
  const name = toText(view['name']) ?? toText(view['resource']) ?? ''
  const createProblem = (reason: string) =>
    new SourceProblem('VIEW_WRONG', `The view "${name.slice(0, 100)}" is invalid: ${reason}.`)
  /** `%rowIndex` is the current index in the innermost list. */
  const variables: Record<string, unknown> = { rowIndex: 0, ...readConstants(view['constant'], createProblem) }

  const path = (value: unknown): FhirPathExpression => {
    if (typeof value !== 'string' || value === '') throw createProblem('one of its paths is not a text')
    return fhirPath(value, variables)
  }

  function part(select: DefinitionFields): SelectPart {
    const own = toList(select['column'], createProblem).map(
      (column): SelectPart => compileColumn(column, path, createProblem),
    )
    const below = toList(select['select'], createProblem).map(part)
    const union = toList(select['unionAll'], createProblem).map(part)
    const [first] = union
    if (union.some(({ columns }) => joinNames(columns) !== joinNames(first!.columns)))
      throw createProblem('the parts of a unionAll have different columns, or a different order of them')
    const parts = [...own, ...below]
    if (first)
      parts.push({
        columns: first.columns,
        rows: (focus) => concatenateRows(union.values().map(({ rows }) => rows(focus))),
      })
    if (parts.length === 0) throw createProblem('a select has no columns')
    const whole: SelectPart = {
      columns: parts.flatMap(({ columns }) => columns),
      rows: (focus) => crossProduct(parts.map(({ rows }) => rows(focus))),
    }
    return { columns: whole.columns, rows: eachOf(select, whole.rows) }
  }

  /** Returns the rows of each element that a select iterates over. */
  function eachOf(select: DefinitionFields, rows: RowFunction): RowFunction {
    const { forEach, forEachOrNull, repeat } = select
    if (forEach === undefined && forEachOrNull === undefined && repeat === undefined) return rows
    const found =
      repeat === undefined ? path(forEach ?? forEachOrNull) : repeatPaths(toList(repeat, createProblem, true).map(path))
    return (focus) => {
      const items = found(focus)
      const all = items.length === 0 && forEachOrNull !== undefined ? [{}] : items
      const outer = variables['rowIndex']
      const made = concatenateRows(
        all.entries().map(([index, item]) => {
          variables['rowIndex'] = index
          return rows(item)
        }),
      )
      variables['rowIndex'] = outer
      return made
    }
  }

  const resource = toText(view['resource'])
  if (resource === undefined) throw createProblem('it has no resource')
  const whole = part({ select: view['select'] })
  const duplicate = whole.columns.find(
    (column, index) => whole.columns.findIndex(({ name }) => name === column.name) < index,
  )
  if (duplicate) throw createProblem(`it has two columns "${duplicate.name}"`)
  const conditions = toList(view['where'], createProblem).map((where) =>
    compileCondition(path(toFields(where)['path']), createProblem),
  )
  return {
    name,
    resource,
    columns: whole.columns,
    rows(focus) {
      variables['rowIndex'] = 0
      return conditions.every((holds) => holds(focus)) ? whole.rows(focus) : []
    },
  }
}

type CreateProblem = (reason: string) => SourceProblem

function compileColumn(
  column: unknown,
  path: (value: unknown) => FhirPathExpression,
  createProblem: CreateProblem,
): SelectPart {
  const { name, path: columnPath, type, collection } = toFields(column)
  if (typeof name !== 'string' || !/^[A-Za-z_]\w{0,254}$/.test(name))
    throw createProblem('a column needs a name of letters, digits and underscores')
  const getValues = path(columnPath)
  const declaredType = toText(type)
  return {
    columns: [{ name, ...(declaredType !== undefined && collection !== true && { type: declaredType }) }],
    rows(focus) {
      const values = getValues(focus)
      if (collection === true) return [[values]]
      if (values.length > 1)
        throw new BadRecord(`has ${values.length} values where the view has one: use collection, or first()`, name)
      return [[values[0] ?? null]]
    },
  }
}

/** Maximum depth of recursion. No resource nests deeper, so a deeper path leads back to its start. */
const maxRepeatDepth = 100

/** Returns the values of the paths, and recursively the values of the paths from there. */
function repeatPaths(paths: readonly FhirPathExpression[]): FhirPathExpression {
  return (focus) => {
    const values: unknown[] = []
    const walk = (from: unknown, depth: number): void => {
      for (const path of paths)
        for (const item of path(from)) {
          if (depth > maxRepeatDepth || values.length === maxRows)
            throw new BadRecord(`has no end, or more than ${maxRows} parts, where the view repeats`)
          values.push(item)
          walk(item, depth + 1)
        }
    }
    walk(focus, 1)
    return values
  }
}

function compileCondition(path: FhirPathExpression, createProblem: CreateProblem): (focus: unknown) => boolean {
  return (focus) => {
    const [value = false, ...others] = path(focus)
    if (typeof value !== 'boolean' || others.length > 0) throw createProblem('a path of its where is not boolean')
    return value
  }
}

function readConstants(constants: unknown, createProblem: CreateProblem): Record<string, unknown> {
  return Object.fromEntries(
    toList(constants, createProblem).map((constant) => {
      const { name, ...value } = toFields(constant)
      const [key = ''] = Object.keys(value).filter((item) => /^value[A-Z]/.test(item))
      if (typeof name !== 'string' || key === '') throw createProblem('a constant needs a name and a value')
      return [name, value[key]]
    }),
  )
}

const joinNames = (columns: readonly ViewColumn[]): string => columns.map(({ name }) => name).join()

const toFields = (value: unknown): DefinitionFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as DefinitionFields) : {}

const toText = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** Returns a list of objects, or of texts if `texts` is true. */
function toList(value: unknown, createProblem: CreateProblem, texts = false): DefinitionFields[] {
  if (value === undefined) return []
  if (Array.isArray(value) && value.every((item) => texts || (typeof item === 'object' && item !== null))) return value
  throw createProblem('a value is not a list where the definition needs one')
}

/** The values of a row, in the order of a view's columns. */
export type ViewRow = readonly unknown[]

/** Maximum number of rows of one resource. */
const maxRows = 100_000
/** Maximum number of values in all rows of one resource with a wide view: they are created at once, in 0.3 seconds and 60 MB. */
const maxRowValues = 500_000

/** Returns the cross product of the parts of a view. Throws `BadRecord` if it has too many rows. */
function crossProduct(parts: readonly (readonly ViewRow[])[]): ViewRow[] {
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
function concatenateRows(parts: Iterable<readonly ViewRow[]>): ViewRow[] {
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
